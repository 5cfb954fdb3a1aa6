"""SC13 chapter 3: what MDAV-ID, MDAV-SWAP and IR-SWAP do to correlations, on the tables Census and EIA of the CASC project.

Tables 3.6 to 3.9 print correlations at k = 12, Tables 3.10 and 3.11 their average change over 100 runs for k from 5 to 300.

Methods    The text says less than is needed, and something else: "MDAV is run on the quasi-identifier attributes". Table 3.7
           shows that all attributes were clustered together, without standardizing (the intruders are informed: whoever looks
           for one attribute knows all the others), and Table 3.11 that swapping goes attribute by attribute, the clusters of
           each made from all the others as they are by then. Individual ranking left its remainder in the middle, as MDAV of
           one attribute does.
Averages   The thesis averages the cells of its Table 3.6, in which each pair stands once and each confidential attribute
           beside itself; but the column of the first confidential attribute counted as unchanged. Two facts show it: with
           that column MDAV-ID, which is deterministic, lies 6 to 15 % above Table 3.10, without it within rounding of nearly
           every number; and EIA, whose first column holds no pair, agrees as it is.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import fsum, inf, isfinite, sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.anonymize import aggregate
from shoal.anonymize.aggregate import shuffle
from shoal.anonymize.cluster.mdav import Labels, mdav
from shoal.anonymize.kernel.remaining_points import FlatPoints
from shoal.assess.distortion.correlation import correlations
from shoal.chance.source import Source
from shoal.errors import DataError
from shoal.lab.papers.comparison import Finding, Reproduction, RunSetting, erratum, statement

CENSUS = ("AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL", "INTVAL", "PEARNVAL",
          "FICA", "WSALVAL", "ERNVAL")  # fmt: skip
"""A_1 to A_13, in the order of the thesis: 1 to 6 are quasi-identifiers, 7 to 13 confidential."""

EIA = ("RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE", "OTHRSALES",
       "TOTREVENUE", "TOTSALES")  # fmt: skip
"""The ten figures; that these and no others were taken, all confidential, is read off Table 3.11."""

ROWS = {CENSUS: 1080, EIA: 4092}


def read_table(path: Path, columns: Sequence[str]) -> npt.NDArray[np.float64]:
    """Read some columns of a table as numbers; DataError if it is another table than that of the thesis."""
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    lacking = [name for name in columns if name not in names]
    if lacking:
        raise DataError(f"{path.name} is not the table of the thesis", came=f"no column {', '.join(lacking)}")
    places = [names.index(name) for name in columns]
    try:
        table = np.array([[float(row[j]) for j in places] for row in rows])
    except (ValueError, IndexError):
        raise DataError(
            f"{path.name} is not the table of the thesis", allowed=f"numbers in {', '.join(columns)}"
        ) from None
    expected = ROWS.get(tuple(columns))
    if expected is not None and len(table) != expected:
        raise DataError(
            f"{path.name} is not the table of the thesis", came=f"{len(table)} rows", allowed=f"{expected} rows"
        )
    return table


SIZES = (5, 7, 9, 11, 25, 50, 100, 200, 300)
METHODS = ("MDAV-ID", "MDAV-SWAP", "IR-SWAP")

TABLE_3_6 = """
.0038 -.027 -.024 .031 .032 .039 .036
.98   .14   .2    .73  .71  .72  .7
.44   -.12  -.058 .56  .55  .56  .55
.98   .2    .28   .73  .69  .71  .69
.78   .27   .27   .9   .85  .88  .86
.79   .13   .22   .59  .57  .57  .56
1     .17   .23   .72  .7   .71  .69
      1     .45   -.17 -.19 -.17 -.17
            1     .072 .061 .70  .075
                  1    .96  .98  .96
                       1    .91  .89
                            1    .97
                                 1
"""
"""Table 3.6: a row for each attribute A_1 to A_13 of Census, a column for each of A_7 to A_13, each pair once."""

TABLE_3_7 = """
-.0035 -.035 -.055 .034 .035 .042 .04
1      .18   .39   .8   .81  .8   .78
.79    -.17  .084  .89  .9   .89  .89
.99    .23   .45   .82  .8   .81  .8
.86    .18   .4    .94  .92  .94  .93
.95    .2    .43   .77  .76  .76  .75
1      .2    .41   .8   .8   .79  .78
       1     .68   -.15 -.18 -.15 -.16
             1     .18  .14  .17  .16
                   1    .98  1    .99
                        1    .97  .97
                             1    1
                                  1
