"""Pages taken apart, and what every report must be: well formed, self-contained, and readable without seeing it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "wbr", "br", "hr", "img"}


class Page(HTMLParser):
    """A page taken apart: its elements in order, and its text; a tag that is not closed in turn is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str], tuple[str, ...]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {attrs}"
        self.elements.append((tag, {name: value or "" for name, value in attrs}, tuple(self._open)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> closes another"
        if tag not in {"a", "b", "bdi", "span", "strong"}:
            self.texts.append((tag, " "))

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    @property
    def text(self) -> str:
        """All that is read, as one line; spaces that hold words together are plain."""
        return " ".join("".join(data for tag, data in self.texts if tag != "style").replace("\u00a0", " ").split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes, _ in self.elements if name == tag]

    def values(self, *keys: str) -> list[str]:
        return [attributes[key] for _, attributes, _ in self.elements for key in keys if key in attributes]


def checked(text: str) -> Page:
    """Return a report taken apart, after checking what holds for every report."""
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>\n")
    for name, attributes, _ in page.elements:
        assert name not in {"script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}, name
        for key, value in attributes.items():
            assert not key.startswith("on"), key
            assert key != "src"
            assert key != "href" or value.startswith("#"), value
    policy = [one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    first = [name for name, _, _ in page.elements][:4]
    assert first == ["html", "head", "meta", "meta"]  # the policy comes before anything that it could forbid
    style = "".join(data for tag, data in page.texts if tag == "style")
    assert "@media (prefers-color-scheme: dark)" in style
    assert "@import" not in style
    assert "url(" not in style
    targets = page.values("id")
    assert len(set(targets)) == len(targets)
    assert {link["href"][1:] for link in page.all("a")} <= set(targets)
    assert len(page.all("h1")) == 1
    assert len(page.all("caption")) == len(page.all("table"))
    drawings = [one for one in page.all("svg") if one.get("aria-hidden") != "true"]
    inside = [name for name, _, within in page.elements if name in {"title", "desc"} and "svg" in within]
    assert all(one.get("role") == "img" for one in drawings)
    assert inside.count("title") == inside.count("desc") == len(drawings)
    assert all(one.get("scope") in {"col", "row"} for one in page.all("th"))
    return page
