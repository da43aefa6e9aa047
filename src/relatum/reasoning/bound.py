"""What a closed form promises about the meaning of its expression, and how promises compose."""

from __future__ import annotations

from enum import Enum

__all__ = ["Bound"]


class Bound(Enum):
    """How the degree of truth by a closed form stands to the one by the meaning of the expression, for every tuple."""

    EQUAL = "equal"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    NONE = "none"

    @property
    def never_below(self) -> bool:
        """Whether the closed form is an upper bound."""
        return self in (Bound.EQUAL, Bound.AT_LEAST)

    @property
    def never_above(self) -> bool:
        """Whether the closed form is a lower bound."""
        return self in (Bound.EQUAL, Bound.AT_MOST)

    @classmethod
    def of_largest(cls, *operands: Bound) -> Bound:
        """Return the bound of a projection or a union, whose closed form lies above all that it is made from."""
        return cls.AT_LEAST if all(operand.never_below for operand in operands) else cls.NONE

    @classmethod
    def of_difference(cls, left: Bound, right: Bound) -> Bound:
        """Return the bound of a difference: too little of what is taken from, or too much taken away, stays below."""
        return cls.AT_MOST if left.never_above and right.never_below else cls.NONE