"""
"""Table 3.7: MDAV-ID, k = 12."""

TABLE_3_8 = """
-.0011 -.028 -.034 .032  .033  .036  .032
.81    .089  .17   .69   .67   .69   .67
.42    -.020 .091  .48   .47   .48   .43
.77    .093  .18   .68   .65   .68   .67
.72    .086  .16   .80   .76   .79   .77
.64    .086  .14   .54   .52   .54   .52
1      .12   .17   .69   .67   .66   .65
       1     .19   -.013 -.022 -.042 -.011
             1     .11   .10   .10   .13
                   1     .76   .81   .87
                         1     .72   .70
                               1     .77
                                     1
"""
"""Table 3.8: MDAV-SWAP, k = 12, one run."""

TABLE_3_9 = """
.0041 -.017 -.018 .031 .038 .039 .038
.98   .13   .20   .73  .71  .72  .70
.44   -.12  -.041 .56  .55  .56  .55
.98   .19   .27   .73  .68  .71  .69
.78   .26   .26   .90  .85  .88  .86
.79   -.12  .21   .59  .57  .57  .56
1     .16   .23   .72  .69  .71  .69
      1     .42   -.17 -.19 -.17 -.17
            1     .077 .063 .075 .080
                  1    .95  .98  .96
                       1    .91  .89
                            1    .97
                                 1
"""
"""Table 3.9: IR-SWAP, k = 12, one run."""

TABLE_3_10 = """
.055 .064  .037 .045  .0021 .0041
.062 .071  .048 .056  .0022 .0039
.069 .078  .055 .064  .0028 .0049
.078 .085  .061 .070  .0038 .0068
.11  .11   .091 .093  .0061 .012
.14  .13   .13  .12   .010  .020
.17  .15   .19  .17   .020  .030
.29  .27   .31  .28   .044  .047
.38  .39   .37  .34   .087  .071
"""
"""Table 3.10: a row for each k of SIZES; mean and standard deviation of the absolute differences, for each of METHODS."""

TABLE_3_11 = """
.018 .017  .017 .035  .00064 .00075
.02  .017  .024 .05   .0012  .0018
.034 .031  .028 .053  .0015  .0018
.039 .036  .029 .052  .0019  .0023
.085 .078  .043 .081  .0063  .0072
.13  .12   .053 .089  .011   .011
.15  .14   .058 .092  .029   .037
.19  .18   .09  .11   .093   .074
.2   .18   .12  .13   .14    .091
"""
"""Table 3.11, in the form of TABLE_3_10."""


def printed_rows(text: str) -> list[list[str]]:
    """Give the rows of a table of correlations, as printed; a row of A_8 or later begins at its own column."""
    return [line.split() for line in text.strip().splitlines()]


def printed_averages(text: str) -> dict[tuple[int, str], tuple[str, str]]:
    """Give the printed mean and standard deviation by k and method."""
    rows = [line.split() for line in text.strip().splitlines()]
    return {
        (k, method): (row[2 * i], row[2 * i + 1])
        for k, row in zip(SIZES, rows, strict=True)
        for i, method in enumerate(METHODS)
    }


def half_unit(printed: str) -> float:
    """Give half of the last printed digit: how far rounding alone may have changed the number."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trial:
    """A table whose columns from `first` on are confidential, and its masked versions by the three methods."""

    table: Floats
    first: int

    def identical(self, k: int, columns: list[int] | None = None, *, standardized: bool = False) -> Floats:
        """MDAV-ID: replace every attribute by the mean of its cluster; clusters may be made from some `columns`, on z-scores."""
        points = self.table / self.table.std(axis=0) if standardized else self.table
        labels = _groups(points if columns is None else points[:, columns], k)
        return np.column_stack([aggregate.mean(column, labels) for column in self.table.T])

    def swap(self, k: int, source: Source) -> Iterator[Floats]:
        """MDAV-SWAP: permute each confidential attribute, one after the other, in clusters of records near in all others."""
        while True:
            masked = self.table.copy()
            for j in range(self.first, masked.shape[1]):
                masked[:, j] = shuffle(masked[:, j], _groups(np.delete(masked, j, axis=1), k), source)
            yield masked

    def rank_swap(self, k: int, source: Source) -> Iterator[Floats]:
        """IR-SWAP: permute each confidential attribute in clusters of records near in it alone."""
        labels = {j: _groups(self.table[:, [j]], k) for j in range(self.first, self.table.shape[1])}
        while True:
            masked = self.table.copy()
            for j, own in labels.items():
                masked[:, j] = shuffle(masked[:, j], own, source)
            yield masked


def _groups(points: Floats, k: int) -> Labels:
    centred = np.ascontiguousarray(points - points.mean(axis=0))
    return mdav(centred, k, among=FlatPoints(centred))


