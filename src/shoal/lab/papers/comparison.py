"""One number of a paper beside ours, with the difference and a verdict; and the page of them that makes a table or figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from shoal.chance.source import Source as Chance
from shoal.page.picture import Picture


class Verdict(Enum):
    """What came of looking."""

    REPRODUCED = "reproduced"
    ERRATUM = "erratum confirmed"
    FAILED = "NOT REPRODUCED"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """What the paper prints, what we compute, how far they are apart, and what we can prove instead."""

    what: str
    printed: str
    ours: str
    difference: str
    verdict: Verdict
    improved: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
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
    """All findings of one table, figure or section, with remarks and pictures."""

    findings: Sequence[Finding]
    remarks: Sequence[str] = ()
    pictures: Sequence[Picture] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether everything that the paper says was found, or is a known erratum that was confirmed."""
        return all(finding.verdict is not Verdict.FAILED for finding in self.findings)

    @property
    def ran(self) -> bool:
        """Whether anything was looked at: a table that is not there says nothing about a paper."""
        return any(finding.verdict is not Verdict.NOT_RUN for finding in self.findings)


@dataclass(frozen=True)
class Setting:
    """What recomputing may use: a folder with the papers' tables, runs of a random method, and where chance comes from."""

    data: Path | None = None
    runs: int = 100
    chance: Chance | None = None

    def source(self) -> Chance:
        """Fresh bits of the operating system, unless a test brings its own."""
        return Chance.secure() if self.chance is None else self.chance


@dataclass(frozen=True)
class Source:
    """Where in which papers something is printed, and the function that recomputes it."""

    name: str
    title: str
    papers: tuple[str, ...]
    run: Callable[[], Reproduction]

    def under(self, setting: Setting) -> Reproduction:  # noqa: ARG002 - mathematics needs nothing of it
        """Recompute it with what is there."""
        return self.run()


@dataclass(frozen=True)
class Measured(Source):
    """Something measured on a table that Shoal does not ship; without its file it is not run."""

    file: str
    on: Callable[[Path, Setting], Reproduction]

    @classmethod
    def of(
        cls, name: str, title: str, papers: tuple[str, ...], file: str, on: Callable[[Path, Setting], Reproduction]
    ) -> Measured:
        """`file` is its place in the data folder; `on` gets that file."""
        nothing = f"no data folder was named; {file} in it is needed"
        return cls(name, title, papers, lambda: _not_run(nothing), file, on)

    def under(self, setting: Setting) -> Reproduction:
        """Measure it on the file in the data folder."""
        if setting.data is None:
            return self.run()
        path = setting.data / self.file
        return self.on(path, setting) if path.is_file() else _not_run(f"the data folder has no {self.file}")


def digits(what: str, printed: str, ours: float, improved: str = "") -> Finding:
    """Compare to all digits that are printed: ours, rounded to as many, must read the same."""
    same = float(printed) == float(_like(printed, ours))
    return Finding(what, printed, f"{ours:.6g}", _gap(ours, float(printed)), _verdict(same), improved)


def statement(what: str, printed: str, ours: str, holds: bool, *, difference: str = "", improved: str = "") -> Finding:
    """Compare a sentence of the paper with what we find."""
    return Finding(
        what, printed, ours, difference or ("none" if holds else "it does not hold"), _verdict(holds), improved
    )


def erratum(what: str, printed: str, ours: str, holds: bool, *, difference: str = "", improved: str = "") -> Finding:
    """A place where the paper is known to be wrong: confirmed when our number shows it."""
    verdict = Verdict.ERRATUM if holds else Verdict.FAILED
    return Finding(what, printed, ours, difference, verdict, improved)


def _not_run(why: str) -> Reproduction:
    return Reproduction(
        [Finding("all of it", "", "", why, Verdict.NOT_RUN)],
        ["Name the folder by --data DIR or by the environment variable SHOAL_DATA. Nothing was found wrong, or right."],
    )


def _verdict(holds: bool) -> Verdict:
    return Verdict.REPRODUCED if holds else Verdict.FAILED


def _like(printed: str, value: float) -> str:
    """The value with as many digits as the printed text has."""
    mantissa, _, power = printed.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    return f"{value:.{places}e}" if power else f"{value:.{places}f}"


def _gap(ours: float, printed: float) -> str:
    return f"{ours / printed - 1:+.2%}" if printed else f"{ours:+.3g}"
