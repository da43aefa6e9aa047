"""`python docs/site/troubleshooting.py` writes docs/troubleshooting.md from docs/errors.toml and the errors of src."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
_CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MOST_REASONS = 3  # of one code that the page shows
HEAD = """# Troubleshooting

What you can mend is one sentence: where, what is wrong, what to do, and a code in brackets, such as `[unknown-name]`: look
for that here. On the command line it is one line that begins with `relatum:`, and exit code 2; with `--json` it is an object
of these fields. In Python it is a `RelatumError` with `.code`, `.place`, `.reason`, `.remedy` and `.nearest`. If the command
line shows a traceback, that is a mistake of ours: please report it.

| exception | what it is about |
|---|---|
| `DataError` | facts, names or questions that cannot be used as they are |
| `FormatError` | a file that breaks its format, with file and line; a `DataError`, too |
| `UnknownNameError` | a name that nothing has, with the nearest ones that exist |
| `SettingError` | a setting or an option whose value cannot be used |
| `DownloadError` | a dataset that could not be fetched |
| `NumericError` | training or scores went beyond all numbers |
| `StoreError` | a saved model that cannot be read back |
| `RelatumError` | all of these, and all else that can be mended: directories, other processes, missing libraries |

In the messages `…` stands for what differs. The page is made from `docs/errors.toml` and the source.
"""
TAIL = """
## No error, but a surprise

| what happens | why |
|---|---|
| `probability` is empty | there are no validation facts to fit it on: train with a part held out |
| the validation MRR is far below the test MRR | other filters: [Understanding evaluation](evaluation.md) |
| many cells are left empty by `fill` | they are below `--min-probability`, or what would fill them is a key |
| an entity is "unseen" | it occurs in held-out facts alone; nothing can be said about it but by `relatum update` |
| results differ from those of yesterday | look at `spec.toml` of both runs: the recipe `auto` chooses by the facts |
"""


def sections() -> list[dict[str, object]]:
    """Return the sections of the catalogue: title, perhaps an introduction, and codes with cause and remedy."""
    return list(tomllib.loads((ROOT / "docs" / "errors.toml").read_text(encoding="utf-8"))["section"])


def raised() -> Iterator[tuple[str, str]]:
    """Yield every code of the source with its reason, in which `…` stands for what differs."""
    for path in sorted((ROOT / "src" / "relatum").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="UnknownNameError")):
                    yield "unknown-name", "unknown … …"
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(code)), *rest]) if _is_raised(name, code):
                    yield code, text(rest[2 if name == "FormatError" else 0])
                case ast.Call(func=ast.Attribute(attr="refusal"), args=[ast.Constant(value=str(code)), reason, *_]):
                    yield code, text(reason)
                # Of a parser: a place and a reason, or the other way round, and perhaps a code.
                case ast.Call(func=ast.Attribute(attr="at"), args=[_, reason, *rest]):
                    yield _last(rest, "sql-not-supported"), text(reason)
                case ast.Call(func=ast.Attribute(attr="error"), args=[ast.Constant() | ast.JoinedStr() as reason, *rest]):
                    yield _last(rest, "syntax"), text(reason)


def _last(arguments: list[ast.expr], otherwise: str) -> str:
    """Return the code that a parser's error is given last, or the usual one."""
    last = arguments[-1] if arguments else None
    return last.value if isinstance(last, ast.Constant) and isinstance(last.value, str) else otherwise


def _is_raised(name: str, code: str) -> bool:
    return name.endswith("Error") and name != "ValueError" and _CODE.fullmatch(code) is not None


def text(node: ast.expr) -> str:
    """Return a text of the source, with `…` for whatever is put into it."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(text(value) for value in values)
        case ast.IfExp(body=body):
            return text(body)
        case ast.BinOp(left=left, right=right):
            return text(left) + text(right)
    return "…"


def page() -> str:
    """Return the page: a table of codes for each section, with what each says, why, and what to do."""
    reasons: dict[str, list[str]] = {}
    for code, reason in raised():
        listed = reasons.setdefault(code, [])
        if reason.strip("… ") and "%" not in reason and reason not in listed:
            listed.append(reason)
    parts = [HEAD]
    for section in sections():
        parts.append(f"\n## {section['title']}\n")
        if "intro" in section:
            parts.append(f"\n{str(section['intro']).strip()}\n")
        parts.append("\n| code | says | cause | remedy |\n|---|---|---|---|\n")
        for code, told in section["codes"].items():  # type: ignore[attr-defined]
            listed = sorted(reasons.get(code, ()), key=len)[:_MOST_REASONS]
            says = ", ".join("`" + reason.replace("`", "'").replace("|", "\\|") + "`" for reason in listed) or "…"
            parts.append(f"| `{code}` | {says} | {told['cause']} | {told['remedy']} |\n")
    return "".join([*parts, TAIL])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