@dataclass(frozen=True)
class Average:
    """The mean of a number over independent runs of a method, with its standard error and a 95 % interval (Student's t).

    The interval contains the long-run mean with probability 0.95 if the runs are normal; for others that is not proved. One
    run has no interval. A deterministic method gives the same number each time: then `exact` is true and the interval is
    that number.
    """

    value: float
    low: float
    high: float
    error: float
    runs: int
    exact: bool

    @classmethod
    def of(cls, values: Iterable[float], *, exact: bool = False) -> Average:
        """Average one number for each run; `exact` says that the method is deterministic."""
        from scipy.special import stdtrit

        numbers = list(values)
        runs = len(numbers)
        if not runs or not all(isfinite(number) for number in numbers):
            raise DataError(
                "there is no number of every run", came=f"{runs} runs", allowed="at least one finite number"
            )
        mean = fsum(numbers) / runs
        if exact:
            return cls(mean, mean, mean, 0.0, runs, True)
        if runs == 1:
            return cls(mean, -inf, inf, inf, 1, False)
        error = sqrt(fsum((number - mean) ** 2 for number in numbers) / (runs - 1) / runs)
        half = float(stdtrit(runs - 1, 0.975)) * error
        return cls(mean, mean - half, mean + half, error, runs, False)


FIRST = 6
"""A_7 is the first confidential attribute, counted from 0."""
K = 12
CELL_TIES = 0.008
"""Of Table 3.7, beyond rounding: MDAV's ties are the implementer's."""
SIGMAS = 5.0
"""One printed run may lie so many standard deviations from the average of ours."""
LEAST_RUNS = 100
"""Fewer runs would not know their own standard deviation well enough; these take a second."""

MISPRINTS: dict[str, dict[tuple[int, int], str]] = {
    "3.6": {(9, 12): "a zero is lost: .070"},
    "3.7": {},
    "3.8": {(10, 13): "a digit: .77, perhaps"},
    "3.9": {(6, 8): "the sign"},
}
"""Cells that cannot be right, counted from 1, and what seems to have happened."""


def table_3_6(path: Path, _: RunSetting) -> Reproduction:
    """Table 3.6, to every printed digit."""
    found = correlations(read_table(path, CENSUS))
    return Reproduction(_rows("3.6", TABLE_3_6, found, np.zeros_like(found)))


def table_3_7(path: Path, _: RunSetting) -> Reproduction:
    """Table 3.7: the method is deterministic, so the numbers show which attributes were clustered."""
    trial = Trial(read_table(path, CENSUS), FIRST)
    found = correlations(trial.identical(K))
    findings = _rows("3.7", TABLE_3_7, found, np.full_like(found, CELL_TIES))
    quasi = list(range(FIRST))
    others = {
        "all attributes, standardized": trial.identical(K, standardized=True),
        "the quasi-identifiers": trial.identical(K, quasi),
        "the quasi-identifiers, standardized": trial.identical(K, quasi, standardized=True),
    }
    ours = _mean_gap(TABLE_3_7, found)
    gaps = {name: _mean_gap(TABLE_3_7, correlations(masked)) for name, masked in others.items()}
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
        findings,
        [f"Within rounding and {CELL_TIES}: the thesis leaves MDAV's ties open, and its run is not exactly ours."],
    )


def table_3_8(path: Path, setting: RunSetting) -> Reproduction:
    """Table 3.8: one run of the thesis against many of ours."""
    trial = Trial(read_table(path, CENSUS), FIRST)
    return _one_run("3.8", TABLE_3_8, trial.swap(K, setting.source()), setting.runs)


def table_3_9(path: Path, setting: RunSetting) -> Reproduction:
    """Table 3.9: one run of the thesis against many of ours."""
    trial = Trial(read_table(path, CENSUS), FIRST)
    return _one_run("3.9", TABLE_3_9, trial.rank_swap(K, setting.source()), setting.runs)


def _one_run(table: str, printed: str, masked: Iterator[Floats], runs: int) -> Reproduction:
    runs = max(runs, LEAST_RUNS)
    found = np.array([correlations(one) for one in islice(masked, runs)])
    mean = found.mean(axis=0)
    spread = SIGMAS * sqrt(1 + 1 / runs) * found.std(axis=0, ddof=1)
    findings = _rows(table, printed, mean, spread)
    remark = f"Ours is the average of {runs} runs. The thesis prints one run, which may lie {SIGMAS:g} standard deviations off."
    return Reproduction(findings, [remark])


def _rows(table: str, text: str, found: Floats, allowed: Floats) -> list[Finding]:
    """A finding for each attribute, and one for each misprint, which is left out of its row; rounding is always allowed."""
    findings, misprints = [], []
    for i, row in enumerate(printed_rows(text)):
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
        for i, row in enumerate(printed_rows(text))
        for j, cell in zip(range(len(found) - len(row), len(found)), row, strict=True)
    ]
    return sum(gaps) / len(gaps)


