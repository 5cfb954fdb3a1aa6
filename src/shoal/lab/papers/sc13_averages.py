"""SC13 Tables 3.10 and 3.11: how far three methods move the correlations, on average over 100 runs, for k from 5 to 300.

The thesis averages the cells of its Table 3.6, in which each pair stands once and each confidential attribute beside itself;
but the column of the first confidential attribute counted as unchanged. Two facts show it: with that column MDAV-ID, which has no
chance in it, lies 6 to 15 % above Table 3.10, without it within rounding of nearly every number; and EIA, whose first column
holds no pair, agrees as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from pathlib import Path

import numpy as np

from shoal.assess.distortion.average import Average
from shoal.assess.distortion.correlation import correlations
from shoal.lab.papers.comparison import Finding, Reproduction, Setting, erratum, statement
from shoal.lab.papers.sc13_data import CENSUS, EIA, read
from shoal.lab.papers.sc13_methods import Floats, Trial
from shoal.lab.papers.sc13_printed import CENSUS as PRINTED_CENSUS
from shoal.lab.papers.sc13_printed import CROWDS, METHODS, averages, half_unit
from shoal.lab.papers.sc13_printed import EIA as PRINTED_EIA

ERRORS = 4.0
"""Standard errors, ours and the thesis' together, within which two averages of the same thing lie; for few runs Student's
equivalent, since they know their error badly."""
SLACK = 0.05
"""What MDAV's ties, which are the implementer's, may change besides."""
THEIR_RUNS = 100
CLEAR = 1.1
"""Methods whose printed means differ by this factor are told apart."""

Key = tuple[int, str]


@dataclass(frozen=True)
class Measured:
    """One method at one k: the thesis' average of the cells, and the average that its text defines, over all pairs."""

    mean: Average
    square: Average
    pairs: Average

    @property
    def deviation(self) -> float:
        """The standard deviation of the cells, over all runs together."""
        return sqrt(max(0.0, self.square.value - self.mean.value**2))


def census(path: Path, setting: Setting) -> Reproduction:
    """Table 3.10, with what its text concludes."""
    printed, found = averages(PRINTED_CENSUS), _measure(Trial(read(path, CENSUS), 6), setting)
    like = [found[key].mean.value for key in ((11, "MDAV-ID"), (25, "MDAV-SWAP"), (300, "IR-SWAP"))]
    findings = [
        *_compare(printed, found),
        _order(printed, found),
        statement(
            "similar quality at k = 11 (MDAV-ID), 25 (MDAV-SWAP), 300 (IR-SWAP)",
            "similar",
            ", ".join(f"{value:.3f}" for value in like),
            max(like) < 1.3 * min(like),
            difference=f"a factor of {max(like) / min(like):.2f}",
        ),
        _left_out(printed, found),
    ]
    return Reproduction(findings, _remarks(setting))


def eia(path: Path, setting: Setting) -> Reproduction:
    """Table 3.11, with what its text concludes."""
    printed, found = averages(PRINTED_EIA), _measure(Trial(read(path, EIA), 0), setting)
    theirs = {key: float(mean) for key, (mean, _) in printed.items()}
    ours = {key: one.mean.value for key, one in found.items()}
    against, clear = _contradicts(theirs, 1.0), _contradicts(theirs, CLEAR)
    findings = [
        *_compare(printed, found),
        _order(printed, found),
        erratum(
            "MDAV-SWAP better than MDAV-ID, IR-SWAP the best of all",
            "at every k",
            f"not at k = {', '.join(map(str, _contradicts(ours, 1.0)))}",
            holds=bool(clear) and set(clear) <= set(_contradicts(ours, 1.0)),
            difference=f"nor in the printed table: k = {', '.join(map(str, against))}",
        ),
    ]
    return Reproduction(findings, _remarks(setting))


def _measure(trial: Trial, setting: Setting) -> dict[Key, Measured]:
    """Every method at every k."""
    before, found = correlations(trial.table), {}
    for k in CROWDS:
        source = setting.source()
        masked: dict[str, Iterator[Floats]] = {
            "MDAV-ID": iter([trial.identical(k)]),
            "MDAV-SWAP": islice(trial.swapped(k, source), setting.runs),
            "IR-SWAP": islice(trial.ranked(k, source), setting.runs),
        }
        for method, several in masked.items():
            moved = [np.abs(correlations(one) - before) for one in several]
            found[k, method] = _summed(moved, trial.first, exact=method == "MDAV-ID")
    return found


