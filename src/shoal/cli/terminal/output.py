"""What a command prints: results on standard output; notes, warnings and errors on standard error. Nothing else prints.

Names, labels and reasons come from files that others made. Whatever in them a terminal would act on (it could clear the screen
and write another verdict) is spelled out before anything is printed; our own styles are added afterwards.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import os
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from shoal.errors import OutputError, visible

VERSION = 1
"""The version of the shape of every JSON answer."""
_effects: list[str] = []
"""What the command has done so far that stands, in sentences."""


# --- results ---------------------------------------------------------------------------------------------------------


def print_json(fields: Mapping[str, Any]) -> None:
    """Print the result as JSON: a version, the fields, and null where a number is infinite."""
    _print(json_text({"version": VERSION, **_finite(fields)}, indent=2))


def print_json_lines(several: Iterable[Mapping[str, Any]]) -> None:
    """Print one line of JSON for each."""
    for fields in several:
        _print(json_text(fields))


def json_text(fields: Mapping[str, Any], indent: int | None = None) -> str:
    """Write JSON in printable ASCII alone; lines that are not indented have their keys in order."""
    written = json.dumps(fields, indent=indent, sort_keys=indent is None, allow_nan=False, ensure_ascii=True)
    return written.replace("\x7f", "\\u007f")


def print_line(text: str = "", *, bold: bool = False) -> None:
    """Print one line of the result."""
    _print(_styled(visible(text), bold))


def print_lines(text: str) -> None:
    """Print our own text, such as a page of help, line by line."""
    for line in text.split("\n"):
        _print("\t".join(map(visible, line.split("\t"))))


def print_paragraph(text: str, width: int = 96, indent: str = "") -> None:
    """Print sentences of the result, wrapped."""
    _print(click.wrap_text(visible(text), width=width, initial_indent=indent, subsequent_indent=indent))


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), width: int | None = None
) -> None:
    """Print a table in plain characters, the columns `right` aligned to the right.

    Lines are wrapped where a `width` is given: their last cell goes on below itself, and has 30 characters at least.
    """
    shown = [[visible(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in shown) for i in range(len(head))]
    before = sum(widths[:-1]) + 2 * len(head)

    def align(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(size) if i in right else cell.ljust(size)
            for i, (cell, size) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  " + "  ".join(padded).rstrip()

    if any(head):
        _print(_styled(align(shown[0]), bold=True))
    for row in shown[1:]:
        first, *more = _wrapped(row[-1], None if width is None else max(30, width - before))
        _print(align([*row[:-1], first]))
        for line in more:
            _print(" " * before + line)


def _wrapped(text: str, width: int | None) -> list[str]:
    if width is None:
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def print_facts(rows: Sequence[tuple[str, str]], width: int = 100) -> None:
    """Print names with what there is to say of each, wrapped beside the name."""
    for line in _fact_lines(rows, width):
        _print(line)


def _fact_lines(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    shown = [(visible(name), visible(text)) for name, text in rows]
    indent = max(len(name) for name, _ in shown) + 4
    for name, text in shown:
        lines = _wrapped(text, width - indent)
        yield f"  {name:<{indent - 4}}  {lines[0]}".rstrip()
        for more in lines[1:]:
            yield " " * indent + more


def count_text(number: int, word: str) -> str:
    """A number of things: 1 release, 2 releases."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


# --- what is not the result ------------------------------------------------------------------------------------------


def note(text: str) -> None:
    """Print something worth knowing that is not the result."""
    tell(f"note: {text}")


def warn(text: str) -> None:
    """Print something that may change the reader's decision."""
    tell(f"warning: {text}")


def tell(text: str = "", *, bold: bool = False) -> None:
    """Print one line on standard error."""
    _tell(_styled(visible(text), bold))


def tell_lines(text: str) -> None:
    """Print our own text on standard error, line by line."""
    for line in text.split("\n"):
        tell(line)


