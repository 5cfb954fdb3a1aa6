"""Every premise of every theorem that a plan cites has an answer of that plan; nothing is called checked by default."""

from __future__ import annotations

import pytest

from shoal.errors import PreconditionError
from shoal.guarantee.claim import Status
from shoal.guarantee.theorem import THEOREMS, PremiseAnswer, PremiseStatus
from shoal.publish.certificate.boxes import box_answers
from shoal.publish.certificate.bucketized import group_answers
from shoal.publish.certificate.centroids import centroid_answers
from shoal.publish.certificate.counted import counted_answers
from shoal.publish.certificate.k_anonymity import full_domain_answers
from shoal.publish.certificate.safe_k import FIXED_WITHOUT_DATA, safe_k_answers
from shoal.publish.certificate.sample import sample_answers
from shoal.publish.certificate.seal import theorem_entry
from shoal.publish.plan.boxes import BoxesPlan
from shoal.publish.plan.centroids import CentroidsPlan
from shoal.publish.plan.counted import SyntacticPlan
from shoal.publish.plan.k_anonymity import FullDomainPlan
from shoal.publish.plan.methods import plan
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.plan.sample import SamplePlan
from tests.publish.box_clinic import KINDS as BOX_KINDS
from tests.publish.box_clinic import planned as boxes
from tests.publish.centroid_clinic import KINDS as CENTROID_KINDS
from tests.publish.centroid_clinic import policy as centroids
from tests.publish.clinic import planned
from tests.publish.counted_clinic import policy as counted
from tests.publish.grouped_clinic import KINDS as GROUPED
from tests.publish.grouped_clinic import policy as grouped
from tests.publish.level_clinic import planned as planned_levels
from tests.publish.sample_clinic import policy as sampled

PAIRS = {"release.views": "pairs", "release.delta": "1e-4"}
PEOPLE = {"unit": {"column": "patient", "max_rows": 2}, "release.epsilon": "4", "budget": None}
SAMPLE = {"release.sampling": {"already": "0.2"}}
TREATED = {"treatments": [{"top": {"age": 80}}]}
RANKING = CENTROID_KINDS["ranking"]
PER_RECORD = {"release.calibration": "per_record", "release.k": 40, "release.epsilon": 1}
KINDS = {
    "levels": {},
    "published": {"release.bound": "published"},
    "tuned": {"attributes.age.provenance": "profiled"},
    "repeat": {"release.repeat": 2, "release.epsilon": "2"},
    "repeat of people": PEOPLE | {"release.repeat": 2},
    "sample": SAMPLE,
    "treated": TREATED,
    "tuned and treated": TREATED | {"attributes.age.provenance": "profiled"},
    "tuned sample": SAMPLE | {"attributes.age.provenance": "profiled"},
    "people": PEOPLE,
    "replace": {"neighbours": "replace_one", "release.epsilon": "4", "budget": None},
    "tree": {"release.recoding": {"tree": {"epsilon": "0.3"}}},
    "tree on a sample": {"release.recoding": {"tree": {"epsilon": "0.3", "sample": "0.25"}}},
    **{
        f"choose by {score}": {"release.recoding": {"choose": {"epsilon": "0.3", "score": score}}}
        for score in ("ramp", "records", "discernibility")
    },
    "choose for a target": {"release.recoding": {"choose": {"epsilon": "0.3", "score": "target", "target": "sex"}}},
    "views": PAIRS,
    "views of trees": PAIRS | {"release.recoding": {"tree": {"epsilon": "0.3"}}},
    "views chosen": PAIRS | {"release.views": {"choose": {"epsilon": "0.2", "count": 2}}},
}
COUNTED = ("microaggregation", "diverse", "swap")
SAMPLED = {
    "plain sample": {},
    "plain sample, published": {"release.bound": "published", "release.rare": "drop"},
    "plain sample of people": {"unit": {"column": "patient", "max_rows": 2}, "release.rare": "generalize"},
    "plain sample, tuned": {"attributes.age.provenance": "profiled", "release.sampling": {"beta": "0.01"}},
}
LEVELS = ("searched", "every")
CENTROIDS = {
    "centroids": {},
    "centroids of people": {"unit": {"column": "person", "max_rows": 1}},
    "centroids, Laplace and corners": {"release.noise": "laplace", "release.corners": 4},
    "centroids, Gaussian": {"release.noise": "gaussian", "release.delta": "1e-6"},
    "centroids, treated": {"treatments": [{"top": {"pay": 500}}]},
    "centroids of ranks": RANKING,
    "centroids of the thesis": {**RANKING, "release.grouping": "insensitive", **PER_RECORD},
}
BOXED = {"boxes": {}, "boxes of people": BOX_KINDS["person"], "boxes, treated": {"treatments": [{"top": {"pay": 500}}]}}
STATUSES = {status.value for status in PremiseStatus}
CUSTODIANS = {
    "box-domains", "divisions-fixed",
    "domains-fixed", "options-fixed", "recoding-fixed", "sensitivity-declared", "treatments-fixed", *FIXED_WITHOUT_DATA
}  # fmt: skip
"""What `proved` leaves to the custodian: that the plan was fixed without the data."""


