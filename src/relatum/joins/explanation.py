"""How a query with joins is answered, in words: which variable each fact decides, and by which search."""

from __future__ import annotations

from relatum.algebra.expression import Expression
from relatum.algebra.lexer import as_written
from relatum.algebra.rule import Term
from relatum.joins.conjunction import Conjunction, Negation, Stored, alternatives_of
from relatum.joins.order import DirectedAtom, steps_of
from relatum.joins.tree import is_tree

_LETTERS = "XYZUVW"


def plan_of(expression: Expression) -> tuple[str, ...]:
    """Return how an expression is answered, line by line."""
    alternatives = alternatives_of(expression)
    lines: list[str] = []
    for number, one in enumerate(alternatives, start=1):
        if len(alternatives) > 1:
            lines.append(f"alternative {number} of {len(alternatives)}, of which the likeliest counts")
        lines += _lines(one)
    return tuple(lines)


def _lines(one: Conjunction) -> list[str]:
    way = "one list of entities for each variable" if is_tree(one) else "best-first search"
    lines = [f"answers are ({', '.join(map(_term, one.head))}), found by {way}"]
    for step in steps_of(one):
        for directed in step.atoms:
            if not step.variables:
                lines.append(f"{_atom(directed.atom)} is looked up")
            elif directed.position is None:
                lines.append(f"{', '.join(map(_term, step.variables))}: the likeliest facts {_atom(directed.atom)}")
            else:
                lines.append(f"{_term(step.variables[0])} answers {_question(directed)}")
        lines += [f"{_term(left)} is not {_term(right)}" for left, right in step.unequal]
        lines += [f"and not: {_negated(negation)}" for negation in step.negations]
    return lines


def _negated(negation: Negation) -> str:
    return " or ".join(" and ".join(map(_atom, one.atoms)) for one in negation.alternatives)


def _question(directed: DirectedAtom) -> str:
    terms = [("?" if position == directed.position else _term(term)) for position, term in enumerate(directed.atom.terms)]
    return f"{as_written(directed.atom.relation)}({', '.join(terms)})"


def _atom(atom: Stored) -> str:
    return f"{as_written(atom.relation)}({', '.join(map(_term, atom.terms))})"


def _term(term: Term) -> str:
    if isinstance(term, str):
        return as_written(term)
    round_, letter = divmod(term, len(_LETTERS))
    return _LETTERS[letter] + (str(round_) if round_ else "")
