"""Groups, bounds, arithmetic, ratios and intervals at any level, asked in real sessions."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.errors import LedgerError, ParameterError, UsageError
from shoal.policy.policy import Policy
from shoal.query.answer import Answer
from shoal.query.price import Outcome, offer
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Ratio, Sum, Variance
from shoal.query.questions.quantile import Bounds, Quantile
from shoal.query.questions.tables import Histogram
from shoal.query.questions.workload import Workload, read_question
from tests.query.asking import SURE, opened, rich, table
from tests.statistical.fit import least_hits

ROWS = table()
WOMEN = ROWS[ROWS.sex == "f"]


def sure(asking, question):
    """The answer without noise, by a large epsilon."""
    return asking.ask(question, SURE, delta=0)


def test_every_group_has_its_own_answer(tmp_path):
    with opened(tmp_path, rich()) as asking:
        counts = sure(asking, Count(by="sex")).value
        assert counts == {"attributes": {"sex": ["f", "m"]}, "counts": [100, 100]}
        means = sure(asking, Mean("age", by=["sex"]))
        assert means.value["values"] == pytest.approx([WOMEN.age.mean(), ROWS[ROWS.sex == "m"].age.mean()], abs=0.6)
        assert means.value["usable"] == [True, True]
        rows = means.estimates("0.99")
        assert [each.labels for each in rows] == [(("sex", "f"),), (("sex", "m"),)]
        assert all(each.all_low <= each.low <= each.value <= each.high <= each.all_high for each in rows)
        assert rows[0].noisy["count"] == pytest.approx(100, abs=3)
        total = sure(asking, Sum("age / 12 + 1", by={"attribute": "age", "bins": 2})).value
        old = ROWS.age >= 50
        assert total["values"] == pytest.approx(
            [(ROWS.age / 12 + 1)[~old].sum(), (ROWS.age / 12 + 1)[old].sum()], rel=0.01
        )
        empty = sure(asking, Mean("age", "age < 50", by="age@2"))
        assert empty.value["usable"] == [True, False]
        middle = sure(asking, Quantile("age", "0.5", by="sex"))
        assert middle.value["values"] == pytest.approx([49, 50], abs=3)
        assert len(middle.estimates()) == 2


def test_the_second_answer_is_on_record_with_its_intervals_at_any_level(tmp_path):
    questions = [Mean("age", by=["sex"]), Variance("age"), Histogram("sex"), Ratio("age"), Quantile("age", ".5")]
    questions += [Bounds("age"), Workload([Count(), Sum("age", by="sex")])]
    with opened(tmp_path, rich()) as asking:
        first = [asking.ask(question, 2) for question in questions]
    with opened(tmp_path, rich()) as asking:
        for question, one in zip(questions, first, strict=True):
            again = asking.ask(question, 2)
            assert again.free
            assert again.value == one.value
            for level in ("0.5", "0.95", "0.999"):
                assert again.estimates(level) == one.estimates(level)
            narrow, wide = one.estimates("0.5"), one.estimates("0.95")
            for a, b in zip(narrow, wide, strict=True):
                assert a.low is None or (b.low <= a.low and a.high <= b.high)
            assert asking.claim(again).guarantee is not None
        quantile = first[4]
        assert quantile.estimates("0.9")[0].low == quantile.errors[-1].low
        assert quantile.estimates("0.99")[0].low is None  # the ends were drawn for 95 %
        with pytest.raises(ParameterError, match="a confidence is out of range"):
            quantile.estimates(1)
        with pytest.raises(UsageError, match="without its session"):
            replace(quantile, offer=None).estimates()


def test_a_record_of_version_2_reads_on(tmp_path):
    with opened(tmp_path, rich()) as asking:
        made = asking.ask(Mean("age"), 2)
        saved = json.loads(made.content())
        saved["version"] = 2
        del saved["noisy"]
        old = replace(Answer.from_content(json.dumps(saved).encode(), 1), offer=made.offer)
        assert old.noisy is None
        assert (old.estimates()[0].low, old.estimates()[0].high) == (made.errors[-1].low, made.errors[-1].high)
        assert old.estimates("0.99")[0].low is None
    for spoilt in (
        {"noisy": ["1"]},
        {"value": {"attributes": {"sex": ["f"]}, "values": [1, 2]}},
        {"value": {"low": []}},
    ):
        with pytest.raises(LedgerError, match="cannot be read"):
            Answer.from_content(json.dumps({**saved, **spoilt}).encode(), 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Mean("age", bounds=(0, 99)), Mean("age")),
        (Mean("age", bounds=(0, 1000)), Mean("age")),
        (Mean("age", bounds=(None, "5e1")), Mean("age", bounds={"low": 0, "high": 50})),
        (Mean("age", "age < 50", bounds=(0, 60)), Mean("age", "age@2 = '[0, 50)'")),
        (Sum("age + age"), Sum("2 * age")),
        (Sum("(age)"), Sum("age")),
        (Count(by="sex,age@2"), Count(by=["sex", {"attribute": "age", "level": 2}])),
        (Count(by=[{"attribute": "age", "bins": 2}]), Count(by=[{"attribute": "age", "edges": [0, 50, 99]}])),
        (Ratio(Count("sex = 'f'"), where="age > 5"), Ratio(Count("sex = 'f' and age >= 6"), Count("age > 5"))),
        (Ratio("age"), Ratio({"sum": "age"}, {"count": "everything"})),
        (Quantile("age", ".5", interval="no"), read_question({"kind": "quantile", "attribute": "age", "q": "1/2"})),
    ],
)
def test_one_meaning_is_one_question(tmp_path, one, other):
    with opened(tmp_path) as asking:
        schema = asking.dataset.schema
    assert one.canonical(schema) == other.canonical(schema)
    assert read_question(json.loads(one.canonical(schema))).canonical(schema) == one.canonical(schema)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mean("age", bounds=(60, 50)), "leave nothing of its values"),
        (lambda: Mean("age", bounds=(200, 300)), "leave nothing of its values"),
        (lambda: Mean("age", "age > 60", bounds=(0, 50)), "leave nothing of its values"),
        (lambda: Mean("age", bounds="x"), "'bounds' are not two ends"),
        (lambda: Mean("age", bounds=("a", "b")), "a bound is not a number"),
        (lambda: Mean("age", by=[]), "'by' is not a list"),
        (lambda: Mean("age", by=["sex", "sex"]), "names an attribute twice"),
        (lambda: Mean("age", by="note"), "cannot be listed|no declared domain"),
        (lambda: Mean("age / (age - 5)"), "a division by what may be 0"),
        (lambda: Mean("diag + 1"), "wrong type for arithmetic"),
        (lambda: Ratio("age", "age - 50"), "divisor can be negative"),
        (lambda: Ratio(Mean("age")), "neither a sum nor a count"),
        (lambda: Ratio(Count(by="sex")), "neither a sum nor a count"),
        (lambda: Count(by={"attribute": "age", "bins": 0}), "number of bins out of range"),
        (lambda: Histogram("age", bounds=(0, 5)), "beside `bins`"),
        (lambda: Quantile("age", ".5", interval="maybe"), "not true or false"),
        (lambda: Bounds("diag"), "wrong type"),
        (lambda: Bounds("age", 2), "not between 0 and 1"),
        (lambda: Workload([Bounds("age")]), "cannot be part of a workload"),
        (lambda: Histogram("age / 2"), "no attribute of that name"),
    ],
)
def test_what_has_no_meaning_is_refused_and_costs_nothing(tmp_path, make, words):
    with opened(tmp_path) as asking:
        with pytest.raises((UsageError, ParameterError), match=words):
            asking.ask(make(), "0.1")
        assert asking.spent.epsilon == 0


# --- coverage -----------------------------------------------------------------------------------------------------------

VISITS = Policy.of(
    {
        "version": 1,
        "dataset": "d",
        "unit": "row",
        "neighbours": "replace_one",
        "attributes": {
            "g": {"role": "quasi", "type": "category", "domain": ["a", "b", "c"], "missing": "refuse"},
            "x": {"role": "quasi", "type": "integer", "domain": [0, 1000]},
            "y": {"role": "quasi", "type": "integer", "domain": [0, 50]},
        },
    }
)


def people():
    chance = np.random.default_rng(3)
    x = chance.lognormal(4, 1, 900).clip(0, 1000).astype(int)
    return pd.DataFrame({"g": np.repeat(["a", "b", "c"], [600, 280, 20]), "x": x, "y": chance.integers(0, 51, 900)})


def by_group(frame, statistic):
    return [statistic(frame[frame.g == label]) for label in "abc"]


def covers(row, true):
    """Whether the interval of one group holds its true value; rounding of doubles aside."""
    return (row.low is None or row.low <= true + 1e-9) and (row.high is None or true - 1e-9 <= row.high)


def covers_at_once(row, true):
    """Whether the interval that is stated for all groups together holds the true value of one."""
    return (row.all_low is None or row.all_low <= true + 1e-9) and (row.all_high is None or true - 1e-9 <= row.all_high)


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "delta"), [("laplace", 0), ("gaussian", "1e-5")])
@pytest.mark.parametrize(
    ("question", "truth"),
    [
        (Count("x > 100", by="g"), lambda f: (f.x > 100).sum()),
        (Mean("x", by="g"), lambda f: f.x.mean()),
        (Mean("x", by="g", bounds=(10, 200)), lambda f: f.x.clip(10, 200).mean()),
        (Sum("2 * x - y", "y > 10", by="g"), lambda f: (2 * f.x - f.y)[f.y > 10].sum()),
        (Ratio("x", "y", by="g"), lambda f: f.x.sum() / f.y.sum()),
        (Ratio(Count("x > 100"), by="g"), lambda f: (f.x > 100).mean()),
        (Variance("y", by="g"), lambda f: f.y.var(ddof=0)),
    ],
)
def test_intervals_of_groups_hold_at_every_level(question, truth, mechanism, delta, effort):
    """Each group by itself, and all groups at once; intervals of another level that are stated at this one are caught.

    Of a count or a sum the impostor is that of the level .8, whose coverage it has but for the steps of whole numbers; of what is
    computed from several noisy numbers the interval is wider by design (a union bound), and the impostor is that of the level .3.
    """
    level, draws = 0.95, 1_000 * effort
    plain = question.word in ("count", "sum")
    frame = people()
    made = offer(question.resolve(VISITS.schema, VISITS.unit), 1, delta, mechanism)
    exact = made.query.truth(open_engine("duckdb").scan(frame, VISITS.schema))
    wanted = by_group(frame, truth)
    alone, impostor, at_once = np.zeros(3), np.zeros(3), 0
    with Source.seeded(11) as source:
        for noise in made.noise.noise(source, draws):
            drawn = Outcome(None, (), noisy=tuple((exact + noise).tolist()))
            rows = list(made.estimates(drawn, level))
            alone += [covers(row, true) for row, true in zip(rows, wanted, strict=True)]
            at_once += all(covers_at_once(row, true) for row, true in zip(rows, wanted, strict=True))
            narrow = made.estimates(drawn, 0.8 if plain else 0.3)
            impostor += [covers(row, true) for row, true in zip(narrow, wanted, strict=True)]
    least = least_hits(draws, level)
    assert alone.min() >= least
    assert at_once >= least
    assert impostor.min() < least
    if plain:  # no wider than it says either, but for the steps
        assert draws - alone.max() >= least_hits(draws, 0.03)


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_quantiles_of_groups_hold_their_intervals(epsilon):
    """By the exact law of both ends in each group; ends that are aimed at the quantile itself, and not beyond it, are caught."""
    frame = people()
    made = offer(Quantile("x", "1/2", by="g").resolve(VISITS.schema, VISITS.unit), epsilon)
    runs = made.query.runs(open_engine("duckdb").scan(frame, VISITS.schema))
    wanted = by_group(frame, lambda f: (f.x.quantile(0.5, "lower"), f.x.quantile(0.5, "higher")))

    def coverage(own, medians, *, shifted):
        chance = 1.0
        for target, median in zip(made.query.targets[1:], medians, strict=True):
            shift = made.query.shift(target, made.epsilon) if shifted else 0
            scores, sizes, starts = made.query.scores(own, target, shift)
            ranks = np.concatenate([np.arange(start, start + size) for start, size in zip(starts, sizes, strict=True)])
            law = made.choice(target).probabilities(np.repeat(scores, sizes))
            chance *= law[ranks <= median].sum() if target.side < 0 else law[ranks >= median].sum()
        return chance

    assert min(coverage(own, medians, shifted=True) for own, medians in zip(runs, wanted, strict=True)) >= 0.95
    assert max(coverage(own, medians, shifted=False) for own, medians in zip(runs, wanted, strict=True)) < 0.95


@pytest.mark.slow
def test_the_runs_of_equal_candidates_are_drawn_as_if_they_were_listed():
    """The law of a value that stands for a run is that of the exponential mechanism over the whole list."""
    made = offer(Quantile("y", "1/2", interval=False).resolve(VISITS.schema, VISITS.unit), "0.5")
    frame = pd.DataFrame({"g": ["a"] * 9, "x": [1] * 9, "y": [3] * 4 + [40] * 5})
    scanned = open_engine("duckdb").scan(frame, VISITS.schema)
    from tests.query.ranks import every_score

    chances = made.choice(made.query.targets[0]).probabilities(every_score(made.query, scanned))
    with Source.seeded(2) as source:
        drawn = np.bincount([made.draw(scanned, source).value for _ in range(200)], minlength=51)
    expected = 200 * chances
    tens = np.add.reduceat(drawn, range(0, 51, 10)), np.add.reduceat(expected, range(0, 51, 10))
    assert ((tens[0] - tens[1]) ** 2 / tens[1]).sum() < 30  # chi-squared, 5 degrees: beyond once in 10^5


def test_a_share_of_the_budget_is_a_fraction():
    made = offer(Quantile("y", "1/2").resolve(VISITS.schema, VISITS.unit), "0.3")
    assert [made.choice(each).epsilon for each in made.query.targets] == [
        Fraction(3, 20),
        Fraction(3, 40),
        Fraction(3, 40),
    ]
