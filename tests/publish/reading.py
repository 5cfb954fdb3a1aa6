"""Read a page as a browser would: its text, and everything that would be wrong with its markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "rect", "path", "circle", "polyline", "use", "br"}


class Page(HTMLParser):
    """The text of a page; `faults` are tags that do not match, ids that occur twice and anything that could act."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.faults: list[str] = []
        self._open: list[str] = []
        self._ids: set[str] = set()
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> stays open" for tag in self._open]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value in self._ids:
                self.faults.append(f"the id {value} occurs twice")
            if name == "id":
                self._ids.add(value or "")
            if name.startswith("on") or (name.endswith(("src", "href")) and not (value or "").startswith("#")):
                self.faults.append(f"<{tag} {name}={value}>")
        if tag in ("script", "iframe", "object", "embed", "link", "form", "img"):
            self.faults.append(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            self.words.append(data)
