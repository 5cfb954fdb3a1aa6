"""Comparison of printed numbers with ours: one finding for each number, and the findings of a table, figure or section."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from shoal.chance.source import Source
from shoal.page.picture import Picture


class Verdict(Enum):
    """The outcome of one comparison."""

    REPRODUCED = "reproduced"
    ERRATUM = "erratum confirmed"
    FAILED = "NOT REPRODUCED"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """One comparison: what the paper prints, what we compute, the difference, the verdict, and what we can prove instead."""

    what: str
    printed: str
    ours: str
    difference: str
    verdict: Verdict
    improved: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON."""
        return {
            "what": self.what,
            "printed": self.printed,
            "ours": self.ours,
            "difference": self.difference,
            "verdict": self.verdict.value,
            "improved": self.improved or None,
        }


@dataclass(frozen=True)
class Reproduction:
    """The findings of one table, figure or section, with remarks and pictures."""

    findings: Sequence[Finding]
    remarks: Sequence[str] = ()
    pictures: Sequence[Picture] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether every number was reproduced, or is a known erratum that was confirmed."""
        return all(finding.verdict is not Verdict.FAILED for finding in self.findings)

    @property
    def ran(self) -> bool:
        """Whether anything was computed; a result whose data file is missing is not run."""
        return any(finding.verdict is not Verdict.NOT_RUN for finding in self.findings)


@dataclass(frozen=True)
class RunSetting:
    """What a reproduction uses: a folder with the papers' tables, how many runs of a random method, and a source of
    randomness.
    """

    data: Path | None = None
    runs: int = 100
    chance: Source | None = None

    def source(self) -> Source:
        """Give the source of randomness: the operating system's, unless a test brings its own."""
        return Source.secure() if self.chance is None else self.chance


@dataclass(frozen=True)
class PrintedResult:
    """A table, figure or section of papers, and the function that recomputes it."""

    name: str
    title: str
    papers: tuple[str, ...]
    run: Callable[[], Reproduction]

    def reproduce(self, setting: RunSetting) -> Reproduction:  # noqa: ARG002 - mathematics needs nothing of it
        """Recompute the result."""
        return self.run()


@dataclass(frozen=True)
class MeasuredResult(PrintedResult):
    """A result that was measured on a table that Shoal does not ship; without the file it is not run."""

    file: str
    on: Callable[[Path, RunSetting], Reproduction]

    @classmethod
    def of(
        cls, name: str, title: str, papers: tuple[str, ...], file: str, on: Callable[[Path, RunSetting], Reproduction]
    ) -> MeasuredResult:
        """Make the result: `file` is the path in the data folder, `on` is called with the full path."""
        nothing = f"no data folder was named; {file} in it is needed"
        return cls(name, title, papers, lambda: _not_run(nothing), file, on)

    def reproduce(self, setting: RunSetting) -> Reproduction:
        """Recompute the result on the file in the data folder."""
        if setting.data is None:
            return self.run()
        path = setting.data / self.file
        return self.on(path, setting) if path.is_file() else _not_run(f"the data folder has no {self.file}")


def digits(what: str, printed: str, ours: float, improved: str = "") -> Finding:
    """Compare to all digits that are printed: our number, rounded to as many digits, must be the same.

    >>> digits("pi", "3.14", 3.14159).verdict.value
    'reproduced'
    """
    same = float(printed) == float(_like(printed, ours))
    return Finding(what, printed, f"{ours:.6g}", _gap(ours, float(printed)), _verdict(same), improved)


def statement(what: str, printed: str, ours: str, holds: bool, *, difference: str = "", improved: str = "") -> Finding:
    """Compare a sentence of the paper with what we find."""
    return Finding(
        what, printed, ours, difference or ("none" if holds else "it does not hold"), _verdict(holds), improved
    )


def erratum(what: str, printed: str, ours: str, holds: bool, *, difference: str = "", improved: str = "") -> Finding:
    """Compare at a place where the paper is known to be wrong: confirmed when our number shows it."""
    verdict = Verdict.ERRATUM if holds else Verdict.FAILED
    return Finding(what, printed, ours, difference, verdict, improved)


def rounded_or_cut(what: str, printed: str, ours: float, improved: str = "") -> Finding:
    """Compare to all printed digits; digits that are truncated instead of rounded count as an erratum."""
    found = digits(what, printed, ours, improved)
    if float(f"{ours:.{_places(printed)}f}") == float(printed):
        return found
    return erratum(what, printed, found.ours, is_cut(printed, ours), difference="cut, not rounded", improved=improved)


def is_cut(printed: str, ours: float) -> bool:
    """Whether the printed digits are the first ones of ours."""
    scale = 10.0 ** _places(printed)
    return math.floor(ours * scale) == round(float(printed) * scale)


def _not_run(why: str) -> Reproduction:
    return Reproduction(
        [Finding("all of it", "", "", why, Verdict.NOT_RUN)],
        ["Name the folder by --data DIR or by the environment variable SHOAL_DATA. Nothing was found wrong, or right."],
    )


def _verdict(holds: bool) -> Verdict:
    return Verdict.REPRODUCED if holds else Verdict.FAILED


def _like(printed: str, value: float) -> str:
    """Print the value with as many digits as the printed text has."""
    mantissa, _, power = printed.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    return f"{value:.{places}e}" if power else f"{value:.{places}f}"


def _gap(ours: float, printed: float) -> str:
    return f"{ours / printed - 1:+.2%}" if printed else f"{ours:+.3g}"


def _places(printed: str) -> int:
    return len(printed.partition(".")[2])