def _summed(moved: list[Floats], first: int, *, exact: bool) -> Measured:
    """Averages over runs: of the thesis' cells with its first column at zero, and of all pairs."""
    rows, columns = np.indices(moved[0].shape)
    cells = (columns >= first) & (rows <= columns)
    pairs = (columns >= first) & (rows < columns)
    taken = [np.where(columns > first, one, 0.0)[cells] for one in moved]
    mean = Average.of((float(one.mean()) for one in taken), exact=exact)
    square = Average.of((float((one * one).mean()) for one in taken), exact=exact)
    everything = Average.of((float(one[pairs].mean()) for one in moved), exact=exact)
    return Measured(mean, square, everything)


def _compare(printed: dict[Key, tuple[str, str]], found: dict[Key, Measured]) -> list[Finding]:
    findings = []
    for (k, method), (mean, deviation) in printed.items():
        ours = found[k, method]
        gap = ours.mean.value - float(mean)
        fits = abs(gap) <= half_unit(mean) + SLACK * float(mean) + _by_chance(ours.mean)
        spread = abs(ours.deviation - float(deviation))
        other = spread <= half_unit(deviation) + SLACK * float(deviation) + _by_chance(ours.square) / (
            2 * ours.deviation
        )
        said = "exactly" if ours.mean.exact else f"± {ours.mean.high - ours.mean.value:.2g}"
        findings.append(
            statement(
                f"k = {k}, {method}: mean (deviation)",
                f"{mean} ({deviation})",
                f"{ours.mean.value:.3g} {said} ({ours.deviation:.3g})",
                fits and other,
                difference=f"{gap / float(mean):+.1%} ({ours.deviation / float(deviation) - 1:+.1%})",
                improved=f"{ours.pairs.value:.3g} over all pairs",
            )
        )
    return findings


def _by_chance(ours: Average) -> float:
    """How far two averages of the same thing may lie apart, ours and one of the thesis' runs."""
    from scipy.special import ndtr, stdtrit

    if ours.exact:
        return 0.0
    error = ours.error * sqrt(1 + ours.runs / THEIR_RUNS)
    return float(stdtrit(ours.runs - 1, ndtr(ERRORS))) * error


def _order(printed: dict[Key, tuple[str, str]], found: dict[Key, Measured]) -> Finding:
    """Whether methods that the table tells apart come in its order, at every k."""
    turned = []
    for k in CROWDS:
        theirs = {method: float(printed[k, method][0]) for method in METHODS}
        for better in METHODS:
            for worse in METHODS:
                clear = theirs[worse] > theirs[better] * CLEAR
                if clear and found[k, worse].mean.value <= found[k, better].mean.value:
                    turned.append(f"{better} and {worse} at k = {k}")
    return statement(
        "the order of the methods at each k",
        "where they differ by a tenth",
        ", ".join(turned) + " the other way" if turned else "the same at all nine",
        not turned,
    )


def _left_out(printed: dict[Key, tuple[str, str]], found: dict[Key, Measured]) -> Finding:
    """The stated average against the one that the numbers follow, over MDAV-ID, in which there is no chance."""
    keys = [(k, "MDAV-ID") for k in CROWDS]
    cells = 63 / 70  # 63 pairs and 7 attributes beside themselves
    stated = [found[key].pairs.value * cells / float(printed[key][0]) - 1 for key in keys]
    taken = [found[key].mean.value / float(printed[key][0]) - 1 for key in keys]
    return erratum(
        "which correlations Table 3.10 averages",
        "all 70 cells of Table 3.6",
        "the column of A_7 counts as unchanged",
        holds=min(stated) > 0.05 and max(abs(gap) for gap in taken) <= 0.06,
        difference=f"MDAV-ID {min(stated):+.1%} to {max(stated):+.1%} with it, {min(taken):+.1%} to {max(taken):+.1%} so",
    )


def _contradicts(means: dict[Key, float], factor: float) -> list[int]:
    """Where MDAV-SWAP is not better than MDAV-ID or IR-SWAP not the best of all, by a factor."""
    found = []
    for k in CROWDS:
        identical, swapped, ranked = (means[k, method] for method in METHODS)
        if swapped > factor * identical or ranked > factor * min(identical, swapped):
            found.append(k)
    return found


def _remarks(setting: Setting) -> list[str]:
    return [
        f"{setting.runs} runs of each random method; ± is a 95 % interval. MDAV-ID has no chance in it: one run is all.",
        f"Reproduced: within {SLACK:.0%} (MDAV's ties are the implementer's), half a digit and {ERRORS:g} standard errors.",
        "Improved: the average that the text defines, over all pairs.",
    ]
