"""Parses HTML strictly, for tests of what it contains and of what it must not contain."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta"}
# What can neither run, nor load, nor lead anywhere.
_TAGS = {
    *("html", "head", "title", "style", "meta", "body", "header", "main", "footer", "section"),
    *("h1", "h2", "h3", "p", "div", "span", "strong", "ol", "ul", "li", "dl", "dt", "dd", "time"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "role", "scope"),
    *("tabindex", "datetime", "style", "aria-label", "aria-labelledby"),
}


@dataclass
class Document(HTMLParser):
    """The tags, attributes and texts of a document; each tag is closed in order."""

    source: str
    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self.feed(self.source)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    __hash__ = None  # type: ignore[assignment]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _TAGS, f"unexpected element: {self.get_starttag_text()}"
        self.tags.append(tag)
        for name, value in attrs:
            assert name in _ATTRIBUTES, f"unexpected attribute: {self.get_starttag_text()}"
            self.attributes.append((tag, name, value or ""))
            if name == "style":
                self.styles.append(value or "")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.styles.append(data)
        else:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self) -> str:
        """All text."""
        return "".join(self.texts)


def parse(source: str) -> Document:
    """Parse a document or a part of one, and check that it is inert.

    It has no script, no handler, no link, no resource, and no style that loads one.
    """
    document = Document(source)
    for style in document.styles:
        assert not any(word in style.lower() for word in ("url(", "@import", "expression", "\\"))
    for character in document.text:
        assert character.isprintable() or character == "\n", f"{character!r} in the text"
    return document
