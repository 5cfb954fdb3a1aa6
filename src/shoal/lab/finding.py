"""One number of a paper beside ours, with the difference and a verdict; and the page of them that makes a table or figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from shoal.page.picture import Picture


class Verdict(Enum):
    """What came of looking."""

    REPRODUCED = "reproduced"
    ERRATUM = "erratum confirmed"
    FAILED = "NOT REPRODUCED"


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


@dataclass(frozen=True)
class Source:
    """Where in which papers something is printed, and the function that recomputes it."""

    name: str
    title: str
    papers: tuple[str, ...]
    run: Callable[[], Reproduction]


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


def _verdict(holds: bool) -> Verdict:
    return Verdict.REPRODUCED if holds else Verdict.FAILED


def _like(printed: str, value: float) -> str:
    """The value with as many digits as the printed text has."""
    mantissa, _, power = printed.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    return f"{value:.{places}e}" if power else f"{value:.{places}f}"


def _gap(ours: float, printed: float) -> str:
    return f"{ours / printed - 1:+.2%}" if printed else f"{ours:+.3g}"
