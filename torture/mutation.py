"""Mutants of a source file: the same program with one small fault, such as `<` for `<=` or a call left out.

A mutant is known by its text, `function: what was there -> what is there now`, which stays when lines move. Annotations,
decorators, imports, docstrings, `__all__`, texts, the `strict` of a `zip`, and whatever a `raise` says are left as they are.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_SHOWN = 20  # characters of a program that a text shows at least

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
_PAIRS = (
    ("min", "max"),
    ("argmin", "argmax"),
    ("amin", "amax"),
    ("fmin", "fmax"),
    ("minimum", "maximum"),
    ("any", "all"),
    ("zeros", "ones"),
)
_OTHER_NAMES = {**dict(_PAIRS), **{second: first for first, second in _PAIRS}}
# What gives the same with its arguments swapped.
_SYMMETRIC = {"min", "max", "fmin", "fmax", "minimum", "maximum", "logaddexp", "array_equal", "equal"}


@dataclass(frozen=True)
class Mutant:
    """One fault: its text, and the source of the whole file with it."""

    text: str
    source: str


def mutants_of(source: str) -> list[Mutant]:
    """Return all mutants of a source, in its order; equal texts are counted: `... -> ... (2)`."""
    tree = ast.parse(source)
    whole = ast.unparse(tree)
    found: list[Mutant] = []
    seen: Counter[str] = Counter()
    for path in _paths(tree, ()):
        for replacement in _replacements(path[-1].node):
            before = path[_shown(path)]
            old = _first_line(before.node)
            path[-1].put(replacement)
            new, changed = _first_line(before.get()), ast.unparse(tree)
            path[-1].put(path[-1].node)
            if changed == whole:
                continue
            text = f"{_function(path)}: {old} -> {new}"
            seen[text] += 1
            found.append(Mutant(text if seen[text] == 1 else f"{text} ({seen[text]})", changed))
    return found


@dataclass(frozen=True)
class _Step:
    """Where a node stands in its parent."""

    parent: Any
    name: str
    index: int | None
    node: ast.AST

    def get(self) -> ast.AST:
        value: Any = getattr(self.parent, self.name)
        found: ast.AST = value if self.index is None else value[self.index]
        return found

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.index] = node


def _paths(node: ast.AST, above: tuple[_Step, ...]) -> Iterator[tuple[_Step, ...]]:
    """Yield the way to each node that may be changed, from the outermost one."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.Raise):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                path = (*above, _Step(node, name, index, child))
                yield path
                yield from _paths(child, path)


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) == "__all__"
    if isinstance(node, ast.keyword):
        return node.arg == "strict"  # an assertion of what is so
    return isinstance(node, ast.Import | ast.ImportFrom)


def _shown(path: tuple[_Step, ...]) -> int:
    """Return how far from the top the node stands that shows a change: long enough, or a whole statement."""
    for depth in range(len(path) - 1, -1, -1):
        node = path[depth].node
        if isinstance(node, ast.stmt | ast.excepthandler):
            return depth
        if isinstance(node, ast.expr) and depth < len(path) - 1 and len(ast.unparse(node)) >= _SHOWN:
            return depth
    return 0


def _first_line(node: ast.AST) -> str:
    """Return the first line of a node's program, other than decorators."""
    return next(line for line in ast.unparse(node).strip().split("\n") if not line.startswith("@"))


