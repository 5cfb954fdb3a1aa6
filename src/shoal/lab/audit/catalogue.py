"""The catalogue of audits: our methods on their worst-case neighbours, and broken mechanisms that must be refuted.

An entry has a mechanism, a pair of neighbouring tables, a claim, and a number of runs. Those of our methods go through the code
that releases and sessions use; where it is known which neighbours are worst, they are these, and a search looks for worse ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, exp
from typing import Any, Literal, cast

from shoal.errors import UsageError
from shoal.guarantee.differential import ApproxDP, DifferentialPrivacy, PureDP
from shoal.guarantee.rounding import Number, exact_text
from shoal.guarantee.safe_k.curve import delta_tight
from shoal.lab.audit import broken
from shoal.lab.audit.answers import SessionAnswers
from shoal.lab.audit.law import RowsLaw
from shoal.lab.audit.noise import AuditedSum, MostCommonValue, RefinedAnswer, RefinedCount, RepeatingNoise
from shoal.lab.audit.plan import PlanMechanism, plan_of
from shoal.lab.audit.result import AuditResult
from shoal.lab.audit.run import ALPHA, Tick, audit
from shoal.lab.audit.search import (
    SEARCH_RUNS,
    SLOW_RUNS,
    SLOW_STEPS,
    STEPS,
    Pair,
    PairSearch,
    PairSpace,
    search_pair,
)
from shoal.policy.policy import Policy
from shoal.publish.plan.noisy_counts import NoisyCountsPlan

ONE = Fraction(1)
LESS = Fraction(4, 5)
"""The share of the noise that is left where there is 20 % too little."""
TENTH = Fraction(1, 10)


@dataclass(frozen=True)
class AuditCase:
    """What is run: a mechanism, two neighbouring tables, the claim, and where worse neighbours are looked for."""

    mechanism: Callable[..., Any]
    pair: Pair
    claim: DifferentialPrivacy
    tables: str
    """The two tables in words."""
    space: PairSpace | None = None
    names: tuple[str, ...] = ()

    @property
    def is_slow(self) -> bool:
        """Whether a run takes so long that several processes are worth starting."""
        if isinstance(self.mechanism, PlanMechanism):
            return not self.mechanism.draws_at_once
        return isinstance(self.mechanism, SessionAnswers) and self.mechanism.one_by_one

    def run(
        self,
        runs: int,
        *,
        trials: int | None = None,
        alpha: float = ALPHA,
        seed: int | str | None = None,
        workers: int = 1,
        tick: Tick = lambda: None,
    ) -> AuditResult:
        """Audit the mechanism on its pair, with the options of `audit`."""
        return audit(
            self.mechanism,
            self.pair,
            self.claim,
            runs=runs,
            trials=trials,
            alpha=alpha,
            names=self.names,
            seed=seed,
            workers=workers,
            tick=tick,
        )

    @property
    def law(self) -> RowsLaw | None:
        """The exact law of the output, where it is known: then a search needs no runs."""
        return RowsLaw.of(self.mechanism)

    def search_size(self) -> tuple[int, int]:
        """How many pairs a search tries, and how many runs it has on each table of a pair."""
        return (SLOW_STEPS, SLOW_RUNS) if self.is_slow and self.law is None else (STEPS, SEARCH_RUNS)

    def searched(
        self, *, seed: int | str | None = None, workers: int = 1, **options: Any
    ) -> tuple[AuditCase, PairSearch]:
        """The case with the worst pair that a search from its own finds; UsageError where there is nothing to search."""
        if self.space is None:
            raise UsageError("there are no other neighbours to search for", fix="leave out the search")
        steps, runs = self.search_size()
        asked = {"steps": steps, "runs": runs, "law": self.law, **options}
        found = search_pair(self.mechanism, self.space, self.pair, self.claim, seed=seed, workers=workers, **asked)
        words = f"found by a search of {found.tried:,} pairs: {_table_words(found.pair[0])}, and {_table_words(found.pair[1])}"
        return replace(self, pair=found.pair, tables=words), found


def _table_words(table: Sequence[int]) -> str:
    counts = {record: table.count(record) for record in dict.fromkeys(table)}
    listed = " and ".join(f"{many} of record {record + 1}" for record, many in counts.items())
    return f"a table of {listed}" if listed else "an empty table"


@dataclass(frozen=True)
class NamedAudit:
    """An entry of the catalogue."""

    name: str
    title: str
    """One line: what is run, by which code."""
    runs: int
    """Runs on each table: for a broken mechanism so many that the audit refutes it."""
    build: Callable[[], AuditCase]
    is_broken: bool = False
    """Whether the claim is false, so that it has to be refuted."""
    trials: int | None = None
    weaken: Callable[[AuditCase], AuditCase] | None = None
    """Makes the case of a sound method one with too little noise, to show what the audit would notice."""

    def case(self) -> AuditCase:
        """What is run, made now."""
        return self.build()

    def impostor(self) -> AuditCase:
        """The same method with the noise of four times its epsilon, or another fault of that size, under the sound claim.

        Raises     UsageError where the entry has none: a mechanism that is broken is its own.
        """
        if self.weaken is None:
            raise UsageError("this audit has no impostor", came=self.name)
        return self.weaken(self.case())


# --- our methods -----------------------------------------------------------------------------------------------------------

HEAD: Mapping[str, Any] = {"version": 1, "dataset": "audit", "unit": "row"}
VALUE: Mapping[str, Any] = {
    "role": "quasi",
    "type": "integer",
    "domain": [0, 3],
    "hierarchy": {"intervals": [2]},
    "missing": "refuse",
}
NUMBER: Mapping[str, Any] = {"role": "quasi", "type": "integer", "domain": [0, 1000], "missing": "refuse"}
BINARY: Mapping[str, Any] = {**NUMBER, "domain": [0, 1]}
SAFE_K: Mapping[str, Any] = {"method": "safe-k", "k": 5, "sampling": {"beta": "0.5"}}
SAFE_DELTA = "0.0864"
"""delta*(5, 0.5, 0.25) is 0.0863; the worst class has 7 records."""


def worst_class_size(k: int, beta: Number, epsilon: Number) -> int:
    """The size of a class at which one record more is told best: n1 of the closed form of delta* (theorem `safe-k-tight`).

    >>> worst_class_size(3, "0.3", 1)
    3
    """
    gamma = 1 - (1 - float(Fraction(beta))) * exp(-float(Fraction(epsilon)))
    return max(k, ceil((k - 1) / gamma - 1e-12))


def _policy(
    attributes: Mapping[str, Any],
    release: Mapping[str, Any],
    neighbours: Literal["add_remove", "replace_one"] = "add_remove",
) -> Policy:
    return Policy.of({**HEAD, "neighbours": neighbours, "attributes": attributes, "release": release})


def _planned(
    policy: Policy, records: Mapping[str, Sequence[int]], pair: Pair, tables: str, most: int = 12
) -> AuditCase:
    """The case of a tiny policy: the claim is the plan's own."""
    import pyarrow as pa

    mechanism = PlanMechanism(policy, pa.table({name: list(own) for name, own in records.items()}))
    claim = plan_of(policy).claims[0].guarantee
    if not isinstance(claim, DifferentialPrivacy):
        raise UsageError("the plan makes no differential promise")
    count = len(next(iter(records.values())))
    replaced = policy.unit.neighbours == "replace_one"
    size = len(pair[0])
    space = PairSpace(count, size if replaced else most, policy.unit.neighbours, fewest=size if replaced else 0)
    return AuditCase(mechanism, pair, claim, tables, space, mechanism.names)