@pytest.fixture(scope="module", params=[*KINDS, *COUNTED, *SAMPLED, *GROUPED, *LEVELS, *CENTROIDS, *BOXED])
def made(request, tmp_path_factory):
    if request.param in LEVELS:
        return planned_levels(tmp_path_factory.mktemp("levels"), request.param)
    if request.param in BOXED:
        return boxes(BOXED[request.param])
    if request.param in CENTROIDS:
        return plan(centroids(CENTROIDS[request.param]))
    if request.param in SAMPLED:
        return plan(sampled(SAMPLED[request.param]))
    if request.param in COUNTED:
        return plan(counted(request.param))
    if request.param in GROUPED:
        return plan(grouped(request.param))
    return planned(KINDS[request.param])


def answers(made):
    if isinstance(made, SamplePlan):
        return sample_answers(made)
    if isinstance(made, SafeKPlan):
        return safe_k_answers(made)
    if isinstance(made, CentroidsPlan | BoxesPlan):
        return centroid_answers(made) if isinstance(made, CentroidsPlan) else box_answers(made)
    if isinstance(made, FullDomainPlan):
        return full_domain_answers(made)
    return counted_answers(made) if isinstance(made, SyntacticPlan) else group_answers(made)


def premises(made):
    return [premise for name in made.claims[0].theorems for premise in THEOREMS[name].premises]


@pytest.mark.slow
def test_a_plan_answers_for_each_premise_it_cites(made):
    found = answers(made)
    for premise in premises(made):
        assert found[premise.key].detail
        if premise.enforced_by == "custodian":
            assert found[premise.key].how is not PremiseStatus.CHECKED, premise.text
    entries = [theorem_entry(name, found) for name in made.claims[0].theorems]
    assert [each.id for entry in entries for each in entry.premises] == [each.key for each in premises(made)]


@pytest.mark.slow
def test_each_theorem_of_the_registry_is_answered_for_as_a_whole_or_refused(made):
    found = answers(made)
    for name, theorem in THEOREMS.items():
        if all(premise.key in found for premise in theorem.premises):
            entry = theorem_entry(name, found)
            assert [each.id for each in entry.premises] == [premise.key for premise in theorem.premises]
            assert all(each.how in STATUSES and each.detail for each in entry.premises)
        else:
            with pytest.raises(PreconditionError, match=name):
                theorem_entry(name, found)


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_what_the_custodian_alone_knows_cannot_be_called_checked(name):
    theorem = THEOREMS[name]
    checked = {premise.key: PremiseAnswer(PremiseStatus.CHECKED, "by a test") for premise in theorem.premises}
    if any(premise.enforced_by == "custodian" for premise in theorem.premises):
        with pytest.raises(PreconditionError, match=name):
            theorem_entry(name, checked)
    else:
        assert len(theorem_entry(name, checked).premises) == len(theorem.premises)


@pytest.mark.slow
def test_no_answer_is_the_default_of_another(made):
    found = answers(made)
    for name in made.claims[0].theorems:
        for premise in THEOREMS[name].premises:
            rest = {key: value for key, value in found.items() if key != premise.key}
            with pytest.raises(PreconditionError, match=name):
                theorem_entry(name, rest)


@pytest.mark.slow
def test_what_only_the_custodian_knows_is_in_the_status(made):
    found, status = answers(made), made.claims[0].status
    said = {premise.key for premise in premises(made) if found[premise.key].how is PremiseStatus.STATED}
    if status is Status.PROVED:
        assert said <= CUSTODIANS
        assert all("only the custodian can know" in found[key].detail for key in said)
    if made.is_tuned:
        assert status is not Status.PROVED
        assert all("drafted from the data" in found[key].detail for key in said & CUSTODIANS)
    if "own-sample" in said:
        assert status is Status.CONDITION


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "key"),
    [("views chosen", "candidates-fixed"), ("tree", "cells-fixed"), ("choose by ramp", "schemes-fixed")],
)
def test_what_was_printed_as_checked_is_the_custodians(kind, key):
    made = planned(KINDS[kind])
    assert key in {premise.key for premise in premises(made)}
    assert answers(made)[key].how is PremiseStatus.STATED


def test_a_tree_on_a_sample_of_its_own_was_not_settled_on_the_whole_table():
    for kind, words in (("tree", "on the whole table"), ("tree on a sample", "on a separate sample of the table")):
        found = answers(planned(KINDS[kind]))
        assert words in found["recoding-fixed"].detail
        assert words in found["recoding-apart"].detail


def test_rows_are_units_because_the_custodian_says_so():
    each_row = plan(counted("microaggregation", {"unit": "row"}))
    assert counted_answers(each_row)["one-record-each"].how is PremiseStatus.STATED
    named = plan(counted("microaggregation", {"unit": {"column": "patient", "max_rows": 1}}))
    assert counted_answers(named)["one-record-each"].how is PremiseStatus.BUILT


def test_a_premise_has_one_key_and_a_key_one_premise():
    texts: dict[str, set[str]] = {}
    for theorem in THEOREMS.values():
        for premise in theorem.premises:
            texts.setdefault(premise.key, set()).add(premise.text)
    assert {key: found for key, found in texts.items() if len(found) > 1} == {}
    assert len({text for found in texts.values() for text in found}) == len(texts)