ERRORS = 4.0
"""Standard errors, ours and the thesis' together, within which two averages of the same thing lie; for few runs Student's
equivalent, since they know their error badly."""
TIES = 0.05
"""What MDAV's ties, which are the implementer's, may change besides."""
THEIR_RUNS = 100
CLEAR = 1.1
"""Methods whose printed means differ by this factor count as different."""

Key = tuple[int, str]


@dataclass(frozen=True)
class MethodAverages:
    """The averages of one method at one k: of the cells as the thesis took them, and over all pairs as its text defines."""

    mean: Average
    square: Average
    pairs: Average

    @property
    def deviation(self) -> float:
        """The standard deviation of the cells, over all runs together."""
        return sqrt(max(0.0, self.square.value - self.mean.value**2))


def table_3_10(path: Path, setting: RunSetting) -> Reproduction:
    """Table 3.10, with what its text concludes."""
    printed, found = printed_averages(TABLE_3_10), _measure(Trial(read_table(path, CENSUS), 6), setting)
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


def table_3_11(path: Path, setting: RunSetting) -> Reproduction:
    """Table 3.11, with what its text concludes."""
    printed, found = printed_averages(TABLE_3_11), _measure(Trial(read_table(path, EIA), 0), setting)
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


def _measure(trial: Trial, setting: RunSetting) -> dict[Key, MethodAverages]:
    """Measure every method at every k."""
    before, found = correlations(trial.table), {}
    for k in SIZES:
        source = setting.source()
        masked: dict[str, Iterator[Floats]] = {
            "MDAV-ID": iter([trial.identical(k)]),
            "MDAV-SWAP": islice(trial.swap(k, source), setting.runs),
            "IR-SWAP": islice(trial.rank_swap(k, source), setting.runs),
        }
        for method, several in masked.items():
            differences = [np.abs(correlations(one) - before) for one in several]
            found[k, method] = _average_runs(differences, trial.first, exact=method == "MDAV-ID")
    return found


def _average_runs(differences: list[Floats], first: int, *, exact: bool) -> MethodAverages:
    """Average over runs: the cells of the thesis with its first column at zero, and all pairs."""
    rows, columns = np.indices(differences[0].shape)
    cells = (columns >= first) & (rows <= columns)
    pairs = (columns >= first) & (rows < columns)
    taken = [np.where(columns > first, one, 0.0)[cells] for one in differences]
    mean = Average.of((float(one.mean()) for one in taken), exact=exact)
    square = Average.of((float((one * one).mean()) for one in taken), exact=exact)
    everything = Average.of((float(one[pairs].mean()) for one in differences), exact=exact)
    return MethodAverages(mean, square, everything)


def _compare(printed: dict[Key, tuple[str, str]], found: dict[Key, MethodAverages]) -> list[Finding]:
    findings = []
    for (k, method), (mean, deviation) in printed.items():
        ours = found[k, method]
        gap = ours.mean.value - float(mean)
        fits = abs(gap) <= half_unit(mean) + TIES * float(mean) + _by_chance(ours.mean)
        spread = abs(ours.deviation - float(deviation))
        other = spread <= half_unit(deviation) + TIES * float(deviation) + _by_chance(ours.square) / (
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
    """Give how far our average and that of the thesis may differ by chance."""
    from scipy.special import ndtr, stdtrit

    if ours.exact:
        return 0.0
    error = ours.error * sqrt(1 + ours.runs / THEIR_RUNS)
    return float(stdtrit(ours.runs - 1, ndtr(ERRORS))) * error


def _order(printed: dict[Key, tuple[str, str]], found: dict[Key, MethodAverages]) -> Finding:
    """Whether methods that the table tells apart come in its order, at every k."""
    turned = []
    for k in SIZES:
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


def _left_out(printed: dict[Key, tuple[str, str]], found: dict[Key, MethodAverages]) -> Finding:
    """Compare the average that the text states with the one that the numbers follow, for MDAV-ID, which is deterministic."""
    keys = [(k, "MDAV-ID") for k in SIZES]
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
    for k in SIZES:
        identical, swap, rank_swap = (means[k, method] for method in METHODS)
        if swap > factor * identical or rank_swap > factor * min(identical, swap):
            found.append(k)
    return found


def _remarks(setting: RunSetting) -> list[str]:
    return [
        f"{setting.runs} runs of each random method; ± is a 95 % interval. MDAV-ID has no chance in it: one run is all.",
        f"Reproduced: within {TIES:.0%} (MDAV's ties are the implementer's), half a digit and {ERRORS:g} standard errors.",
        "Improved: the average that the text defines, over all pairs.",
    ]