SEVEN = ((0,) * 7, (0,) * 6)
SEVEN_WORDS = "7 equal records, and one of them less"


def _safe_k() -> AuditCase:
    release = {**SAFE_K, "epsilon": "0.25", "delta": SAFE_DELTA, "recoding": {"levels": {"v": 1}}}
    return _planned(_policy({"v": VALUE}, release), {"v": [0, 3]}, SEVEN, SEVEN_WORDS)


FEW_SAMPLED: Mapping[str, Any] = {"method": "safe-k", "k": 5, "sampling": {"beta": "0.1"}, "delta": "0.0092"}
"""Rows of which a tenth is sampled: delta*(5, 0.1, 0.05) is 0.0091, so that hardly any of epsilon is the sample's."""


def _chosen(paid: str = "0.5") -> AuditCase:
    """The score of single values begins to rise at 26 records; the other scheme, one label for all, has none."""
    release = {
        **FEW_SAMPLED,
        "epsilon": exact_text(Fraction(paid) + Fraction(1, 20)),
        "recoding": {"choose": {"epsilon": paid}},
    }
    pair = ((0,) * 26, (0,) * 25)
    policy = _policy({"v": {**BINARY, "hierarchy": "auto"}}, release)
    return _planned(policy, {"v": [0, 1]}, pair, "26 equal records, and one of them less", most=60)


