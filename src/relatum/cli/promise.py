"""What is promised of a set of answers, in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relatum.cli.output import say

if TYPE_CHECKING:
    from relatum.inference.answer_sets import Limit

__all__ = ["say_promise"]


def say_promise(limit: Limit | None, count: int, coverage: float, shown: int) -> None:
    """Print what a set of so many answers holds, of which some are shown, and what is promised of such sets."""
    if limit is None:
        say("the given entities hold a key that a known fact has, so no answer is missing, and nothing is promised")
        return
    if not count:
        say(
            f"the set is empty: with so unlikely a best answer, the question is among the {100 * (1 - coverage):.4g} % "
            "that may be missed; a higher --coverage answers more of these"
        )
    else:
        say(
            f"a set of {count:,} answers"
            + (f", of which {shown:,} are shown (-k {count} shows all)" if shown < count else "")
        )
    say(str(limit))
