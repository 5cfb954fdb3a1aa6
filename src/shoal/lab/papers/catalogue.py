"""The catalogue: every table, figure and section of the papers that is recomputed, by name."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.errors import UsageError
from shoal.lab.papers import (
    cluster_size,
    cm06,
    lqs,
    sc13_chapter3,
    sc13_chapter4,
    sc13_chapter5,
    sc13_chapter6,
    sc13_chapter7,
)
from shoal.lab.papers.comparison import MeasuredResult, PrintedResult

_BOTH = ("lqs10", "lqs11")
_SC13 = ("sc13",)
_CENSUS = "casc_census/census.csv"
_EIA = "casc_eia/eia.csv"
_ADULT = "adult/adult.csv"

_ALL = (
    PrintedResult("lqs11-table-1", "LQS11 Table 1: privacy parameters under sampling", ("lqs11",), lqs.table_1),
    PrintedResult("lqs11-table-2", "LQS11 Table 2, LQS10 Table 1: delta at k = 20", _BOTH, lqs.table_2),
    PrintedResult("lqs11-section-2.7", "LQS11 section 2.7: fifty fresh samples", ("lqs11",), lqs.section_2_7),
    PrintedResult("lqs-figure-2", "LQS10 and LQS11 Figure 2: varying k", _BOTH, lqs.figure_2),
    PrintedResult("lqs-figure-3", "LQS10 and LQS11 Figure 3: varying beta", _BOTH, lqs.figure_3),
    PrintedResult("lqs-figure-4", "LQS10 and LQS11 Figure 4: doubling beta", _BOTH, lqs.figure_4),
    PrintedResult("lqs-figure-5", "LQS10 and LQS11 Figure 5: very small k", _BOTH, lqs.figure_5),
    PrintedResult("lqs-figure-6", "LQS10 and LQS11 Figure 6: epsilon against k", _BOTH, lqs.figure_6),
    PrintedResult("lqs10-figure-7", "LQS10 Figure 7: the f of the f-smooth bound", ("lqs10",), lqs.figure_7),
    PrintedResult("cm06-rates", "CM06 Theorems 3 and 7: safe rates of a plain sample", ("cm06",), cm06.rates),
    PrintedResult(
        "cm06-tightness", "CM06 Observation 6: the rate is tight up to logarithms", ("cm06",), cm06.tightness
    ),
    PrintedResult("cm06-errata", "CM06 Lemma 2 and Theorem 7: where they fail", ("cm06",), cm06.errata),
    PrintedResult(
        "cm06-figure-visits", "CM06: both rates of hospital visits, by c and epsilon", ("cm06",), cm06.visits_figure
    ),
    MeasuredResult.of(
        "cm06-adult", "CM06: both rates of Adult, by c and epsilon", ("cm06",), _ADULT, cm06.adult_figure
    ),
    MeasuredResult.of(
        "sc13-table-3.6", "SC13 Table 3.6: correlations of Census", _SC13, _CENSUS, sc13_chapter3.table_3_6
    ),
    MeasuredResult.of("sc13-table-3.7", "SC13 Table 3.7: MDAV-ID, k = 12", _SC13, _CENSUS, sc13_chapter3.table_3_7),
    MeasuredResult.of("sc13-table-3.8", "SC13 Table 3.8: MDAV-SWAP, k = 12", _SC13, _CENSUS, sc13_chapter3.table_3_8),
    MeasuredResult.of("sc13-table-3.9", "SC13 Table 3.9: IR-SWAP, k = 12", _SC13, _CENSUS, sc13_chapter3.table_3_9),
    MeasuredResult.of(
        "sc13-table-3.10", "SC13 Table 3.10: three methods on Census", _SC13, _CENSUS, sc13_chapter3.table_3_10
    ),
    MeasuredResult.of(
        "sc13-table-3.11", "SC13 Table 3.11: three methods on EIA", _SC13, _EIA, sc13_chapter3.table_3_11
    ),
    PrintedResult("sc13-table-4.1", "SC13 Table 4.1: variance of one noisy answer", _SC13, sc13_chapter4.table_4_1),
    PrintedResult(
        "sc13-table-4.2", "SC13 Table 4.2: 95 % interval of one noisy answer", _SC13, sc13_chapter4.table_4_2
    ),
    PrintedResult("sc13-table-4.3", "SC13 Table 4.3: regions of two answers, Laplace", _SC13, sc13_chapter4.table_4_3),
    PrintedResult("sc13-table-4.4", "SC13 Table 4.4: regions of two answers, optimal", _SC13, sc13_chapter4.table_4_4),
    PrintedResult("sc13-figure-4.1", "SC13 Figure 4.1: moving mass towards zero", _SC13, sc13_chapter4.figure_4_1),
    PrintedResult("sc13-figure-4.2", "SC13 Figure 4.2: variance against d", _SC13, sc13_chapter4.figure_4_2),
    PrintedResult("sc13-figure-4.3", "SC13 Figure 4.3: 95 % interval against d", _SC13, sc13_chapter4.figure_4_3),
    PrintedResult("sc13-figure-4.4", "SC13 Figure 4.4: two equal answers", _SC13, sc13_chapter4.figure_4_4),
    PrintedResult("sc13-figure-4.5", "SC13 Figure 4.5: two unequal answers", _SC13, sc13_chapter4.figure_4_5),
    PrintedResult("sc13-figure-4.6", "SC13 Figure 4.6: both densities of Example 5", _SC13, sc13_chapter4.figure_4_6),
    PrintedResult("sc13-figure-4.7", "SC13 Figure 4.7: components of Example 5", _SC13, sc13_chapter4.figure_4_7),
    PrintedResult("sc13-errata-4", "SC13 Theorems 1 and 3: which step comes first", _SC13, sc13_chapter4.errata_4),
    PrintedResult("sc13-table-5.3", "SC13 Table 5.3: two people asked about", _SC13, sc13_chapter5.table_5_3),
    PrintedResult("sc13-table-5.4", "SC13 Table 5.4: one of them missing", _SC13, sc13_chapter5.table_5_4),
    PrintedResult("sc13-table-5.5", "SC13 Table 5.5: refinement and Laplace noise", _SC13, sc13_chapter5.table_5_5),
    PrintedResult("sc13-figure-5.1", "SC13 Figure 5.1: neighbouring answers", _SC13, sc13_chapter5.figure_5_1),
    PrintedResult("sc13-figure-5.2", "SC13 Figure 5.2: one person, with a delta", _SC13, sc13_chapter5.figure_5_2),
    PrintedResult("sc13-figure-5.3", "SC13 Figure 5.3: many people, with a delta", _SC13, sc13_chapter5.figure_5_3),
    PrintedResult("sc13-figure-5.4", "SC13 Figure 5.4: an unknown Boolean value", _SC13, sc13_chapter5.figure_5_4),
    PrintedResult("sc13-figure-5.5", "SC13 Figure 5.5: the same with Laplace noise", _SC13, sc13_chapter5.figure_5_5),
    PrintedResult("sc13-figure-5.6", "SC13 Figure 5.6: a rare Boolean value refined", _SC13, sc13_chapter5.figure_5_6),
    PrintedResult("sc13-figure-5.7", "SC13 Figure 5.7: a number at four epsilons", _SC13, sc13_chapter5.figure_5_7),
    PrintedResult(
        "sc13-errata-5", "SC13 Algorithm 5.1 and section 5.2: where they fail", _SC13, sc13_chapter5.errata_5
    ),
    MeasuredResult.of(
        "sc13-table-6.1", "SC13 Table 6.1: noisy centroids of Census and MDAV", _SC13, _CENSUS, sc13_chapter6.table_6_1
    ),
    MeasuredResult.of(
        "sc13-table-6.2", "SC13 Table 6.2: the same and plain noise", _SC13, _CENSUS, sc13_chapter6.table_6_2
    ),
    MeasuredResult.of(
        "sc13-table-6.3", "SC13 Table 6.3: noisy centroids of Adult and MDAV", _SC13, _ADULT, sc13_chapter6.table_6_3
    ),
    MeasuredResult.of(
        "sc13-table-6.4", "SC13 Table 6.4: the same and plain noise", _SC13, _ADULT, sc13_chapter6.table_6_4
    ),
    MeasuredResult.of(
        "sc13-table-6.5", "SC13 Table 6.5: means and variances of Census", _SC13, _CENSUS, sc13_chapter6.table_6_5
    ),
    PrintedResult("sc13-figure-size", "SC13 section 6.4: how large k must be", _SC13, cluster_size.size_figure),
    PrintedResult("sc13-errata-6", "SC13 section 6.3: the claim for the data set", _SC13, sc13_chapter6.errata_6),
    PrintedResult("sc13-table-7.2", "SC13 Tables 7.2 and 7.3: generalized to k = 3", _SC13, sc13_chapter7.table_7_2),
    PrintedResult("sc13-table-7.4", "SC13 Table 7.4: Anatomy's two linked tables", _SC13, sc13_chapter7.table_7_4),
    PrintedResult("sc13-table-7.5", "SC13 Table 7.5: 4-anonymous, 1.5-close groups", _SC13, sc13_chapter7.table_7_5),
    PrintedResult("sc13-table-7.6", "SC13 Table 7.6: masses of t-close groups", _SC13, sc13_chapter7.table_7_6),
    PrintedResult("sc13-figure-7.7", "SC13 Figures 7.6 and 7.7: three buckets or two", _SC13, sc13_chapter7.figure_7_7),
    PrintedResult("sc13-errata-7", "SC13 chapter 7: where it does not hold as printed", _SC13, sc13_chapter7.errata_7),
)

RESULTS: dict[str, PrintedResult] = {result.name: result for result in _ALL}
"""All results by name, in the order of the papers."""


def find_results(names: Iterable[str]) -> list[PrintedResult]:
    """Give the results of these names, or of these papers; all of them when none is named.

    >>> [result.name for result in find_results(["cm06"])]
    ['cm06-rates', 'cm06-tightness', 'cm06-errata', 'cm06-figure-visits', 'cm06-adult']
    """
    wanted = [name.lower() for name in names]
    papers = sorted({paper for result in _ALL for paper in result.papers})
    unknown = [name for name in wanted if name not in RESULTS and name not in papers]
    if unknown:
        raise UsageError(
            "unknown table or figure",
            came=", ".join(unknown),
            allowed=", ".join([*papers, *RESULTS]),
            fix="see `shoal paper --list`",
        )
    return [result for result in _ALL if not wanted or result.name in wanted or set(result.papers) & set(wanted)]
