"""Expressions as Datalog, both ways: `t(X, Y) <- sold(X, coffee, Y)`.

    traded(X, Y, Z) <- sold(X, Y, Z)
    traded(X, Y, Z) <- bought(X, Y, Z)
    t(X, Y) <- traded(X, Y, coffee), not traded(X, Y, filter), X != Y, Y != drew

Several rules with one head are a union, `not` is a difference, a variable that the head does not name is projected away, =
and != compare a variable with another or with an entity, and the last rule's head is what the text is about. What a rule
uses is stored, or defined by rules above it: there is no recursion. A name that starts with a capital letter or an
underscore is a variable, `_` alone a new one each time it stands; entities that start so are put in quotes. A rule ends at a
line break or a full stop; so an entity that ends with a full stop is put in quotes behind = and !=.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from relatum.algebra.clauses import conjunction, definitions_of
from relatum.algebra.expression import Expression, Relation
from relatum.algebra.lexer import Reader, Word, as_written
from relatum.algebra.node import post_order
from relatum.algebra.rule import Atom, Comparison, Rule, Term, variable_name
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import fault_of
from relatum.errors import UnknownNameError

_NOT = re.compile(r"not\s")
_STOP = re.compile(r"\.(?=\s)")
_TERM = "a variable or an entity"
_UNBOUND = "this variable must also be in a condition without 'not', = or !="


def datalog(expression: Expression, name: str = "t") -> str:
    """Return rules, one a line, whose last head is the expression, called `name`.

    `parse_datalog` reads them as an expression that has the same tuples on every hypergraph, though it need not be built
    alike; written again, it gives the same rules. Definitions that are needed on the way are called `name` and a number,
    and a number is put behind `name` itself where a stored relation of the expression has it. Unions and differences that
    are shared are defined once; plain joins are written out wherever they stand.
    """
    RelationSchema(name, expression.arity)  # refuses what cannot be a name
    leaves = (node for node in post_order(expression, lambda node: node.children) if isinstance(node, Relation))
    taken = {leaf.name for leaf in leaves}
    numbered = (f"{name}{number}" for number in itertools.count(1))
    names = (free for free in itertools.chain([name], numbered) if free not in taken)
    answer = next(names)
    definitions = definitions_of(expression)
    called = [*itertools.islice(names, len(definitions) - 1), answer]
    return "\n".join(_rule(called[number], rule, called) for number, rules in enumerate(definitions) for rule in rules)


def _rule(name: str, rule: Rule, called: list[str]) -> str:
    positives = [_atom(atom, called) for atom in rule.positives]
    negatives = [f"not {_atom(atom, called)}" for atom in rule.negatives]
    comparisons = [
        f"{_term(one.left)} {'=' if one.equal else '!='} {_term(one.right, last=True)}" for one in rule.comparisons
    ]
    return f"{_applied(name, rule.head)} <- {', '.join(positives + comparisons + negatives)}"


def _atom(atom: Atom, called: list[str]) -> str:
    name = called[atom.predicate] if isinstance(atom.predicate, int) else atom.predicate.name
    return _applied(name, atom.terms)


def _applied(name: str, terms: tuple[Term, ...]) -> str:
    return f"{as_written(name, quote=name == 'not' or name[0] == '.')}({', '.join(map(_term, terms))})"


def _term(term: Term, *, last: bool = False) -> str:
    """Return a term as it is written; one that may be the `last` of its rule must not end as rules do."""
    if isinstance(term, str):
        return as_written(term, quote=_is_variable(term) or (last and term[-1] == "."))
    return variable_name(term)


def _is_variable(name: str) -> bool:
    return name[0] == "_" or name[0].isupper()


def parse_datalog(text: str, schema: Schema) -> Expression:
    """Return the expression that the last rule's head stands for, over the stored relations of `schema`.

    A head that has the name of a stored relation hides it from the whole text.
    """
    reader = Reader(text)
    rules = list(_read_rules(reader))
    pending = Counter(rule.head.word.name for rule in rules)
    defined: dict[str, Expression] = {}

    def resolve(literal: _Literal) -> Expression:
        name = literal.word.name
        if pending[name]:
            raise reader.error(
                f"{name!r} is used before its last rule: rules cannot be recursive", literal.word.offset, "recursive-rules"
            )
        if name not in defined and name not in schema:
            error = UnknownNameError("relation", name, [*schema.names, *defined])
            raise reader.error(error, literal.word.offset)
        found = defined[name] if name in defined else Relation(schema[name])
        _check_arity(reader, literal, found)
        return found

    for rule in rules:
        name = rule.head.word.name
        found = _expression(reader, rule, [resolve(literal) for literal in rule.body])
        if name in defined:
            _check_arity(reader, rule.head, defined[name])
            found = defined[name] | found
        defined[name] = found
        pending[name] -= 1
    return defined[rules[-1].head.word.name]


@dataclass(frozen=True, slots=True)
class _Literal:
    """An atom as it was read; variables are numbered by rule, and those that are called `_` count down from -1."""

    word: Word
    terms: tuple[Term, ...]
    offsets: tuple[int, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class _TextRule:
    head: _Literal
    body: list[_Literal]
    comparisons: list[tuple[Comparison, int]]  # each with its offset


def _read_rules(reader: Reader) -> Iterator[_TextRule]:
    more = True
    while more:
        terms = _Terms(reader)
        rule = _TextRule(_read_literal(reader, reader.word("a relation"), terms), [], [])
        reader.expect("<-")
        while not (rule.body or rule.comparisons) or reader.take(","):
            reader.skip()
            negated = _NOT.match(reader.text, reader.offset) is not None
            reader.offset += len("not") * negated
            word, sign = reader.compared(reader.word("a relation"))
            if not sign:
                rule.body.append(_read_literal(reader, word, terms, negated))
            elif negated:
                raise reader.error("a comparison is negated by !=, not by 'not'", word.offset)
            else:
                rule.comparisons.append((_read_comparison(reader, word, sign, terms), word.offset))
            behind = reader.offset
        yield rule
        more = _rule_follows(reader, behind)


def _rule_follows(reader: Reader, behind: int) -> bool:
    """Return whether there is another rule, on a new line or after a full stop, behind the one that ends at `behind`."""
    stopped = reader.take(".")
    reader.skip()
    if reader.offset == len(reader.text):
        return False
    if not stopped and "\n" not in reader.text[behind : reader.offset]:
        raise reader.error("expected ',' before another condition, or a full stop or a new line before another rule")
    return True


class _Terms:
    """Reads the terms of one rule, whose variables are numbered as they occur."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._numbers: dict[str, int] = {}
        self._unnamed = itertools.count(-1, -1)

    def term(self, word: Word) -> Term:
        """Return the variable or the entity that a word stands for."""
        if not word.quoted and _is_variable(word.name):
            if not word.name.isidentifier():
                reason = f"{word.name!r} starts as variables do: put the name of an entity in quotes"
                raise self._reader.error(reason, word.offset)
            return next(self._unnamed) if word.name == "_" else self._numbers.setdefault(word.name, len(self._numbers))
        if fault := fault_of(word.name):
            raise self._reader.error(fault, word.offset)
        return word.name