def tell_paragraph(text: str, width: int = 96, indent: str = "", further: str = "") -> None:
    """Print sentences on standard error, wrapped; lines after the first are indented by `further`."""
    _tell(click.wrap_text(visible(text), width=width, initial_indent=indent, subsequent_indent=further))


def tell_facts(rows: Sequence[tuple[str, str]], width: int = 96) -> None:
    """Print names with what there is to say of each on standard error, wrapped beside the name."""
    for line in _fact_lines(rows, width):
        _tell(line)


def tell_error(words: str, fields: Mapping[str, Any], *, as_json: bool) -> None:
    """Print an error: JSON on standard output where it was asked for, else words on standard error.

    A list of problems has a line for each; its words are those of a `ShoalError`, in which lines of values are spelled out.
    """
    if as_json:
        shape = {"kind": None, "wrong": None, "came": None, "allowed": None, "fix": None, "next": None, "exit_code": 1}
        _print(json_text({"version": VERSION, "error": {**shape, **fields}}, indent=2))
        return
    tell_lines(f"error: {words}")
    for name, cells in fields.get("values", {}).items():
        for row, value in cells.items():
            tell(f"  '{name}', row {row}: {value}")


def tell_trace(error: BaseException) -> None:
    """Print the trace of an error, for those who look for its cause."""
    tell_lines("".join(traceback.format_exception(error)).rstrip("\n"))


# --- questions ---------------------------------------------------------------------------------------------------------


def can_ask() -> bool:
    """Whether a person sits at a terminal and can be asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def ask_line(question: str) -> str:
    """Put a question on standard error, and read the line that comes back.

    Raises     EOFError where the answers end.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        click.echo(
            click.wrap_text(visible(question), width=96, subsequent_indent="  ") + " ", nl=False, file=sys.stderr
        )
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()


def ask(question: str, answers: Sequence[str]) -> str:
    """Put a question on standard error until one of the answers, or the beginning of one alone, comes back.

    Raises     EOFError where the answers end.
    """
    while True:
        given = ask_line(question).lower()
        meant = [answer for answer in answers if given and answer.startswith(given)]
        if len(meant) == 1:
            return meant[0]
        tell(f"  answer with {', '.join(answers)}")


# --- what stands although printing fails -------------------------------------------------------------------------------


def note_effect(sentence: str) -> None:
    """Remember what the command has done, for the case that its result cannot be printed or that it is interrupted."""
    _effects.append(sentence)


def effects() -> str:
    """What the command has done so far, in one sentence; empty where it has done nothing that stands."""
    return "; ".join(_effects)


class LogNotes(logging.Handler):
    """Prints what our own modules log as notes; libraries log what concerns their authors, and it is left out."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] == "shoal":
            note(record.getMessage())


def encoding() -> str | None:
    """The encoding of standard output; None where it is closed."""
    return getattr(sys.stdout, "encoding", None)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Prepare both streams for one command: no letter is refused, and warnings of libraries are printed like ours."""
    _effects.clear()
    _hold_places()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, category, *_: warn(f"{category.__name__}: {message}")
        notes = LogNotes(logging.WARNING)
        logging.getLogger().addHandler(notes)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(notes)


def _hold_places() -> None:
    """Put something where a standard stream is closed: else the next file to be opened, a ledger say, would take its place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def finish() -> None:
    """Hand everything that was printed to the reader; OutputError where that fails."""
    if sys.stdout is not None:
        with _writing():
            sys.stdout.flush()


def give_up() -> None:
    """Print no more: Python would try once again at its end, and fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


# --- the two streams ---------------------------------------------------------------------------------------------------


def _styled(text: str, bold: bool) -> str:
    return click.style(text, bold=True) if bold else text


def _print(text: str) -> None:
    if sys.stdout is None:
        raise OutputError("standard output is closed, so the result cannot be printed")
    with _writing():
        click.echo(text, file=sys.stdout)


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is closed"
        raise OutputError("the result cannot be printed on standard output", came=reason) from error


def _tell(text: str) -> None:
    """Print on standard error; where that is impossible there is nobody to tell, and the work goes on."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            click.echo(text, file=sys.stderr)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