def _tree(paid: str = "2") -> AuditCase:
    """Which of two cells the few records between them join hangs on which of the two has more records: by one, or a tie."""
    release = {
        **FEW_SAMPLED,
        "epsilon": exact_text(Fraction(paid) + Fraction(1, 20)),
        "recoding": {"tree": {"epsilon": paid}},
    }
    few = (0,) * 30 + (1,) * 3 + (2,) * 30
    tables = (
        "30 records at either end of three cells and 3 between them, with one more at one end, and without that one"
    )
    policy = _policy({"v": {**NUMBER, "domain": [0, 2]}}, release)
    return _planned(policy, {"v": [0, 1, 2]}, ((0, *few), few), tables, most=80)


def _views() -> AuditCase:
    levels = {"levels": {"v": 1, "w": 1}}
    release = {**SAFE_K, "epsilon": 1, "delta": "0.1", "views": "singles", "recoding": levels}
    return _planned(_policy({"v": VALUE, "w": VALUE}, release), {"v": [0, 3], "w": [0, 3]}, SEVEN, SEVEN_WORDS)


def _counts(counts: Mapping[str, Any], attributes: str, value: Mapping[str, Any] = VALUE) -> AuditCase:
    release = {"method": "safe-k", "epsilon": 1, "delta": "0.1", "views": {"show": "counts", **counts}}
    policy = _policy(dict.fromkeys(attributes, value), release)
    pair = ((0,) * 8, (0,) * 7)
    records = {name: [0, value["domain"][1]] for name in attributes}
    return _planned(policy, records, pair, "8 equal records, and one of them less")