def _function(path: tuple[_Step, ...]) -> str:
    names = [step.node.name for step in path[:-1] if isinstance(step.node, ast.FunctionDef | ast.ClassDef)]
    return ".".join(names) or "module"


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand instead of a node."""
    for kind, mutate in _MUTATIONS:
        if isinstance(node, kind):
            yield from mutate(node)


def _with(node: ast.AST, **changes: object) -> Any:
    """Return a copy of a node with other parts."""
    return type(node)(**{**dict(ast.iter_fields(node)), **changes})


def _without(items: list[Any], index: int) -> list[Any]:
    return [*items[:index], *items[index + 1 :]]


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for index, operator in enumerate(node.ops):
        yield _with(node, ops=[*node.ops[:index], _COMPARISONS[type(operator)](), *node.ops[index + 1 :]])


def _arithmetic(node: ast.BinOp) -> Iterator[ast.AST]:
    if type(node.op) in _OPERATORS:
        yield _with(node, op=_OPERATORS[type(node.op)]())


def _and_or(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())


def _unary(node: ast.UnaryOp) -> Iterator[ast.AST]:
    yield node.operand


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)


def _augmented(node: ast.AugAssign) -> Iterator[ast.AST]:
    yield ast.Pass()
    yield ast.Assign([node.target], node.value, lineno=node.lineno)
    if type(node.op) in _OPERATORS:
        yield _with(node, op=_OPERATORS[type(node.op)]())


def _assigned(node: ast.Assign) -> Iterator[ast.AST]:
    if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
        yield ast.Pass()


def _statement(node: ast.Expr) -> Iterator[ast.AST]:
    if isinstance(node.value, ast.Call):
        yield ast.Pass()


def _left_out(node: ast.stmt) -> Iterator[ast.AST]:
    yield ast.Pass()


def _returned(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None:
        yield ast.Return(ast.Constant(None))


def _condition(node: ast.If | ast.IfExp) -> Iterator[ast.AST]:
    yield _with(node, test=ast.Constant(True))
    yield _with(node, test=ast.Constant(False))


def _loop(node: ast.While) -> Iterator[ast.AST]:
    yield _with(node, test=ast.Constant(False))


def _comprehension(node: ast.comprehension) -> Iterator[ast.AST]:
    for index in range(len(node.ifs)):
        yield _with(node, ifs=_without(node.ifs, index))


def _jump(node: ast.Break | ast.Continue) -> Iterator[ast.AST]:
    yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()


def _slice(node: ast.Slice) -> Iterator[ast.AST]:
    for bound in ("lower", "upper", "step"):
        if getattr(node, bound) is not None:
            yield _with(node, **{bound: None})


def _handler(node: ast.ExceptHandler) -> Iterator[ast.AST]:
    if isinstance(node.type, ast.Tuple):
        for index in range(len(node.type.elts)):
            yield _with(node, type=_with(node.type, elts=_without(node.type.elts, index)))


def _part_of_text(node: ast.JoinedStr) -> Iterator[ast.AST]:
    for index, part in enumerate(node.values):
        if isinstance(part, ast.FormattedValue):
            yield _with(node, values=_without(node.values, index))


def _call(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _OTHER_NAMES:
        key = "attr" if isinstance(node.func, ast.Attribute) else "id"
        yield _with(node, func=_with(node.func, **{key: _OTHER_NAMES[name]}))
    for index, keyword in enumerate(node.keywords):
        if not _is_left_alone(keyword):
            yield _with(node, keywords=_without(node.keywords, index))
    if name == "suppress":
        yield _with(node, args=[])
    if len(node.args) > 1 and name not in _SYMMETRIC and not any(isinstance(one, ast.Starred) for one in node.args[:2]):
        yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
    # A plain write for an atomic one.
    if name == "write_bytes" and len(node.args) == 2:
        yield ast.Call(ast.Attribute(node.args[0], "write_bytes"), [node.args[1]], [])
    if name == "atomic_file":
        yield ast.Call(ast.Attribute(node.args[0], "open"), [ast.Constant("wb")], [])


_MUTATIONS: tuple[tuple[Any, Callable[[Any], Iterator[ast.AST]]], ...] = (
    (ast.Compare, _compare),
    (ast.BinOp, _arithmetic),
    (ast.BoolOp, _and_or),
    (ast.UnaryOp, _unary),
    (ast.Constant, _constant),
    (ast.AugAssign, _augmented),
    (ast.Assign, _assigned),
    (ast.Expr, _statement),
    (ast.Raise | ast.Delete, _left_out),
    (ast.Return, _returned),
    (ast.If | ast.IfExp, _condition),
    (ast.While, _loop),
    (ast.comprehension, _comprehension),
    (ast.Break | ast.Continue, _jump),
    (ast.Slice, _slice),
    (ast.ExceptHandler, _handler),
    (ast.JoinedStr, _part_of_text),
    (ast.Call, _call),
)
