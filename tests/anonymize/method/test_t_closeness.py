"""Bucketization: everybody in one group, groups large and close enough, tables that agree, and what is refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import inf

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.cluster.bucket.distance import closeness
from shoal.anonymize.method import t_closeness
from shoal.anonymize.method.t_closeness import MARGINAL, NOT_REPEATED, Bucketization
from shoal.assess.disclosure.measures import observe
from shoal.chance.source import Source
from shoal.data.schema import Attribute, Role, Schema
from shoal.data.type import Type
from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.claim import Status
from shoal.guarantee.syntactic import KAnonymousRelation, KnowledgeGain, ProbabilisticK, TCloseness
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from tests.anonymize.method.people import opened, rows, schema
from tests.anonymize.method.test_microaggregation import listed
from tests.engine.oracle import engine_named

ROW = Unit.row("add_remove")
ONE = {"grade": "other"}
"""One confidential attribute, `pay`."""


def method(t="2", k=6, form="linked", show="bucket", choice="near", unit=ROW):
    return Bucketization(Fraction(t), k, form, show, unit, choice)


def run(frame, method, name="duckdb", seed=1, **roles):
    with Source.seeded(seed) as source:
        return method.run(opened(frame, name, **roles), source)


def counted(made, *names):
    """What the table of groups says: how often each group shows what."""
    found: Counter = Counter()
    for *shown, count in listed(made.confidential, made.group_column, *names, made.count_column):
        assert tuple(shown) not in found
        found[tuple(shown)] = count
    return found


def spelled(made, values, bounds):
    """The label that a value should have, computed from the edges alone."""
    return [made.buckets[0].labels[sum(value >= bound for bound in bounds)] for value in values]


def second_opinion(records, shown):
    """What code that shares nothing with the method measures of groups as if they were quasi-identifiers."""
    kinds = (Attribute("group", Role.QUASI, Type.INTEGER), Attribute("shown", Role.CONFIDENTIAL, Type.TEXT))
    table = records.attach("shown", np.array(shown, dtype=object))
    return observe(table.count_by(["group", "shown"]), Schema(kinds))


@pytest.mark.slow
@pytest.mark.parametrize(("t", "k", "choice"), [("2", 6, "near"), ("3", 4, "random"), ("1.5", 8, "near")])
def test_linked_tables_say_what_the_records_have_and_no_more(t, k, choice):
    frame = rows(200, gaps=0)
    made = run(frame, method(t, k, choice=choice), **ONE)
    assert made.permuted is None
    assert made.records.columns == ("group", "age", "sex", "seen", "grade", "note")
    assert made.confidential.columns == ("group", "pay", "count")
    assert listed(made.records, "age", "sex", "seen", "grade", "note") == listed(
        opened(frame, **ONE), "age", "sex", "seen", "grade", "note"
    )
    groups = [group for (group,) in listed(made.records, "group")]
    assert set(groups) == set(range(1, 200 // k + 1))
    assert [group - 1 for group in groups] == made.groups.tolist()
    assert min(Counter(groups).values()) >= k
    labels = spelled(
        made, [pay for (pay,) in listed(opened(frame), "pay")], [float(edge) for edge in made.buckets[0].edges]
    )
    assert counted(made, "pay") == Counter(zip(groups, labels, strict=True))
    codes = np.unique(labels, return_inverse=True)[1]
    assert made.achieved_t == closeness(made.groups, codes) <= Fraction(t)
    seen = second_opinion(made.records, labels)
    assert seen.k >= k
    assert seen.confidential[0].measures.ratio == pytest.approx(float(made.achieved_t), rel=1e-12)


@pytest.mark.slow
def test_several_confidential_attributes_are_close_together_and_each():
    frame = rows(400, gaps=0)
    made = run(frame, method("2", 14))
    assert [one.attribute for one in made.buckets] == ["pay", "grade"]
    assert made.achieved_t <= 2
    table = counted(made, "pay", "grade")
    assert sum(table.values()) == 400
    for place in (1, 2):
        own: Counter = Counter()
        for entry, count in table.items():
            own[entry[0], entry[place]] += count
        groups, shown = (np.repeat([key[i] for key in own], list(own.values())) for i in (0, 1))
        number = [np.unique(column, return_inverse=True)[1] for column in (groups, shown)]
        assert closeness(*number) <= made.achieved_t


@pytest.mark.slow
def test_missing_values_are_a_bucket_and_stay_missing():
    frame = rows(300, gaps=0.2)
    made = run(frame, method("2", 12), **ONE)
    assert made.buckets[0].missing
    absent = sum(pay is None for (pay,) in listed(opened(frame), "pay"))
    assert sum(count for (_, label), count in counted(made, "pay").items() if label is None) == absent
    assert {group for group, label in counted(made, "pay") if label is None} == set(range(1, 26))


@pytest.mark.slow
def test_the_permuted_form_hides_the_groups_and_moves_labels_inside_them():
    frame = rows(240, gaps=0)
    made = run(frame, method("2", 12, "permuted"))
    assert made.permuted is not None
    assert made.permuted.columns == ("age", "sex", "seen", "pay", "grade", "note")
    stays = ("age", "sex", "seen", "note")
    assert listed(made.permuted, *stays) == listed(opened(frame), *stays)
    shown = listed(made.permuted, "pay", "grade")
    inside: Counter = Counter(zip((made.groups + 1).tolist(), shown, strict=True))
    assert inside == Counter({(entry[0], entry[1:]): count for entry, count in counted(made, "pay", "grade").items()})


@pytest.mark.slow
def test_every_place_in_a_group_is_equally_likely_for_a_label():
    """Four people, one group of four has to be refused, so eight in two groups: whose label person 0 shows, over many keys."""
    frame = rows(8, gaps=0).set_column(1, "age", pa.array([1, 2, 3, 4, 90, 91, 92, 93]))
    frame = frame.set_column(4, "pay", pa.array([1.0, 2.0, 3.0, 4.0, 1.5, 2.5, 3.5, 4.5]))
    table, asked = opened(frame, "oracle", sex="drop", seen="drop", grade="other"), method("1", 4, "permuted", "value")
    seen: Counter = Counter()
    for seed in range(200):
        with Source.seeded(seed) as source:
            seen[float(asked.run(table, source).permuted.collect(["pay"])["pay"][0])] += 1
    assert set(seen) == {1.0, 2.0, 3.0, 4.0}
    assert all(abs(count - 50) < 37 for count in seen.values())  # 6 standard deviations


@pytest.mark.slow
def test_who_of_equals_is_grouped_with_whom_is_drawn():
    """Eight people of one age, four in each bucket, in pairs: by row, person 0 would always stand with the same other."""
    frame = (
        rows(8, gaps=0).set_column(1, "age", pa.array([30] * 8)).set_column(4, "pay", pa.array([1.0] * 4 + [2.0] * 4))
    )
    table, asked = opened(frame, "oracle", sex="drop", seen="drop", grade="other"), method("1", 2)
    seen: Counter = Counter()
    for seed in range(120):
        with Source.seeded(seed) as source:
            labels = asked.run(table, source).groups
        seen[int(np.flatnonzero(labels == labels[0])[1])] += 1
    assert set(seen) == {4, 5, 6, 7}
    assert all(abs(count - 30) < 29 for count in seen.values())  # 6 standard deviations


@pytest.mark.slow
def test_values_are_shown_with_the_weaker_claim_alone():
    asked = method(show="value")
    made = run(rows(120, gaps=0), asked, **ONE)
    assert made.achieved_t == inf
    assert made.buckets == ()
    assert {kind.type.value for kind in made.confidential.schema.confidential} == {"decimal"}
    assert [claim.guarantee for claim in asked.claims(schema(**ONE))] == [KAnonymousRelation(6)]


@pytest.mark.slow
def test_engines_agree_under_one_key():
    frame = rows(150, gaps=0)
    one, other = (run(frame, method(form="permuted"), name, **ONE) for name in ("duckdb", "oracle"))
    for ours, theirs in ((one.records, other.records), (one.permuted, other.permuted)):
        assert listed(ours, *ours.columns) == listed(theirs, *theirs.columns)


@pytest.mark.slow
def test_one_row_of_each_person_is_grouped():
    frame = rows(90, gaps=0)
    twice = pa.concat_tables([frame, frame])
    unit = Unit.person("who", 1, "add_remove")
    made = run(twice, method("2", 5, unit=unit), **ONE)
    assert made.records.rows() == 90
    with pytest.raises(PreconditionError, match="max_rows: 2"):
        run(twice, method("2", 5, unit=Unit.person("who", 2, "add_remove")), **ONE)


# --- claims and refusals ---------------------------------------------------------------------------------------------------


def test_claims_say_their_conditions():
    relation, close, gain = method().claims(schema())
    assert (relation.guarantee, relation.status) == (KAnonymousRelation(6), Status.CHECKED)
    assert (close.guarantee, close.status) == (TCloseness(2, "ratio"), Status.CHECKED)
    assert (gain.guarantee, gain.status) == (KnowledgeGain(2), Status.CONDITION)
    assert gain.conditions == (MARGINAL, NOT_REPEATED)
    assert "not differential privacy" in gain.words()
    assert method(choice="random").claims(schema())[-1].conditions == (MARGINAL,)


def test_claims_of_the_permuted_form_are_about_groups_that_are_hidden():
    first, close, _ = method(form="permuted").claims(schema())
    assert (first.guarantee, first.status) == (ProbabilisticK(6), Status.CONDITION)
    assert NOT_REPEATED in first.conditions
    assert "before they were hidden" in close.words()


def test_rules_say_where_an_attribute_is_shown():
    assert method().rules(schema())["pay"] == "bucket, in the table of groups"
    assert method(form="permuted", show="value").rules(schema())["pay"] == "as it is, permuted inside hidden groups"
    assert method().rules(schema())["age"] == "as it is"
    assert "who" not in method().rules(schema())


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ({"t": "0.9"}, ParameterError, "t >= 1"),
        ({"k": 1}, ParameterError, "k"),
        ({"form": "stacked"}, UsageError, "linked, permuted"),
        ({"show": "mean"}, UsageError, "bucket, value"),
        ({"choice": "far"}, UsageError, "near, random"),
    ],
)
def test_bad_parameters_are_refused(keys, error, words):
    with pytest.raises(error, match=words):
        method(**keys)


def test_schemas_without_what_is_needed_are_refused():
    with pytest.raises(PreconditionError, match="no confidential attribute"):
        method().check(schema(pay="other", grade="other"))
    with pytest.raises(PreconditionError, match="names no quasi-identifier"):
        method().check(schema(age="other", sex="other", seen="other"))


@pytest.mark.slow
def test_tables_for_which_there_are_no_groups_are_refused():
    frame = rows(40, gaps=0)
    with pytest.raises(InfeasibleError, match="40 records and k = 21"):
        run(frame, method(k=21))
    with pytest.raises(InfeasibleError, match="every record has the same 'pay'"):
        run(frame.set_column(4, "pay", pa.array([7.0] * 40)), method(k=5))
    with pytest.raises(
        InfeasibleError, match=r"k = 3, t = 1.2, .*allowed: k = 4 with this t, or t = 1.5 or more with this k"
    ):
        run(rows(48, gaps=0), method("1.2", 3), **ONE)


def test_groups_that_came_out_wrong_are_never_published(monkeypatch):
    for wrong in (np.array([0] * 2 + [1] * 38), np.array([0] * 5 + [1] * 35)):
        monkeypatch.setattr(t_closeness, "near_groups", lambda *_, found=wrong, **__: found.astype(np.int32))
        with pytest.raises(PreconditionError, match=r"bucket-closeness.*smaller than k or farther than t"):
            run(rows(40, gaps=0), method("1", 4), **ONE)


@pytest.mark.slow
def test_columns_that_are_called_group_and_count_keep_their_names():
    attributes = {
        "group": {"role": "quasi", "type": "integer", "domain": [0, 99]},
        "count": {"role": "confidential", "type": "integer", "domain": [0, 99]},
    }
    head = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
    frame = pa.table({"group": list(range(20)), "count": list(range(20))})
    table = engine_named("duckdb").scan(frame, Policy.of({**head, "attributes": attributes}).schema)
    with Source.seeded(1) as source:
        made = method("2", 5).run(table, source)
    assert made.records.columns == ("group_", "group")
    assert made.confidential.columns == ("group_", "count", "count_")
