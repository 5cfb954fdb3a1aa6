"""Anatomy: shares of at most 1/l in every group, linked tables that agree, groups of neighbours, and what is refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.method import anatomy
from shoal.anonymize.method.anatomy import Anatomy
from shoal.chance.source import Source
from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.claim import Status
from shoal.guarantee.syntactic import KAnonymousRelation, LDiversity, ProbabilisticK
from shoal.guarantee.unit import Unit
from tests.anonymize.method.people import opened, rows, schema
from tests.anonymize.method.test_microaggregation import listed
from tests.anonymize.method.test_t_closeness import second_opinion

ROW = Unit.row("add_remove")
GRADE = {"pay": "other"}
PAY = {"grade": "other"}


def run(frame, method, name="duckdb", seed=1, **roles):
    with Source.seeded(seed) as source:
        return method.run(opened(frame, name, **roles), source)


def entries(made, name):
    """The confidential entries of each group, from the published table of groups."""
    found = defaultdict(Counter)
    for group, value, count in listed(made.confidential, made.group_column, name, made.count_column):
        found[group][value] += count
    return found


@pytest.mark.slow
def test_the_tables_agree_and_no_value_has_more_than_its_share():
    frame = rows(200, gaps=0.1)
    for k in (None, 9):
        made = run(frame, Anatomy(3, k, ROW), **GRADE)
        found = entries(made, "grade")
        assert all(max(own.values()) * 3 <= sum(own.values()) for own in found.values())
        assert min(sum(own.values()) for own in found.values()) >= (k or 3)
        groups = [group for (group,) in listed(made.records, "group")]
        grades = [grade for (grade,) in listed(opened(frame), "grade")]
        assert {group: Counter(own) for group, own in found.items()} == {
            group: Counter(grade for own, grade in zip(groups, grades, strict=True) if own == group)
            for group in set(groups)
        }
        assert "grade" not in made.records.columns
        seen = second_opinion(made.records, grades)
        assert seen.k >= (k or 3)
        assert seen.confidential[0].measures.alpha <= 1 / 3


@pytest.mark.slow
def test_groups_of_neighbouring_values_are_runs():
    frame = rows(101, gaps=0)
    made = run(frame, Anatomy(None, 10, ROW, "confidential"), **PAY)
    pays = np.array([pay for (pay,) in listed(opened(frame), "pay")])
    ends = sorted((pays[made.groups == one].min(), pays[made.groups == one].max()) for one in range(10))
    assert all(high <= low for (_, high), (low, _) in pairwise(ends))
    assert sorted(np.bincount(made.groups).tolist()) == [10] * 9 + [11]


@pytest.mark.slow
def test_groups_of_neighbouring_values_can_be_diverse():
    frame = rows(120, gaps=0)
    tens = pa.array(np.round(frame["pay"].to_numpy(), -1))
    made = run(frame.set_column(4, "pay", tens), Anatomy(2, 5, ROW, "confidential"), **PAY)
    assert all(max(own.values()) * 2 <= sum(own.values()) for own in entries(made, "pay").values())


@pytest.mark.slow
def test_several_attributes_are_neighbours_together():
    made = run(rows(60, gaps=0), Anatomy(None, 6, ROW, "confidential"))
    assert np.bincount(made.groups).min() >= 6
    assert made.confidential.columns == ("group", "pay", "grade", "count")


@pytest.mark.slow
def test_the_permuted_form_shows_values_that_changed_places():
    frame = rows(90, gaps=0)
    made = run(frame, Anatomy(2, None, ROW, form="permuted"), **GRADE)
    assert made.permuted is not None
    shown = [grade for (grade,) in listed(made.permuted, "grade")]
    assert {(int(group) + 1, grade) for group, grade in zip(made.groups, shown, strict=True)} == {
        (group, grade) for group, own in entries(made, "grade").items() for grade in own
    }


@pytest.mark.slow
def test_engines_agree_under_one_key():
    frame = rows(80, gaps=0)
    one, other = (run(frame, Anatomy(2, 7, ROW), name, **GRADE) for name in ("duckdb", "oracle"))
    assert listed(one.records, *one.records.columns) == listed(other.records, *other.records.columns)


# --- claims and refusals ---------------------------------------------------------------------------------------------------


def test_claims():
    relation, diverse = Anatomy(3, None, ROW).claims(schema(**GRADE))
    assert (relation.guarantee, relation.status) == (KAnonymousRelation(3), Status.CHECKED)
    assert (diverse.guarantee, diverse.status) == (LDiversity(3, "frequency"), Status.CHECKED)
    (only,) = Anatomy(None, 8, ROW, "confidential").claims(schema())
    assert only.guarantee == KAnonymousRelation(8)
    first, *_ = Anatomy(3, 5, ROW, form="permuted").claims(schema(**GRADE))
    assert (first.guarantee, first.status) == (ProbabilisticK(5), Status.CONDITION)
    assert Anatomy(3, None, ROW).rules(schema())["grade"] == "as it is, in the table of groups"


@pytest.mark.parametrize(
    ("made", "error", "words"),
    [
        (lambda: Anatomy(None, 5, ROW), ParameterError, "without an l"),
        (lambda: Anatomy(3, None, ROW, "confidential"), ParameterError, "without a k"),
        (lambda: Anatomy(1, None, ROW), ParameterError, "l"),
        (lambda: Anatomy(2, None, ROW, "near"), UsageError, "random, confidential"),
        (lambda: Anatomy(2, None, ROW, form="stacked"), UsageError, "linked, permuted"),
    ],
)
def test_bad_parameters_are_refused(made, error, words):
    with pytest.raises(error, match=words):
        made()


def test_schemas_that_cannot_be_treated_are_refused():
    with pytest.raises(PreconditionError, match="no confidential attribute"):
        Anatomy(3, None, ROW).check(schema(pay="other", grade="other"))
    with pytest.raises(PreconditionError, match="one confidential attribute where l is asked for"):
        Anatomy(3, None, ROW).check(schema())
    Anatomy(None, 3, ROW, "confidential").check(schema())


@pytest.mark.slow
def test_tables_for_which_there_are_no_groups_are_refused():
    frame = rows(40, gaps=0)
    with pytest.raises(InfeasibleError, match=r"40 records and k = 21"):
        run(frame, Anatomy(3, 21, ROW), **GRADE)
    with pytest.raises(InfeasibleError, match=r"40 records, l = 3, k = 19; allowed: k up to 18 with this l"):
        run(frame, Anatomy(3, 19, ROW), **PAY)
    with pytest.raises(InfeasibleError, match="every record has the same 'pay'"):
        run(frame.set_column(4, "pay", pa.array([7.0] * 40)), Anatomy(2, None, ROW), **PAY)
    skewed = frame.set_column(5, "grade", pa.array(["low"] * 18 + ["high"] * 22))
    with pytest.raises(
        InfeasibleError, match=r"22 of 40 records have one value; allowed: l up to 1; no l of 2 or more can be reached"
    ):
        run(skewed, Anatomy(2, None, ROW), **GRADE)
    with pytest.raises(InfeasibleError, match="22 of 40 records"):
        run(skewed, Anatomy(2, 5, ROW, "confidential"), **GRADE)


@pytest.mark.slow
def test_groups_that_came_out_too_small_are_never_published(monkeypatch):
    monkeypatch.setattr(anatomy, "anatomize", lambda *_: np.array([0] * 2 + [1] * 38, dtype=np.int32))
    with pytest.raises(PreconditionError, match=r"anatomy-diversity.*smaller than k"):
        run(rows(40, gaps=0), Anatomy(3, None, ROW), **GRADE)
