"""The page on troubleshooting is made from the codes of errors, and knows each of them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """Return the module that makes the page."""
    spec = importlib.util.spec_from_file_location("troubleshooting", ROOT / "docs" / "site" / "troubleshooting.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(maker: ModuleType) -> str:
    return str(maker.page())


def test_every_code_of_the_source_is_in_the_catalogue_and_no_other(maker: ModuleType) -> None:
    listed = [code for section in maker.sections() for code in section["codes"]]
    raised = {code for code, _ in maker.raised()}
    assert len(set(listed)) == len(listed) > 200
    assert (raised - set(listed), set(listed) - raised) == (set(), set())


def test_the_page_is_as_it_is_made(maker: ModuleType, page: str) -> None:
    assert maker.PAGE.read_text(encoding="utf-8") == page, "run: python docs/site/troubleshooting.py"


def test_remedies_name_options_that_exist(page: str) -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "relatum").rglob("*.py"))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page))
    assert not {name for name in named if name not in source and f" {name[2:].replace('-', '_')}:" not in source}
