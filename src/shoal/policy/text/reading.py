"""From YAML to plain values in which every scalar is the text that was typed, each with its line.

YAML guesses what a scalar is: `no` becomes false, `01234` an octal number, `1e-6` a text or a float,
`2024-01-01` a date. Here nothing is guessed. A scalar stays its text, quoted or not, and the model
says what it means. Anchors, aliases, tags, merge keys and second documents are refused: what is
written is what is meant, and one place is one value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from shoal.policy.text.problem import MOST_PROBLEMS, Path, Problem, RefusedPolicyError, excerpt

Tree = str | list[Any] | dict[str, Any]
"""Texts, lists and mappings, and nothing else."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_LONGEST_VALUE = 100_000
"""Letters of one value: ten times what a pattern matches."""
_DEEPEST = 16
_LONGEST = 4_000_000
_MOST_VALUES = 250_000
"""No policy needs more levels, letters, or keys and values than this; a file that has them is not one."""


@dataclass
class Document:
    """The values of a file, and the line on which each begins."""

    tree: Tree
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int | None:
        """The line of a key, or of the nearest key around it."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path)

    def at(self, path: Path) -> Tree | None:
        """The value at a path; None where there is none."""
        here: Any = self.tree
        for step in path:
            inside = step in here if isinstance(here, dict) else isinstance(here, list) and step in range(len(here))
            if not inside:
                return None
            here = here[step]
        return here  # type: ignore[no-any-return]


def read_yaml(text: str, file: str = "policy") -> Document:
    """Read one document, or raise with everything that makes it unreadable.

    >>> read_yaml("smoker: [no, yes]").tree
    {'smoker': ['no', 'yes']}
    """
    try:
        known = _read_cached(text)
    except RefusedPolicyError as error:
        raise RefusedPolicyError(error.problems, file) from None
    return Document(deepcopy(known.tree), dict(known.lines))


@lru_cache(maxsize=8)
def _read_cached(text: str) -> Document:
    """The document of a text; a text that is written, checked, parsed and locked is read once, not once for each."""
    builder = _DocumentBuilder()
    if len(text) > _LONGEST:
        raise RefusedPolicyError(
            [Problem((), "too long to be a policy", f"{len(text):,} letters", f"at most {_LONGEST:,}")]
        )
    try:
        for event in _events(text):
            builder.take(event)
    except _Stop:
        pass
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (None, None) if mark is None else (int(mark.line) + 1, int(mark.column) + 1)
        came = str(error.problem or error.context or "a broken file")
        builder.problem(
            "not YAML",
            came=came,
            fix="check the indentation of this line and the one before, and that texts with a colon are quoted",
            line=line,
            column=column,
        )
    except ReaderError as error:
        before = text[: int(error.position)] if isinstance(error.position, int) else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        builder.problem(
            "not YAML: a letter that cannot be seen", came=f"{text[len(before) :][:1]!r}", line=line, column=column
        )
    except YAMLError as error:
        builder.problem("not YAML", came=str(error).splitlines()[0] if str(error) else None)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        # ruamel trips over some malformed texts instead of saying that they are malformed
        builder.problem("not YAML", came=type(error).__name__, line=builder.last_line, column=builder.last_column)
    if builder.problems:
        mapping = isinstance(builder.root, dict)  # anything else may be a table given for a policy: it is not quoted
        quiet = [each if mapping else replace(each, came=None) for each in builder.problems]
        raise RefusedPolicyError(quiet)
    if builder.root is None:
        raise RefusedPolicyError([Problem((), "the policy is empty", fix="begin with `version: 1`")])
    return Document(builder.root, builder.lines)


def _events(text: str) -> Iterator[Any]:
    yield from YAML(typ="safe", pure=True).parse(text)


class _Stop(Exception):  # noqa: N818  (a way out of the loop, not an error)
    """Nothing more can be read."""


@dataclass
class _Open:
    """A list or mapping whose end has not come yet."""

    value: list[Any] | dict[str, Any]
    path: Path
    key: str | None = None
    line: int = 0


class _DocumentBuilder:
    """Takes one event at a time; keeps what is open on a stack of its own, so that depth cannot harm."""

    def __init__(self) -> None:
        self.root: Tree | None = None
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self.last_line = 1
        self.last_column = 1
        self._events = 0
        self._open: list[_Open] = []
        self._documents = 0

    def problem(
        self,
        wrong: str,
        came: str | None = None,
        fix: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Note what is wrong at the place that is being read; where very much is, the rest is not read."""
        path = self._open[-1].path if self._open else ()
        self.note(Problem(path, wrong, None if came is None else excerpt(came), None, fix, line, column))

    def note(self, problem: Problem) -> None:
        """Keep a problem; nothing more is read where there are too many."""
        self.problems.append(problem)
        if len(self.problems) >= MOST_PROBLEMS:
            raise _Stop

    def take(self, event: Any) -> None:
        """One event of the parser."""
        if event.start_mark is not None:
            self.last_line = int(event.start_mark.line) + 1
            self.last_column = int(event.start_mark.column) + 1
        self._events += 1
        if self._events > _MOST_VALUES:
            self.problem(
                "too many keys and values for a policy",
                fix=f"keep to {_MOST_VALUES:,}",
                line=self.last_line,
                column=self.last_column,
            )
            raise _Stop
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self.problem(
                    "a second document",
                    came="---",
                    fix="keep one policy to a file",
                    line=self.last_line,
                    column=self.last_column,
                )
                raise _Stop
        elif isinstance(event, AliasEvent):
            self.problem(
                "an alias",
                came=f"*{event.anchor}",
                fix="write the value again",
                line=self.last_line,
                column=self.last_column,
            )
            self._place_value("")
        elif isinstance(event, ScalarEvent):
            self._plain(event)
            self._place_value(self._storable(str(event.value)))
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self._plain(event)
            self._begin({} if isinstance(event, MappingStartEvent) else [])
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._open.pop()

    def _storable(self, value: str) -> str:
        """A scalar that tables and files can hold: an escape can name letters that a file cannot."""
        if _UNSTORABLE.search(value) or len(value) > _LONGEST_VALUE:
            letters = "a letter that no file can hold" if len(value) <= _LONGEST_VALUE else "a value that is too long"
            fix = f"no NUL, no half of a pair, at most {_LONGEST_VALUE:,} letters"
            self.problem(letters, came=value, fix=fix, line=self.last_line, column=self.last_column)
            return ""
        return value

    def _plain(self, event: Any) -> None:
        if event.anchor is not None:
            self.problem(
                "an anchor",
                came=f"&{event.anchor}",
                fix="write the value in each place",
                line=self.last_line,
                column=self.last_column,
            )
        if event.tag is not None:
            fix = "leave the tag out; the policy's own keys say what a value is"
            self.problem("a tag", came=str(event.tag), fix=fix, line=self.last_line, column=self.last_column)

    def _begin(self, value: list[Any] | dict[str, Any]) -> None:
        if len(self._open) >= _DEEPEST:
            self.problem(
                "nested too deeply", fix="a policy has few levels", line=self.last_line, column=self.last_column
            )
            raise _Stop
        line, path = self.last_line, self._place_value(value)
        self._open.append(_Open(value, path, line=line))

    def _place_value(self, value: Tree) -> Path:
        """Put a value where it belongs; gives its path."""
        if not self._open:
            self.root = value
            self.lines[()] = self.last_line
            return ()
        top = self._open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
            path: Path = (*top.path, len(top.value) - 1)
        elif top.key is None:
            return self._name(top, value)
        else:
            top.value[top.key] = value
            path = (*top.path, top.key)
            top.key = None
            self.lines.setdefault(path, self.last_line)
            return path
        self.lines[path] = self.last_line
        return path

    def _name(self, top: _Open, key: Tree) -> Path:
        """Take a key of a mapping; the value comes next."""
        if not isinstance(key, str):
            self.problem(
                "a key that is not a text",
                came=excerpt(key),
                fix="quote it",
                line=self.last_line,
                column=self.last_column,
            )
            raise _Stop
        path = (*top.path, key)
        if key == "<<":
            self.problem(
                "a merge key", came="<<", fix="write the keys out", line=self.last_line, column=self.last_column
            )
        if path in self.lines:
            fix = f"it is on line {self.lines[path]} already; keep one of the two"
            self.note(Problem(path, "the key is written twice", None, None, fix, self.last_line, self.last_column))
        self.lines[path] = self.last_line
        top.key = key
        return path
