"""Docstrings are plain text; this turns their few habits into markup, so that no docstring can break a page.

Indented blocks stay as they are drawn, names between backticks become code, lines such as
"Promise   what holds" become a list of fields, lines that begin with a dash a list; an example (">>> ") keeps
its lines, as tests/docs/test_docstrings.py runs it; the rest is prose.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FIELD = re.compile(r"(?P<name>[A-Z][a-z]+|`[^`]+`) {2,}(?P<body>\S.*)")
CODE = re.compile(r"``([^`]+)``|`([^`]+)`")


def inline(text: str) -> str:
    """Escape what the markup would read, and set names between backticks as code."""
    pieces: list[str] = []
    end = 0
    for match in CODE.finditer(text):
        pieces += [escaped(text[end : match.start()]), f"\\ ``{(match[1] or match[2]).strip()}``\\ "]
        end = match.end()
    return "".join([*pieces, escaped(text[end:])])


def escaped(text: str) -> str:
    """Text that means itself."""
    return re.sub(r"([\\*`|_\[\]<>])", r"\\\1", text)


def field_name(name: str) -> str:
    """A word, or a name set as code."""
    return f"`{name}`" if name.startswith("`") else name


def paragraphs(lines: list[str]) -> list[list[str]]:
    """The groups of lines between blank ones."""
    return [list(group) for filled, group in groupby(lines, key=lambda line: bool(line.strip())) if filled]


def joined(lines: list[str]) -> list[str]:
    """Fold continuation lines (indented more) into the line that they continue."""
    folded: list[str] = []
    for line in lines:
        if folded and line.startswith(" "):
            folded[-1] += " " + line.strip()
        else:
            folded.append(line.strip())
    return folded


def block(lines: list[str]) -> list[str]:
    """The markup of one paragraph."""
    example = next((number for number, line in enumerate(lines) if line.lstrip().startswith(">>> ")), None)
    if example is not None:
        return [*(block(lines[:example]) if example else []), *preformatted(lines[example:], "pycon")]
    if all(line.startswith("    ") for line in lines):
        return preformatted(lines)
    if FIELD.fullmatch(lines[0]) and all(FIELD.fullmatch(line) for line in joined(lines)):
        found = [match for line in joined(lines) if (match := FIELD.fullmatch(line))]
        return [*(f":{field_name(match['name'])}: {inline(match['body'])}" for match in found), ""]
    if lines[0].lstrip().startswith("- "):
        return [*("- " + inline(line.lstrip("- ")) for line in joined(lines)), ""]
    drawing = next((number for number, line in enumerate(lines) if line.startswith("    ")), None)
    if drawing is not None:
        return [*block(lines[:drawing]), *preformatted(lines[drawing:])]
    # The escaped space keeps a line that begins like an enumeration or a heading from being read as one.
    return ["\\ " + inline(" ".join(line.strip() for line in lines)), ""]


def preformatted(lines: list[str], language: str = "text") -> list[str]:
    """A drawing, a table, a formula or an example: shown as it stands."""
    return [f".. code-block:: {language}", "", *("   " + line for line in lines), ""]


def process(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place, as autodoc asks."""
    lines[:] = [line for paragraph in paragraphs(lines) for line in block(paragraph)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