def _read_literal(reader: Reader, word: Word, terms: _Terms, negated: bool = False) -> _Literal:
    if not word.quoted and re.search(r"\s", word.name):
        raise reader.error("a relation whose name holds a space is put in quotes", word.offset)
    reader.expect("(")
    words: list[Word] = []
    while not words or reader.expect(",", ")") == ",":
        words.append(reader.word(_TERM))
    return _Literal(word, tuple(map(terms.term, words)), tuple(one.offset for one in words), negated)


def _read_comparison(reader: Reader, word: Word, sign: str, terms: _Terms) -> Comparison:
    """Return what `word`, which stands before the sign, is compared with; a full stop before a space ends the rule."""
    other = reader.word(_TERM)
    stop = _STOP.search(reader.text[other.offset : reader.offset + 1] + " " * (reader.offset == len(reader.text)))
    if not other.quoted and stop:
        reader.offset = other.offset + stop.start()
        other = other._replace(name=reader.text[other.offset : reader.offset].strip())
        if not other.name:
            raise reader.error(f"expected {_TERM}")
    left, right = terms.term(word), terms.term(other)
    if isinstance(left, str):
        left, right = right, left
    if isinstance(left, str):
        raise reader.error("a comparison needs a variable, which starts with a capital letter", word.offset)
    return Comparison(left, right, sign == "=")


def _expression(reader: Reader, rule: _TextRule, operands: list[Expression]) -> Expression:
    """Return the expression of one rule, given those of the relations in its body."""
    goals = [(found, literal.terms) for found, literal in zip(operands, rule.body, strict=True)]
    positives = [goal for goal, literal in zip(goals, rule.body, strict=True) if not literal.negated]
    negatives = [goal for goal, literal in zip(goals, rule.body, strict=True) if literal.negated]
    bound = {term for _, terms in positives for term in terms if isinstance(term, int)}
    head = _head(reader, rule.head)
    for literal in (rule.head, *rule.body):
        for term, offset in zip(literal.terms, literal.offsets, strict=True):
            if isinstance(term, int) and term >= 0 and term not in bound:
                raise reader.error(_UNBOUND, offset)
    for comparison, offset in rule.comparisons:
        if any(isinstance(term, int) and term not in bound for term in (comparison.left, comparison.right)):
            raise reader.error(_UNBOUND, offset)
    return conjunction(head, positives, negatives, [comparison for comparison, _ in rule.comparisons])


def _head(reader: Reader, literal: _Literal) -> list[int]:
    found: list[int] = []
    for term, offset in zip(literal.terms, literal.offsets, strict=True):
        if isinstance(term, str) or term < 0 or term in found:
            raise reader.error("a head holds distinct variables, and nothing else", offset, "bad-head")
        found.append(term)
    return found


def _check_arity(reader: Reader, literal: _Literal, expression: Expression) -> None:
    if len(literal.terms) != expression.arity:
        reason = f"{literal.word.name!r} takes {expression.arity} terms, not {len(literal.terms)}"
        raise reader.error(reason, literal.word.offset)
