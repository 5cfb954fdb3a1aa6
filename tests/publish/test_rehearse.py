"""Rehearsals: the numbers are those of the plan on its simulated tables, intervals are right, and nothing is charged."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shoal.chance.source import Source
from shoal.datasets.simulate import simulate
from shoal.errors import DomainError, ParameterError
from shoal.ledger import ledger as ledgers
from shoal.publish.rehearse import Proportion, Spread, rehearse
from tests.engine.oracle import OracleEngine
from tests.publish import clinic
from tests.publish.made import KINDS, planned

FEW = {"rows": 3000, "runs": 3}


@pytest.fixture(scope="module")
def found():
    return rehearse(planned(), **FEW)


@pytest.mark.slow
def test_the_numbers_are_those_of_the_plan_run_by_hand(found):
    made, results, wholes, originals = planned(), [], [], []
    for number in range(3):
        source = Source.seeded(f"rehearsal 0 {number}")
        table = OracleEngine().scan(simulate(made.schema, 3000, source.stream("stand-in")), made.schema)
        recoding = made.method.settle(table, source.stream("settle"))
        cells = made.method.run(table, recoding, source.stream("release")).collect(["age", "place"])
        results.append(cells)
        wholes.append(recoding.apply(table).collect(["age", "place"]))
        originals.append(table.collect(["age", "place"]))
    rows = [len(cells["age"]) for cells in results]
    one = found.expected[0]
    assert (one.published.mean, one.published.least, one.published.most) == (np.mean(rows), min(rows), max(rows))
    assert one.sampled == Spread(600, 600, 600)
    assert one.kept.mean == pytest.approx(np.mean(rows) / 600)
    groups = [len(set(zip(cells["age"].tolist(), cells["place"].tolist(), strict=True))) for cells in results]
    assert one.groups.mean == np.mean(groups)
    age, place = one.attributes
    by_hand = [
        [_detail(cells[name], whole[name], values[name]) for name in ("age", "place")]
        for cells, whole, values in zip(results, wholes, originals, strict=True)
    ]
    assert age.detail.mean == pytest.approx(np.mean([own[0] for own in by_hand]))
    assert place.detail.mean == pytest.approx(np.mean([own[1] for own in by_hand]))
    assert one.granularity.mean == pytest.approx(np.mean(by_hand))
    assert 0 < age.distance.mean < 1


def _detail(shown, labels, values):
    """Pairs of people: how often the label of a sampled one rules out the value of another, over how often values differ."""

    def share(cells):
        return {cell: count / len(cells) for cell, count in Counter(cells.tolist()).items()}

    of_label, of_value = share(labels), share(values)
    ruled_out = sum(1 - of_label[cell] for cell in shown.tolist())
    return min(1, ruled_out / (max(600, len(shown)) * (1 - sum(p**2 for p in of_value.values()))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_plan_can_be_rehearsed(kind):
    one = rehearse(planned(kind), rows=2000, runs=2).expected[0]
    assert 0 <= one.published.least <= one.published.mean <= one.published.most <= one.rows
    assert 0 <= one.granularity.mean <= one.kept.mean <= 1
    part = one.taking_part.mean
    assert part < 2000 if kind == "person" else part == 2000
    rate = 1 if kind == "sample" else float(planned(kind).promise.beta)
    assert one.sampled.mean == pytest.approx(part * rate)


@pytest.mark.slow
def test_a_seed_repeats_another_does_not_and_engines_agree(found):
    assert rehearse(planned(), **FEW) == found
    assert rehearse(planned(), **FEW, engine=OracleEngine()) == found
    assert rehearse(planned(), **FEW, seed=1) != found


@pytest.mark.slow
def test_more_rows_publish_more():
    small, large = rehearse(planned(), rows=[500, 5000], runs=3).expected
    assert (small.rows, large.rows) == (500, 5000)
    assert small.kept.mean < large.kept.mean


@pytest.mark.slow
def test_an_empty_release_is_counted():
    found = rehearse(planned(), rows=[20, 3000], runs=4)
    empty, full = found.expected
    assert empty.empty == Proportion.of(4, 4)
    assert empty.empty.low > 0.3
    assert full.empty.count == 0
    assert empty.published == empty.granularity == Spread(0, 0, 0)
    assert {part.detail for part in empty.attributes} == {Spread(0, 0, 0)}
    assert [part.nothing for part in empty.attributes] == [4, 4]
    assert any("At 20 rows" in words and "say nothing, all" in words for words in found.words())
    assert any("published nothing (at 20 rows)" in words for words in found.words())


@pytest.mark.slow
def test_marginals_are_used_and_named():
    known = {"place": {"north": 1}, "age": [[30, 39, 1]]}
    found = rehearse(planned(), **FEW, marginals=known)
    assert found.expected[0].groups.most == 1
    assert found.expected[0].kept.mean > 0.9
    assert all(part.public for part in found.expected[0].attributes)
    assert "The shares of age, place are those you gave." in found.words()[0]
    with pytest.raises(DomainError):
        rehearse(planned(), marginals={"place": {"west": 1}})


@pytest.mark.slow
def test_it_is_plain_json_with_a_version(found):
    fields = found.to_json()
    assert json.loads(json.dumps(fields, allow_nan=False)) == json.loads(json.dumps(fields))
    assert (fields["version"], fields["charged"], fields["data_read"]) == (1, False, False)
    assert fields["plan"] == planned().lock.sha256
    one = fields["expected"][0]
    assert set(one["published"]) == {"mean", "least", "most"}
    assert set(one["empty"]) == {"count", "runs", "share", "low", "high"}
    assert [part["name"] for part in one["attributes"]] == ["age", "place"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.runs = 7


def test_no_ledger_is_opened(monkeypatch):
    def opened(*_, **__):
        raise AssertionError("a rehearsal charges nothing")

    monkeypatch.setattr(ledgers.Ledger, "__init__", opened)
    rehearse(planned(), rows=500, runs=2)


def test_it_says_when_a_plan_has_several_releases():
    assert "one of the 3 releases" in rehearse(planned("repeat"), rows=500, runs=2).words()[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0}, {"rows": []}, {"rows": [10, -1]}, {"rows": [10, 10]}, {"rows": [1.5]}, {"rows": 10**9},
        {"runs": 1}, {"runs": 2.0}, {"runs": 10**6}, {"seed": -1}, {"seed": "x"}, {"skew": -1}, {"dependence": 2},
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError):
        rehearse(planned(), **{"rows": 100, "runs": 2, **wrong})


@pytest.mark.slow
@given(st.integers(1, 40).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs))))
def test_the_interval_of_a_chance_is_that_of_clopper_and_pearson(drawn):
    count, runs = drawn
    exact = stats.binomtest(count, runs).proportion_ci(0.95, "exact")
    found = Proportion.of(count, runs)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert found.low <= found.share <= found.high


@pytest.mark.parametrize("runs", [2, 5, 9])
@pytest.mark.parametrize("law", [(0.5, 0.5), (0.05, 0.15, 0.8), (0.2,) * 5, (0.9, 0.1)])
def test_one_more_run_lies_between_the_least_and_the_most_as_often_as_it_says(runs, law):
    """Exactly, for runs of any law over whole numbers; a claim of 1 - 1/(n + 1) is refuted by the finest law."""
    below, through = np.cumsum([0, *law[:-1]]), np.cumsum(law)
    # all runs are below a new one, or all are above it
    outside = sum(p * ((b**runs) + ((1 - t) ** runs)) for p, b, t in zip(law, below, through, strict=True))
    assert 1 - outside >= (runs - 1) / (runs + 1) - 1e-12
    fine = np.full(10_000, 1e-4)
    places = np.arange(10_000) / 10_000
    assert 1 - 2 * float(fine @ places**runs) < 1 - 1 / (runs + 1)


@pytest.mark.parametrize("runs", [1, 2, 7, 40])
def test_the_interval_of_a_chance_covers_it_and_a_smaller_one_does_not(runs):
    found = [Proportion.of(count, runs) for count in range(runs + 1)]
    truths = np.linspace(0.001, 0.999, 333)
    masses = np.array([stats.binom.pmf(np.arange(runs + 1), runs, truth) for truth in truths])
    held = np.array([[one.low <= truth <= one.high for one in found] for truth in truths])
    assert ((masses * held).sum(axis=1) >= 0.95 - 1e-12).all()
    tight = np.array([[one.share - 0.7 * (one.share - one.low) <= truth <= one.share + 0.7 * (one.high - one.share)
                       for one in found] for truth in truths])  # fmt: skip
    assert ((masses * tight).sum(axis=1) < 0.95).any()


@pytest.mark.slow
def test_views_are_rehearsed_together():
    made = clinic.planned({"release.views": "pairs", "release.delta": "1e-4"})
    found = rehearse(made, rows=3000, runs=2)
    (expected,) = found.expected
    assert found.views == 3
    assert [part.name for part in expected.attributes] == ["age", "sex", "diag"]
    assert expected.sampled.mean == pytest.approx(3 * 3000 * float(made.promise.beta))
    assert 0 < expected.published.mean <= expected.sampled.most * 1.2
    assert any("all 3 views" in words for words in found.words())


@pytest.mark.slow
def test_simulated_tables_are_treated_first():
    steps = [{"top": {"age": 30}}]
    levels = {"release.recoding": {"levels": {"age": 1}}}
    plain = rehearse(clinic.planned(levels), rows=2000, runs=2)
    treated = rehearse(clinic.planned({**levels, "treatments": steps}), rows=2000, runs=2)
    assert treated.treatments == 1
    assert "treated first" in treated.words()[0]
    assert "treated first" not in plain.words()[0]
    assert treated.expected[0].groups.mean < plain.expected[0].groups.mean, "no age above 30 is left"
