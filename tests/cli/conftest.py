"""What the tests of verbs share: a trained run to ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from relatum import fit
from relatum.runs.spec import Spec


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the directory of a run on the example, to be read only."""
    spec = Spec.from_dict({"data": "example", "model": {"dim": 20}, "training": {"epochs": 3}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELATUM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield str(fit(spec, tmp_path_factory.mktemp("runs") / "example").folder)