def shifted_pair(rows: int, k: int, steps: int = 1000) -> tuple[dict[str, list[int]], Pair]:
    """Two tables of two numbers, ordered by their distance from the lower corner, that share no cluster of k.

    Every k records in turn lie on one axis or on the other, ever farther from the corner. Replacing the nearest record by the
    upper corner moves all others up by one place: every cluster gives its first record away and gets one of the other axis.
    """
    far = [round(steps * (0.9 + 0.1 * place / (rows - 1))) for place in range(rows)]
    axis = [place // k % 2 for place in range(rows)]
    x = [0 if side else value for value, side in zip(far, axis, strict=True)]
    y = [value if side else 0 for value, side in zip(far, axis, strict=True)]
    own = tuple(range(rows))
    return {"x": [*x, steps], "y": [*y, steps]}, (own, (rows, *own[1:]))


SHIFTED_ROWS = 6
"""Two clusters of 3. Noise for all clusters together hides the sum of their shifts: in few clusters one shift stands out."""
MANY_SHIFTED_ROWS = 60
"""Noise for one cluster is refuted by the shifts of many."""


def _centroids(rows: int = SHIFTED_ROWS, **setting: Any) -> AuditCase:
    whole = {"grouping": "insensitive", "rows": rows, "k": 3}
    release = {"method": "dp-microaggregation", "epsilon": 1, **whole, **setting}
    records, pair = shifted_pair(rows, 3)
    policy = _policy({"x": NUMBER, "y": NUMBER}, release, "replace_one")
    tables = (
        f"{rows} records in clusters of 3, and the nearest one replaced by the far corner, which shifts all clusters"
    )
    return replace(_planned(policy, records, pair, tables), space=None)


def _ranking() -> AuditCase:
    release = {"method": "dp-microaggregation", "epsilon": 1, "rows": 12, "k": 3, "grouping": "ranking"}
    policy = _policy({"x": NUMBER}, release, "replace_one")
    pair = ((0,) * 6 + (1,) * 6, (0,) * 5 + (1,) * 7)
    return _planned(
        policy, {"x": [0, 1000]}, pair, "6 records at either end of the domain, and one moved from end to end"
    )


def _boxes() -> AuditCase:
    release = {"method": "dp-microaggregation", "epsilon": 1, "grouping": "boxes"}
    policy = _policy({"x": {**NUMBER, "domain": [0, 7]}}, release)
    pair = ((0,) * 5 + (1,), (0,) * 5)
    return _planned(
        policy, {"x": [0, 7]}, pair, "5 records at one end of the domain and one at the other, and without that one"
    )


# --- impostors ---------------------------------------------------------------------------------------------------------------


def _with(changes: Mapping[str | tuple[str, ...], object], case: AuditCase) -> AuditCase:
    """The case of a plan whose policy is changed, under the claim of the policy as it was."""
    sound = cast("PlanMechanism", case.mechanism)
    return replace(case, mechanism=replace(sound, policy=sound.policy.with_changes(changes)))


FOUR = 4 * ONE
MORE_SAMPLED = partial(_with, {"release.sampling.beta": "0.8", "release.delta": "0.7", "release.epsilon": 4})
"""Rows of which four fifths are sampled and not half: what suppression and sampling hide has no noise to divide."""
FOUR_TIMES = partial(_with, {"release.epsilon": 4})


def _answers_at_four(case: AuditCase) -> AuditCase:
    return replace(case, mechanism=SessionAnswers(ONE, asked=FOUR))


# --- mechanisms --------------------------------------------------------------------------------------------------------------

ONE_MORE = ((1, 1), (1,))
ONE_MORE_WORDS = "two records with the value 1, and one"
IN_TENTHS = ("the sum with its noise, in tenths,",)


def _case(
    mechanism: Callable[..., Any],
    pair: Pair,
    claim: DifferentialPrivacy,
    tables: str,
    space: PairSpace | None = None,
    names: tuple[str, ...] = (),
) -> AuditCase:
    return AuditCase(mechanism, pair, claim, tables, space, names)


def _noise(kind: str, share: Fraction = ONE) -> AuditCase:
    delta = TENTH if kind == "gaussian" else Fraction(0)
    claim = ApproxDP(1, delta) if delta else PureDP(1)
    return _case(AuditedSum(kind, ONE, delta, share), ONE_MORE, claim, ONE_MORE_WORDS, PairSpace(2, 6), IN_TENTHS)


def _choice(share: Fraction = ONE) -> AuditCase:
    mechanism = MostCommonValue(ONE, share=share, monotone=False)
    tables = "6 records with the value 0, and one of them replaced by the value 1"
    # A replaced record moves two scores, which the factor 2 of the mechanism is for.
    return _case(mechanism, ((0,) * 6, (0,) * 5 + (1,)), PureDP(1), tables, PairSpace(2, 12, "replace_one"))


def _refined(**setting: Any) -> AuditCase:
    mechanism = RefinedAnswer(ONE, **setting)
    delta = mechanism.delta
    claim = ApproxDP(1, delta) if delta else PureDP(1)
    return _case(mechanism, ((0,), ()), claim, "a person whose number is 0, and nobody", PairSpace(10, 1))


def _refined_count() -> AuditCase:
    tables = "four records with the value 0, and one of them replaced by the value 1"
    return _case(RefinedCount(ONE), ((0,) * 4, (0, 0, 0, 1)), PureDP(1), tables, PairSpace(2, 4, "replace_one"))


def _session() -> AuditCase:
    return _case(SessionAnswers(ONE), ONE_MORE, PureDP(1), ONE_MORE_WORDS, PairSpace(2, 3))


# --- broken mechanisms -------------------------------------------------------------------------------------------------------


def _thesis_centroids() -> AuditCase:
    return replace(_centroids(MANY_SHIFTED_ROWS, calibration="per_record", corners=1), claim=PureDP(1))


def _one_sample_twice() -> AuditCase:
    k, beta = 5, Fraction(1, 2)
    claim = ApproxDP(2, 2 * Fraction(delta_tight(k, beta, 1)))
    tables = "20 records of one value and one of another, and without that one"
    return _case(broken.OneSampleTwice(k, beta), ((0,) + (1,) * 20, (1,) * 20), claim, tables)


def _recoding_on_sample() -> AuditCase:
    k, beta, paid, left = 3, Fraction(3, 10), Fraction(2), Fraction(3, 4)
    claim = ApproxDP(paid + left, Fraction(delta_tight(k, beta, left)))
    others = tuple(range(1, 11)) * 2
    tables = "two records of each of ten values and one of an eleventh, and without that one"
    return _case(broken.RecodingOnSample(k, beta, paid), ((0, *others), others), claim, tables)


def _best_scheme() -> AuditCase:
    grid = tuple(2 * town + sex for town in range(3) for sex in range(2) for _ in range(60))
    tables = "60 records of each sex in each of three towns and one in a fourth town, and without that one"
    return _case(broken.BestSchemeVisited(20, Fraction(43, 50)), ((*grid, 6), grid), ApproxDP(2, "1e-6"), tables)


def _unsampled() -> AuditCase:
    tables = "5 equal records, and one of them less"
    return _case(broken.KAnonymityAlone(5), ((0,) * 5, (0,) * 4), ApproxDP(1, "1e-6"), tables, PairSpace(2, 8))


def _mondrian() -> AuditCase:
    tables = "incomes of 1 to 9 and one of 35, and that one replaced by 9"
    low = tuple(range(1, 10))
    return _case(broken.MondrianRanges(3), ((*low, 35), (*low, 9)), ApproxDP(1, "1e-6"), tables)


def _duplication() -> AuditCase:
    return _case(
        broken.KDuplication(5),
        ((0, 1), (1,)),
        ApproxDP(1, "1e-6"),
        "two records, and one of them less",
        PairSpace(2, 4),
    )


def _delta_sampling() -> AuditCase:
    mechanism = broken.DeltaSampling(TENTH)
    return _case(mechanism, ((0, 1), (1,)), ApproxDP(0, TENTH), "two records, and one of them less", PairSpace(2, 4))


def _repeating() -> AuditCase:
    return _case(RepeatingNoise(ONE), ONE_MORE, PureDP(1), ONE_MORE_WORDS, PairSpace(2, 4), IN_TENTHS)


def _counts_with_less_noise() -> AuditCase:
    """The plan's own counts and claim, with noise whose sigma is 20 % smaller than the plan's."""
    sound = _counts({"groups": [["v", "w"]], "cells": "declared"}, "vw")
    plan = cast("NoisyCountsPlan", plan_of(cast("PlanMechanism", sound.mechanism).policy))
    return replace(sound, mechanism=broken.NoisyCells(2, LESS * plan.setting.tables[0][1]))


ENTRIES: tuple[NamedAudit, ...] = (
    NamedAudit(
        "safe-k",
        "safe k-anonymization with fixed levels: the method of a release",
        100_000,
        _safe_k,
        weaken=MORE_SAMPLED,
    ),
    NamedAudit(
        "safe-k-chosen",
        "safe k-anonymization, the recoding chosen on the table for most of epsilon",
        2_000,
        _chosen,
        trials=1_000,
        weaken=partial(_with, {"release.epsilon": "2.05", "release.recoding": {"choose": {"epsilon": 2}}}),
    ),
    NamedAudit(
        "safe-k-tree",
        "safe k-anonymization, a tree grown on the table for most of epsilon",
        1_000,
        _tree,
        trials=500,
        weaken=partial(_with, {"release.epsilon": "8.05", "release.recoding": {"tree": {"epsilon": 8}}}),
    ),
    NamedAudit(
        "views",
        "two views of safe k-anonymization, each from a sample of its own",
        20_000,
        _views,
        weaken=MORE_SAMPLED,
    ),
    NamedAudit(
        "noisy-counts",
        "a contingency table with discrete Gaussian noise",
        4_000,
        partial(_counts, {"groups": [["v", "w"]], "cells": "declared"}, "vw"),
        trials=2_000,
        weaken=FOUR_TIMES,
    ),
    NamedAudit(
        "noisy-counts-chosen",
        "noisy counts of pairs of attributes, the pair chosen privately",
        1_000,
        partial(_counts, {"choose": {"count": 1}}, "uvw", BINARY),
        trials=500,
        weaken=FOUR_TIMES,
    ),
    NamedAudit(
        "noisy-counts-rounds",
        "noisy counts of pairs that are chosen in rounds, by a model of what was measured",
        1_000,
        partial(_counts, {"adapt": {"rounds": 1}}, "uvw", BINARY),
        trials=500,
        weaken=FOUR_TIMES,
    ),
    NamedAudit(
        "centroids",
        "noisy centroids of insensitive clusters, noise for all of them together",
        2_000,
        partial(_centroids, corners=1),
        trials=1_000,
        weaken=FOUR_TIMES,
    ),
    NamedAudit(
        "centroids-ranking",
        "noisy centroids of one attribute in rank order",
        2_000,
        _ranking,
        trials=1_000,
        weaken=FOUR_TIMES,
    ),
    NamedAudit(
        "boxes",
        "boxes that are halved where records are, with noisy counts and sums",
        2_000,
        _boxes,
        trials=1_000,
        weaken=FOUR_TIMES,
    ),
    NamedAudit("laplace", "a sum with discrete Laplace noise", 20_000, partial(_noise, "laplace")),
    NamedAudit("gaussian", "a sum with discrete Gaussian noise", 20_000, partial(_noise, "gaussian")),
    NamedAudit("staircase", "a sum with optimal (staircase) noise", 20_000, partial(_noise, "staircase")),
    NamedAudit("exponential", "the most common value, by the exponential mechanism", 20_000, _choice),
    NamedAudit("refinement", "knowledge refinement of a prior about one person", 20_000, _refined),
    NamedAudit("refinement-count", "knowledge refinement of a prior about a count", 20_000, _refined_count),
    NamedAudit("refinement-delta", "knowledge refinement with delta", 20_000, partial(_refined, delta=Fraction(1, 5))),
    NamedAudit(
        "session",
        "two questions of a query session, with its ledger",
        20_000,
        _session,
        weaken=_answers_at_four,
    ),
    NamedAudit(
        "delta-sampling",
        "each row published as it is with probability delta: (0, delta) holds, and rows are raw (LQS10 algorithm 5)",
        20_000,
        _delta_sampling,
    ),
    # Broken: each is refuted within its number of runs.
    NamedAudit(
        "thesis-centroids",
        "noise for one centroid claimed for all of them (SC13 chapter 6)",
        200,
        _thesis_centroids,
        is_broken=True,
        trials=100,
    ),
    NamedAudit(
        "one-sample-twice",
        "two publications from one sample, charged as if each had its own (LQS11 section 2.6)",
        1_000,
        _one_sample_twice,
        is_broken=True,
    ),
    NamedAudit(
        "recoding-on-sample",
        "a recoding chosen on the sample that is published",
        6_000,
        _recoding_on_sample,
        is_broken=True,
    ),
    NamedAudit(
        "best-scheme-visited",
        "the best scheme that a search visited, an unpaid maximum",
        400,
        _best_scheme,
        is_broken=True,
    ),
    NamedAudit("no-sampling", "k-anonymity without sampling (LQS11 proposition 4)", 100, _unsampled, is_broken=True),
    NamedAudit(
        "mondrian", "Mondrian with the ranges of its clusters (LQS10 section 3)", 100, _mondrian, is_broken=True
    ),
    NamedAudit(
        "k-duplication", "every record published k times (LQS10 algorithm 1)", 100, _duplication, is_broken=True
    ),
    NamedAudit(
        "thesis-refinement-delta",
        "knowledge refinement that moves all of delta (SC13 chapter 5, erratum 4)",
        2_000,
        partial(_refined, delta=Fraction(1, 5), moves_all=True),
        is_broken=True,
    ),
    NamedAudit(
        "seeded-generator", "Laplace noise from a generator with one seed for ever", 100, _repeating, is_broken=True
    ),
    NamedAudit(
        "laplace-20-less", "Laplace noise, 20 % too little", 20_000, partial(_noise, "laplace", LESS), is_broken=True
    ),
    NamedAudit(
        "gaussian-20-less", "Gaussian noise, 20 % too little", 50_000, partial(_noise, "gaussian", LESS), is_broken=True
    ),
    NamedAudit(
        "staircase-20-less",
        "staircase noise, 20 % too little",
        20_000,
        partial(_noise, "staircase", LESS),
        is_broken=True,
    ),
    NamedAudit(
        "exponential-20-less",
        "the exponential mechanism for a sensitivity 20 % too small",
        200_000,
        partial(_choice, LESS),
        is_broken=True,
    ),
    NamedAudit(
        "noisy-counts-20-less",
        "noisy counts with noise 20 % too small",
        50_000,
        _counts_with_less_noise,
        is_broken=True,
    ),
)
CATALOGUE: Mapping[str, NamedAudit] = {entry.name: entry for entry in ENTRIES}


def find_audit(name: str) -> NamedAudit:
    """The entry of this name.

    Raises     UsageError where there is none.
    """
    if name not in CATALOGUE:
        raise UsageError("no such audit", came=name, allowed=", ".join(CATALOGUE), fix="see `shoal audit --list`")
    return CATALOGUE[name]
