"""Names that are made to break something: markup, quotes, paths, addresses, scripts of all sorts, and very long ones."""

from __future__ import annotations

import random
import unicodedata

MARKUP = [
    "<script>alert(1)</script>", "</title><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>', "' onmouseover='alert(1)", '" autofocus onfocus="alert(1)', "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>", "{{ 7 * 7 }}", "{% raw %}", "${7*7}", "<!-- comment", "--> <b>", "]]>",
    "<![CDATA[x]]>", "&lt;b&gt;", "&amp;amp;", "&#x3c;", "<iframe srcdoc='<b>'>", "<base href=//evil.example>",
    "<style>*{display:none}</style>", "`backticks`", "<a href='//evil.example'>x</a>", "\\u003cscript\\u003e",
]  # fmt: skip
PATHS = [
    "..", ".", "...", "../../etc/passwd", "..\\..\\windows", "/", "//", "//evil.example", "/etc/passwd", "a/b", "a//b",
    "a/../b", "a\\b", ".json", "x.json", "x.json.json", "a/b.json", "entity", "%", "%2e%2e%2f", "%2F", "%00", "%zz",
    "%C0%AF", "a?b", "a#b", "a&b=c", "a;b", "a=b", "a+b", "a b", " a", "a ", "~", "-", "http://evil.example/",
    "file:///etc/passwd", "a:b", "C:\\x", "con", "null", "undefined", "None", "NaN", "true", "0", "-1", "1e999",
]  # fmt: skip
QUOTES = [
    "'", '"', "''", '""', '\'"\'', "\\", "\\'", "'; DROP TABLE decisions; --", "Robert'); --", "a, b", "(a)", "a(b, c)",
    "?", "_", "*", "a)", ", ?", "[0]", "select", "a=b", "role=x", "«x»", "\u2018x\u2019", "\u201cx\u201d",
]  # fmt: skip
SCRIPTS = [
    "\u202eevil\u202c", "\u200b", "a\u200bb", "\ufeffx", "\u2028line\u2029paragraph", "שלום עולם", "مرحبا", "日本語",
    "e\u0301", "é", "ﬁ", "İ", "ß", "ẞ", "ſ", "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0010ffff", "\U000e0001", "\ue000",
    "Z\u0351\u036b\u0313\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349\u035a\u032f\u031e\u0320\u034dA\u0334\u0335\u031c\u0330\u0354",
    "\xa0", "\xad", "\u061c", "\u2066x\u2069", "ａ／ｂ", "﹒﹒／",
]  # fmt: skip
CONTROLS = [f"c{chr(code)}c" for code in range(1, 32) if chr(code) not in "\t\n\r"]
CONTROLS += ["c\x7fc", "c\x80c", "c\x85c", "c\x9bc"]
LONG = ["a" * 5_000, "é" * 3_000, "<b>" * 2_000, "/" * 4_000, "long " * 40_000, "x" * (1 << 20)]


def hostile_names(count: int = 220) -> list[str]:
    """Return names that differ, the fixed ones first and random ones behind them."""
    rng, found = random.Random(1), dict.fromkeys([*MARKUP, *PATHS, *QUOTES, *SCRIPTS, *CONTROLS, *LONG])
    while len(found) < count:
        name = "".join(
            chr(rng.choice([rng.randrange(1, 128), rng.randrange(1, 0x3000)])) for _ in range(rng.randrange(1, 12))
        )
        if name.strip() and not set(name) & set("\t\n\r\0") and not any(unicodedata.category(c) == "Cs" for c in name):
            found[name] = None
    return [name for name in found if name.strip()]
