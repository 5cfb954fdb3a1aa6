"""XML that a stranger wrote, read into a tree: no entities, nothing from elsewhere, no deeper or longer than it needs to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from shoal.errors import UsageError

DEEPEST = 100
"""Elements inside each other."""
MOST_ELEMENTS = 5_000_000
"""Elements of a codebook of 50,000 columns with a hundred values each."""


@dataclass
class MarkupElement:
    """One element: its name without a namespace, its attributes, its text, and the elements in it."""

    name: str
    attributes: dict[str, str]
    parts: list[MarkupElement] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own text, with one blank for every run of blanks and line ends."""
        return " ".join("".join(self.written).split())

    def all(self, *names: str) -> Iterator[MarkupElement]:
        """The elements directly in it that have one of these names."""
        return (part for part in self.parts if part.name in names)

    def first(self, name: str) -> MarkupElement | None:
        """The first element of a name directly in it; None where there is none."""
        return next(self.all(name), None)

    def text_of(self, name: str) -> str | None:
        """The text of the first element of a name; None where there is none or it is empty."""
        found = self.first(name)
        return None if found is None else found.text or None

    def below(self, name: str) -> Iterator[MarkupElement]:
        """All elements of a name in it, however deep, in their order."""
        waiting = [self]
        while waiting:
            here = waiting.pop()
            if here.name == name:
                yield here
            waiting += reversed(here.parts)


def read_markup(content: bytes, source: str) -> MarkupElement:
    """The root of an XML document.

    Raises     UsageError where it is no XML, declares an entity or names one that it does not declare, or nests too deep.

    >>> read_markup(b"<a><b>one &amp; two</b></a>", "x.xml").text_of("b")
    'one & two'
    """
    root = MarkupElement("", {})
    stack, count = [root], 0
    parser = expat.ParserCreate(namespace_separator=" ")

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) > DEEPEST or count > MOST_ELEMENTS:
            raise UsageError(
                "an XML file is too deep or too long",
                came=source,
                allowed=f"{DEEPEST} elements inside each other, {MOST_ELEMENTS:,} in all",
            )
        own = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        made = MarkupElement(name.rpartition(" ")[2], own)
        stack[-1].parts.append(made)
        stack.append(made)

    def write(text: str) -> None:
        stack[-1].written.append(text)

    def refuse_entity(*_: object) -> NoReturn:
        raise UsageError(
            "an XML file declares or names an entity of its own, which is not read",
            came=source,
            allowed="text, and &amp; &lt; &gt; &quot; &apos;",
            fix="write out what the entity stands for",
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = write
    parser.EntityDeclHandler = refuse_entity
    parser.SkippedEntityHandler = refuse_entity
    parser.ExternalEntityRefHandler = refuse_entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UsageError(
            "a file that should be XML is not",
            came=f"{source} (line {error.lineno}: {expat.ErrorString(error.code)})",
        ) from None
    return root.parts[0]
