"""The few commands of Stata that a release's page uses, read strictly and run on the real files: Stata itself is not free.

What each does is that of the Stata manuals [D] import delimited, count, destring, collapse and list, and [P] display. A command,
an option or a value of an option that is not known here is refused, and so is a program that does not fit the files.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

OPTIONS = {
    "delimiters": re.compile(r'"(.)"'),
    "varnames": re.compile(r"(1)"),
    "case": re.compile(r"(preserve)"),
    "stringcols": re.compile(r"(_all)"),
    "bindquotes": re.compile(r"(strict)"),
    "encoding": re.compile(r'"(UTF-8)"'),
    "clear": re.compile("()"),
}
"""The options of `import delimited` that a page may use, and the values that are understood here."""


class StataError(Exception):
    """What Stata would stop at."""


class Stata:
    """Stata with an empty dataset, started in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        self.rows: list[list[Any]] = []
        self.results: dict[str, float] = {}
        self.shown: list[str] = []

    def run(self, program: str) -> Stata:
        """Run a program line by line."""
        for line in program.splitlines():
            for pattern, command in _COMMANDS.items():
                if found := re.fullmatch(pattern, line):
                    command(self, *found.groups())
                    break
            else:
                raise StataError(f"unrecognized command: {line}")
        return self

    def import_delimited(self, file: str, options: str) -> None:
        given = {}
        for name, value in re.findall(r'(\w+)(?:\(((?:"[^"]*"|[^")])*)\))?', options):
            if name in given or name not in OPTIONS or not OPTIONS[name].fullmatch(value):
                raise StataError(f"option {name}({value}) not allowed")
            given[name] = OPTIONS[name].fullmatch(value)[1]
        if missing := OPTIONS.keys() - given.keys():
            raise StataError(f"without {missing} Stata would guess")
        path = self.folder / file
        if re.search(r'[`$"\\]', file) or not path.is_file():
            raise StataError(f"file {file} not found")
        text = path.read_bytes().decode(given["encoding"])
        if text.startswith("\ufeff"):
            raise StataError("a mark of the byte order would be part of the first name")
        self.names, *self.rows = csv.reader(io.StringIO(text, newline=""), delimiter=given["delimiters"], strict=True)
        if any(len(row) != len(self.names) for row in self.rows):
            raise StataError("lines of different lengths")
        if any(cell.count("\n") >= 20 for row in self.rows for cell in row):
            raise StataError("a quoted text of more lines than maxquotedrows")

    def variable(self, name: str) -> int:
        """The place of a variable."""
        if name not in self.names:
            raise StataError(f"variable {name} not found")
        return self.names.index(name)

    def count(self) -> None:
        self.results["N"] = len(self.rows)
        self.shown.append(str(len(self.rows)))

    def display(self, result: str, factor: str | None) -> None:
        if result not in self.results:
            raise StataError(f"r({result}) is missing")
        self.shown.append(str(self.results[result] * float(factor or 1)))

    def destring(self, name: str) -> None:
        place = self.variable(name)
        for row in self.rows:
            if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", row[place]):
                raise StataError(f"{name} contains nonnumeric characters; no replace")
            row[place] = float(row[place])

    def collapse(self, name: str, by: str | None) -> None:
        place = self.variable(name)
        if any(isinstance(row[place], str) for row in self.rows):
            raise StataError("type mismatch")
        key = None if by is None else self.variable(by)
        found: dict[str, float] = {}
        for row in self.rows:
            own = "" if key is None else row[key]
            found[own] = found.get(own, 0) + row[place]
        self.names = [name] if by is None else [by, name]
        self.rows = [[total] if by is None else [own, total] for own, total in sorted(found.items())]

    def list(self) -> None:
        self.shown += [" ".join(map(str, row)) for row in self.rows]


_COMMANDS = {
    r'import delimited using "([^"]+)", (.+)': Stata.import_delimited,
    "count": Stata.count,
    r"display r\((N)\)(?: \* ([0-9.e+-]+))?": Stata.display,
    r"destring (\w+), replace": Stata.destring,
    r"collapse \(sum\) (\w+)(?:, by\((\w+)\))?": Stata.collapse,
    "list": Stata.list,
}
