"""The verbs of a release: groups are conditions, estimates are those of the estimators, and what cannot be is refused."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.assess.release import answer
from shoal.assess.release.answers import mean as means
from shoal.assess.release.answers.verbs import ESTIMATORS, NOBODY
from shoal.assess.release.load import load
from shoal.datasets.visits import write_policy, write_visits
from shoal.errors import ParameterError, UsageError
from shoal.language.interface import LEVEL
from tests.assess.release.released import add_counts, cuts, keep, write_release

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    folder = tmp_path_factory.mktemp("received")
    shown = {"show": "counts", "workload": [["age", "sex"], ["stay", "age"], ["income", "sex"], ["visit"]]}
    changes = {
        "release.recoding": None,
        "release.total": None,
        "release.sampling": None,
        "release.views": shown,
        "release.epsilon": "3",
    }
    policy = shoal.Policy.load(write_policy(folder)).with_changes({**changes, "budget": None})
    data = write_visits(folder / "visits.csv", 3_000, seed=3)
    shoal.release(policy, data, folder / "visits", ledger=folder / "ledger.sqlite", new_ledger=True, report=False)
    return shoal.load(folder / "visits", verify=False, frames="arrow")


def test_one_value_is_the_estimate_of_its_estimator(received):
    where = {"age": (40, None)}
    for found, known in (
        (received.count(where), answer.count(received, where, LEVEL)),
        (received.share(where), answer.share(received, where, LEVEL)),
        (received.mean("stay", where), means.mean(received, "stay", where, LEVEL)),
        (received.sum("stay", where, level=0.8), means.sum_of(received, "stay", where, 0.8)),
        (received.total(), answer.total(received, LEVEL)),
    ):
        assert (found.value, found.low, found.high) == (known.value, known.low, known.high)
        assert found.method == known.method
        assert (found.epsilon, found.delta, found.free) == (0, 0, True)
        assert found.source == known.view
    assert received.sum("stay", level=0.8).level == 0.8
    assert received.mean("stay", bounds=(0, 30)).scope[1] == "values of 'stay' outside 0..30 count as the nearest end"


def test_each_group_is_a_condition(received):
    found = received.count("age >= 20", by=["sex", {"attribute": "age", "edges": [30, 60]}])
    assert found.by == ("sex", "age")
    middle = received.count("age >= 30 and age < 60 and sex = 'female'")
    assert (found["female", "[30, 60)"].value, found["female", "[30, 60)"].high) == (middle.value, middle.high)
    labels = received.known_schema["age"].hierarchy.labels(4)
    by_level = received.mean("stay", by="age@4")
    assert [row.labels[0] for row in by_level] == [*labels, "(missing)"]
    first = received.mean("stay", f"age@4 = '{labels[0]}'")
    assert (by_level[labels[0]].value, by_level[labels[0]].low) == (first.value, first.low)


def test_histogram_table_and_count_by_are_one(received):
    assert received.histogram("age@4").rows == received.count(by="age@4").rows
    assert received.table("sex", "age@4").rows == received.count(by=["sex", "age@4"]).rows
    assert len(received.histogram("sex", values=["male"])) == 3  # male, all others, missing
    assert received.histogram("sex", values=["male"])["(other)"].value == pytest.approx(
        sum(received.count(by="sex")[name].value for name in ("female", "other")), abs=60
    )


def test_dates_come_as_dates_and_frames_as_asked_for(received):
    assert received.quantile("visit", 1).high == str(received.known_schema["visit"].domain.high)
    assert received.quantile("stay", 1).high == 365
    found = received.quantile("visit", "0.5")
    assert found.low <= found.value <= found.high
    assert found.value[:3] == "202"
    assert received.mean("income", by="sex").frame.column_names == ["sex", "value", "low", "high", "note"]


def test_a_ratio_whose_divisor_can_be_negative_is_refused_and_one_of_nobody_has_no_value(tmp_path):
    change, sex = cuts("change", [0, 50], -100, 99), keep("sex", ["f", "m"])
    shown = np.array([[300, 0], [0, 300], [0, 0]])
    loaded = load(write_release(tmp_path / "r", {"v": ([change, sex], shown)}))
    with pytest.raises(UsageError, match="a ratio whose divisor can be negative; got change, from -100 up"):
        loaded.ratio("change", "change")
    women = loaded.ratio("change", {"sex": "f"})
    assert women.low <= -100 <= women.value <= -1 <= women.high
    nobody = loaded.ratio("change", {"change": (50, None)})
    assert (nobody.value, nobody.low, nobody.high) == (None, float("-inf"), float("inf"))


def test_means_of_noisy_counts_are_not_pulled_to_where_nobody_is(tmp_path):
    rng = np.random.default_rng(7)
    stays = np.zeros(366, dtype=int)
    stays[:8] = 1000  # all others are empty, and half of their noise is above 0
    truth, sigma, off = 3.5, 4, []
    for run in range(12):
        shown = np.rint(stays + sigma * rng.standard_normal(366)).astype(int)
        rule = cuts("stay", range(1, 366), 0, 365)
        off.append(load(add_counts(tmp_path / f"{run}", {"s": ([rule], shown)}, str(sigma))).mean("stay").value - truth)
    clipped = (np.arange(366) @ np.maximum(shown, 0)) / np.maximum(shown, 0).sum() - truth
    assert clipped > 8
    assert abs(np.mean(off)) < clipped / 2


def test_bounds_that_leave_nothing_are_refused_as_in_a_session(received):
    with pytest.raises(ParameterError, match="the bounds of 'stay' leave nothing of its values; got 400, 500"):
        received.mean("stay", bounds=(400, 500))
    for ask in (
        received.mean,
        received.sum,
        received.variance,
    ):  # no value lies beyond the domain, so these bounds say nothing
        assert ask("stay", bounds=(-1000, 100_000)) == ask("stay")
    half = received.sum("stay", bounds=(-1000, 30))
    assert half.rows == received.sum("stay", bounds=(0, 30)).rows
    assert half.low >= 0
    assert "outside 0..30" in half.words()


def test_plain_values_name_levels_as_a_session_does_and_labels_as_the_tables_do(received):
    first, *_ = received.known_schema["age"].hierarchy.labels(4)
    by_text, by_value = received.count(f"age@4 = '{first}'"), received.count({"age@4": first})
    assert (by_text.value, by_text.low, by_text.question) == (by_value.value, by_value.low, by_value.question)
    both = received.count({"age@4": first, "age": (10, None)})
    assert both.value == received.count(f"age@4 = '{first}' and age >= 10").value
    for wrong, said in (
        ({"age@9": first}, "no such level"),
        ({"agee": 3}, "got agee; did you mean 'age'"),
        ({"sex": "femal"}, "got femal; did you mean 'female'"),
        ({"age": 500}, "neither a declared value nor a label; got 500; allowed"),
    ):
        with pytest.raises(UsageError, match=said):
            received.count(wrong)


def test_a_label_that_only_a_tree_has_names_its_values(tmp_path):
    policy = shoal.Policy.load(write_policy(tmp_path))
    data = write_visits(tmp_path / "visits.csv", 6_000, seed=3)
    shoal.release(policy, data, tmp_path / "r", ledger=tmp_path / "l.sqlite", new_ledger=True, report=False)
    loaded = shoal.load(tmp_path / "r", verify=False)
    for name in ("region", "department", "insurance", "diagnosis"):
        for label in loaded.meanings(name)[0].labels:
            found = loaded.count({name: label.text})
            assert found.low <= found.value <= found.high


def test_ratios_of_sums_counts_and_conditions(received):
    days = received.ratio("stay", "age")
    assert days.low <= days.value <= days.high
    assert received.ratio("sex = 'female'").value == received.share({"sex": "female"}).value
    per_person = received.ratio("stay", "age >= 0")
    assert per_person.low <= received.mean("stay").value <= per_person.high
    assert received.ratio("age >= 60", "age >= 30").value < 1


def test_a_group_that_nothing_is_published_of_has_no_mean(tmp_path):
    from tests.assess.release.released import cuts, keep, write_release

    counts = np.array([[40, 0], [60, 0]])
    rules = [cuts("age", [50], 0, 99), keep("sex", ["f", "m"])]
    loaded = shoal.load(write_release(tmp_path / "r", {"age-sex": (rules, counts)}), verify=False)
    found = loaded.mean("age", {"sex": "m"})
    assert (found.value, found.note) == (None, NOBODY)
    assert found.low < found.high


@pytest.mark.parametrize(
    ("ask", "wrong"),
    [
        (lambda one: one.mean("incom"), "arithmetic on columns is for sessions; got incom; did you mean 'income'"),
        (lambda one: one.mean("income / 12"), "arithmetic on columns is for sessions"),
        (lambda one: one.mean(3), "named by a text"),
        (lambda one: one.mean("sex"), "is no number"),
        (lambda one: one.count(by="income"), "values cannot be listed"),
        (lambda one: one.count(by=["sex", "sex@1"]), "twice"),
        (lambda one: one.count(by=[]), "'by' is not a list of attributes"),
        (lambda one: one.table(), "at least one attribute"),
        (lambda one: one.table("age", "stay"), "too many groups; got 40,992|too many groups"),
        (lambda one: one.sum("stay", bounds=(3,)), "bounds are two numbers"),
        (lambda one: one.quantile("stay", bounds=(0, 3)), "takes no bounds"),
    ],
)
def test_what_a_release_cannot_answer_is_refused(received, ask, wrong):
    with pytest.raises(UsageError, match=wrong):
        ask(received)


def test_levels_and_bounds_that_are_none_are_refused(received):
    with pytest.raises(ParameterError, match="level of an interval"):
        received.count(level=1)
    with pytest.raises(ParameterError, match="not in increasing order"):
        received.mean("stay", bounds=(9, 3))


def test_every_kind_of_question_has_an_estimator():
    assert {"count", "sum", "mean", "variance", "quantile", "ratio"} <= set(ESTIMATORS)
