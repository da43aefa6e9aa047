"""The shapes of queries: which variables their atoms have; every other position of an atom holds a constant.

The binary shapes are those of the literature on complex queries over triples: p is one step further along a relation, i an
intersection, u a union, d a difference. Any position of a fact may be open, so no shape needs an inverse relation. Shapes
that end with -n are over facts of any arity from 2 up, at least one of them of arity 3 or more: the positions that no
variable has are bound, all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relatum.errors import SettingError


@dataclass(frozen=True)
class Shape:
    """A shape of queries.

    `atoms` are the variables of each atom; `rules` are the atoms, by number, that give an answer together, any one of the
    rules being enough; `negated` are atoms that must not hold for it. `head` are the variables whose values are the answer.
    """

    name: str
    atoms: tuple[tuple[str, ...], ...]
    rules: tuple[tuple[int, ...], ...]
    negated: tuple[int, ...] = ()
    head: tuple[str, ...] = ("x",)
    n_ary: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, those of the head first."""
        return tuple(dict.fromkeys([*self.head, *(variable for atom in self.atoms for variable in atom)]))


def _conjunction(name: str, *atoms: str, head: str = "x") -> Shape:
    """Return the shape in which all atoms, given by their one-letter variables, must hold."""
    numbers = tuple(range(len(atoms)))
    return Shape(name, tuple(map(tuple, atoms)), (numbers,), head=tuple(head), n_ary=name.endswith("-n"))


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        _conjunction("1p", "x"),
        _conjunction("2p", "v", "vx"),
        _conjunction("3p", "v", "vw", "wx"),
        _conjunction("2i", "x", "x"),
        _conjunction("3i", "x", "x", "x"),
        _conjunction("ip", "v", "v", "vx"),
        _conjunction("pi", "v", "vx", "x"),
        Shape("2u", (("x",), ("x",)), ((0,), (1,))),
        Shape("up", (("v",), ("v",), ("v", "x")), ((0, 2), (1, 2))),
        Shape("2d", (("x",), ("x",)), ((0,),), negated=(1,)),
        _conjunction("1p-n", "x"),
        _conjunction("2p-n", "v", "vx"),
        _conjunction("2i-n", "x", "x"),
        Shape("2d-n", (("x",), ("x",)), ((0,),), negated=(1,), n_ary=True),
        _conjunction("1e-n", "xv"),  # one position is answered for, another may hold anything
        _conjunction("2f-n", "xy", head="xy"),  # two free positions: an answer is a pair
    )
}


def find_shapes(names: Iterable[str]) -> list[Shape]:
    """Return the shapes with these names, in the order of `SHAPES`; all of them if there are no names."""
    wanted = set(names)
    for name in wanted:
        if name not in SHAPES:
            raise SettingError("no-queries", f"unknown shape {name!r}; known: {', '.join(SHAPES)}")
    return [shape for shape in SHAPES.values() if not wanted or shape.name in wanted]
