"""SC13 Tables 3.6 to 3.9: correlations to the confidential attributes of Census, before and after three methods, k = 12."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import sqrt
from pathlib import Path

import numpy as np

from shoal.assess.distortion.correlation import correlations
from shoal.lab.papers.comparison import Finding, Reproduction, Setting, erratum, statement
from shoal.lab.papers.sc13_data import CENSUS, read
from shoal.lab.papers.sc13_methods import Floats, Trial
from shoal.lab.papers.sc13_printed import IDENTICAL, ORIGINAL, RANKED, SWAPPED, half_unit, triangle

FIRST = 6
"""A_7 is the first confidential attribute, counted from 0."""
K = 12
SLACK = 0.008
"""Of Table 3.7, beyond rounding: MDAV's ties are the implementer's."""
SIGMAS = 5.0
"""One printed run may lie so many standard deviations from the average of ours."""
LEAST = 100
"""Fewer runs would not know their own standard deviation well enough; these take a second."""

MISPRINTS: dict[str, dict[tuple[int, int], str]] = {
    "3.6": {(9, 12): "a zero is lost: .070"},
    "3.7": {},
    "3.8": {(10, 13): "a digit: .77, perhaps"},
    "3.9": {(6, 8): "the sign"},
}
"""Cells that cannot be right, counted from 1, and what seems to have happened."""


def original(path: Path, _: Setting) -> Reproduction:
    """Table 3.6, to every printed digit."""
    found = correlations(read(path, CENSUS))
    return Reproduction(_rows("3.6", ORIGINAL, found, np.zeros_like(found)))


def identical(path: Path, _: Setting) -> Reproduction:
    """Table 3.7: no chance in it, so what was grouped can be told from the numbers."""
    trial = Trial(read(path, CENSUS), FIRST)
    found = correlations(trial.identical(K))
    findings = _rows("3.7", IDENTICAL, found, np.full_like(found, SLACK))
    quasi = list(range(FIRST))
    others = {
        "all attributes, standardized": trial.identical(K, standardized=True),
        "the quasi-identifiers": trial.identical(K, quasi),
        "the quasi-identifiers, standardized": trial.identical(K, quasi, standardized=True),
    }
    ours = _mean_gap(IDENTICAL, found)
    gaps = {name: _mean_gap(IDENTICAL, correlations(masked)) for name, masked in others.items()}
    findings.append(
        erratum(
            "what MDAV was run on",
            "the quasi-identifier attributes",
            "all 13, in their own units",
            holds=ours < 0.005 and min(gaps.values()) > 0.05,
            difference=f"mean gap to the table {ours:.4f}; " + ", ".join(f"{n} {gap:.3f}" for n, gap in gaps.items()),
        )
    )
    return Reproduction(
        findings, [f"Within rounding and {SLACK}: the thesis leaves MDAV's ties open, and its run is not exactly ours."]
    )


def swapped(path: Path, setting: Setting) -> Reproduction:
    """Table 3.8: one run of the thesis against many of ours."""
    trial = Trial(read(path, CENSUS), FIRST)
    return _one_run("3.8", SWAPPED, trial.swapped(K, setting.source()), setting.runs)


def ranked(path: Path, setting: Setting) -> Reproduction:
    """Table 3.9, likewise."""
    trial = Trial(read(path, CENSUS), FIRST)
    return _one_run("3.9", RANKED, trial.ranked(K, setting.source()), setting.runs)


def _one_run(table: str, printed: str, masked: Iterator[Floats], runs: int) -> Reproduction:
    runs = max(runs, LEAST)
    found = np.array([correlations(one) for one in islice(masked, runs)])
    mean = found.mean(axis=0)
    spread = SIGMAS * sqrt(1 + 1 / runs) * found.std(axis=0, ddof=1)
    findings = _rows(table, printed, mean, spread)
    remark = f"Ours is the average of {runs} runs. The thesis prints one run, which may lie {SIGMAS:g} standard deviations off."
    return Reproduction(findings, [remark])


def _rows(table: str, text: str, found: Floats, allowed: Floats) -> list[Finding]:
    """A finding for each attribute, and one for each misprint, which is left out of its row; rounding is always allowed."""
    findings, misprints = [], []
    for i, row in enumerate(triangle(text)):
        columns = range(len(found) - len(row), len(found))
        sound, gaps = True, []
        for j, cell in zip(columns, row, strict=True):
            gap = abs(found[i, j] - float(cell))
            fits = bool(gap <= allowed[i, j] + half_unit(cell) * (1 + 1e-9))
            known = MISPRINTS[table].get((i + 1, j + 1))
            if known is not None:
                what = f"A_{i + 1} with A_{j + 1}: {known}"
                misprints.append(
                    erratum(
                        what, cell, f"{found[i, j]:.4f}", holds=not fits, difference=f"{found[i, j] - float(cell):+.3f}"
                    )
                )
                continue
            sound &= fits
            gaps.append(gap)
        findings.append(
            statement(
                f"A_{i + 1} with A_{columns[0] + 1} to A_13" if len(row) > 1 else "A_13 with itself",
                " ".join(row),
                " ".join(f"{found[i, j]:.3f}" for j in columns),
                sound,
                difference=f"{max(gaps):.4f} at most",
            )
        )
    return findings + misprints


def _mean_gap(text: str, found: Floats) -> float:
    gaps = [
        float(abs(found[i, j] - float(cell)))
        for i, row in enumerate(triangle(text))
        for j, cell in zip(range(len(found) - len(row), len(found)), row, strict=True)
    ]
    return sum(gaps) / len(gaps)
