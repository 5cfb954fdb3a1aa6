"""What one meets first in Python: paths are taken for policies, wrong types are refused in words, and objects print short."""

from __future__ import annotations

import pandas as pd
import pytest

import shoal
from shoal.errors import UsageError
from tests.publish.clinic import POLICY, write_table

PERSON = "Q77PERSON"
LONGEST = 400
"""Letters that an object may print."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a policy and a table."""
    folder = tmp_path_factory.mktemp("objects")
    (folder / "policy.yaml").write_text(POLICY)
    write_table(folder / "table.csv")
    return folder


@pytest.fixture(scope="module")
def released(place):
    """A release from two paths alone."""
    ledger = place / "ledger.sqlite"
    return shoal.release(str(place / "policy.yaml"), place / "table.csv", place / "out", ledger=ledger, new_ledger=True)


@pytest.mark.slow
def test_a_policy_file_is_planned_by_its_path(place):
    by_path, by_text = shoal.plan(place / "policy.yaml"), shoal.plan(str(place / "policy.yaml"))
    assert by_path.lock == by_text.lock == shoal.plan(shoal.Policy.load(place / "policy.yaml")).lock
    assert shoal.rehearse(place / "policy.yaml", rows=300, runs=2).dataset == "clinic"


@pytest.mark.slow
def test_a_release_takes_paths(released):
    assert released.rows_published > 0
    assert len(shoal.verify(released.folder)) > 20


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: shoal.plan(42), "a Policy, or the path of a policy file"),
        (lambda: shoal.plan({"dataset": "x"}), "got dict"),
        (lambda: shoal.release(None, "table.csv", "out"), "neither a plan nor a policy"),
        (lambda: shoal.rehearse(3.5), "neither a plan nor a policy"),
        (lambda: shoal.plan("no-such-policy.yaml"), "the policy cannot be read"),
    ],
)
def test_wrong_types_are_refused_in_words(call, words):
    with pytest.raises(UsageError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (shoal.load, "a release is named by its path; got int"),
        (shoal.verify, "a release is named by its path; got int"),
        (shoal.Policy.load, "a policy file is named by its path; got int"),
        (shoal.Policy.parse, "a policy is parsed from its text; got int"),
    ],
)
def test_numbers_are_no_paths(call, words):
    with pytest.raises(UsageError, match=words):
        call(3)


def test_the_folder_and_the_ledger_are_paths(place):
    with pytest.raises(UsageError, match="a folder to be written to"):
        shoal.release(place / "policy.yaml", place / "table.csv", 3)
    with pytest.raises(UsageError, match="named by a path or a URL"):
        shoal.release(place / "policy.yaml", place / "table.csv", place / "two", ledger=3)


@pytest.mark.slow
def test_a_ledger_and_a_repeat_have_to_be_meant(place, released):
    assert released.new_ledger
    with pytest.raises(shoal.ShoalError, match="there is no ledger here"):
        shoal.release(place / "policy.yaml", place / "table.csv", place / "two", ledger=place / "lodger.sqlite")
    with pytest.raises(shoal.ShoalError, match="this very release was charged before"):
        shoal.release(place / "policy.yaml", place / "table.csv", place / "two", ledger=place / "ledger.sqlite")


@pytest.mark.slow
def test_objects_print_short_and_without_records(place, released):
    policy = shoal.Policy.load(place / "policy.yaml")
    plan = shoal.plan(policy)
    counted = shoal.plan(policy.with_changes({"release": {"method": "microaggregation", "k": 5}}))
    loaded = shoal.load(released.folder)
    frame = pd.DataFrame({"patient": [PERSON] * 50, "age": 30, "sex": "f", "diag": "flu"})
    other = policy.with_changes({"dataset": "other"})
    with shoal.session(other, frame, ledger=str(place / "second.sqlite"), new_ledger=True) as asking:
        question = shoal.Count("age >= 50")
        answers = [asking.ask(question, "0.1"), asking.ask(shoal.Histogram("age", level=1), "0.1")]
        objects = [
            asking, asking.dataset, asking.price(question, "0.1"), *answers, question, shoal.Mean("age"), shoal.Sum("age"),
            shoal.Variance("age"), shoal.Quantile("age", "0.5"), shoal.Histogram("age"),
            shoal.Contingency(["age", "sex"]), shoal.Workload([question, shoal.Mean("age")]),
            shoal.ValueOf(PERSON[:3], "age"),
        ]  # fmt: skip
        shown = [repr(each) for each in objects]
    objects = [
        policy, policy.schema, policy.schema["age"], policy.schema["age"].hierarchy, plan, plan.lock, plan.method, counted,
        released, *released.claims, loaded, loaded.published(), loaded.count({"sex": "f"}), loaded.marginal("age", "sex"),
        loaded.consistent(), loaded.synthetic(20), shoal.verify(released.folder),
        shoal.rehearse(plan, rows=[300, 400], runs=2), shoal.PureDP(1), shoal.ApproxDP(1, "1e-6"), shoal.GaussianDP(1),
        shoal.LaplaceDP(1), shoal.NoisyTablesDP([(3, 9)]), shoal.ExponentialDP(1), shoal.ConcentratedDP(".1"),
        shoal.SafeKSampling(20, "0.1"), shoal.Unit.row("add_remove"), shoal.Status.PROVED,
        shoal.solve(epsilon=1, delta=1e-6, beta=0.2), shoal.compose([(shoal.PureDP("0.1"), 3)], 1e-6),
        shoal.amplify(epsilon=1, delta=0, rate=0.1), shoal.check(frame, policy),
    ]  # fmt: skip
    shown += [repr(each) for each in objects]
    assert [text for text in shown if len(text) > LONGEST or text.count("\n") > 3] == []
    assert not any(PERSON in text for text in shown)
    assert "600" not in repr(released)  # the size of the original is the holder's


@pytest.mark.slow
def test_a_plan_has_a_page(place):
    from tests.publish.reading import Page

    policy = shoal.Policy.load(place / "policy.yaml")
    for changes, words in [
        ({}, "The whole curve"),
        ({"release.views": "pairs"}, "age × sex"),
        ({"release.repeat": 2}, "2 tables are published, each from its own fresh sample"),
        ({"release": {"method": "microaggregation", "k": 5}}, "no differential privacy"),
    ]:
        page = Page(shoal.plan(policy.with_changes(changes) if changes else policy).page())
        assert page.faults == []
        assert words in page.text
        assert "clinic" in page.text
