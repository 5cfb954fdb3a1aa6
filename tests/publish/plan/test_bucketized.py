"""The plan of a release by groups: what it says before a row is read, and that it promises nothing else."""

from __future__ import annotations

import pytest

from shoal.errors import PolicyError
from shoal.guarantee.syntactic import KAnonymousRelation, KnowledgeGain, LDiversity, ProbabilisticK, TCloseness
from shoal.policy.policy import Policy
from shoal.publish.plan.methods import plan
from tests.publish.grouped_clinic import KINDS, policy
from tests.publish.reading import Page

PROMISED = {
    "linked": (KAnonymousRelation(8), TCloseness(2, "ratio"), KnowledgeGain(2)),
    "several": (KAnonymousRelation(24), TCloseness(3, "ratio"), KnowledgeGain(3)),
    "permuted": (ProbabilisticK(8), TCloseness(2, "ratio"), KnowledgeGain(2)),
    "value": (KAnonymousRelation(8),),
    "anatomy": (KAnonymousRelation(5), LDiversity(2, "frequency")),
    "alike": (KAnonymousRelation(10),),
    "anatomy-permuted": (ProbabilisticK(2),),
}


@pytest.mark.parametrize("kind", PROMISED)
def test_what_is_claimed(kind):
    assert tuple(claim.guarantee for claim in plan(policy(kind)).claims) == PROMISED[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_that_it_is_no_differential_privacy_and_what_else_it_is_not(kind):
    made = plan(policy(kind))
    assert made.cost is None
    assert any("no differential privacy" in sentence for sentence in made.sentences())
    assert made.not_promised[-1] == "It is no differential privacy."
    said = " ".join(made.not_promised)
    assert ("were read off the table" in said) == (made.show == "bucket")
    assert ("rests on the program" in said) == (made.form == "permuted")
    assert ("repeats the grouping" in said) == (made.grouping == "near")
    assert ("all be equal" in said) == (made.grouping == "confidential")
    assert Page(made.page()).faults == []
    assert made.to_json()["words"] == made.sentences()


def test_the_sentences_of_linked_buckets():
    first, shares, grounds, _ = plan(policy("linked", {"release.t": "3/2", "release.k": 12})).sentences()
    assert first == (
        "Every row stands in a group of at least 12 records. The release says how many records of a group have which buckets of "
        "diag, and not which records."
    )
    assert "at most 1.5 times the share that it has in the whole table" in shares
    assert shares.endswith("finds no bucket more than 1.5 times as likely as before, nor less than 2/3 times.")
    assert (
        "at most 2 buckets, as even in numbers of records as equal values allow, and one more of missing values"
        in grounds
    )


def test_defaults_are_written_into_the_lock():
    close = plan(policy("linked").with_changes({"release": {"method": "t-closeness", "t": "2.5"}}))
    assert (close.k, close.form, close.show, close.grouping) == (3, "linked", "bucket", "near")
    for line in ("k: 3", 'form: "linked"', 'show: "bucket"', 'grouping: "near"'):
        assert line in close.lock.text
    apart = plan(policy("anatomy").with_changes({"release": {"method": "anatomy", "l": 4}}))
    assert (apart.k, apart.l, apart.grouping) == (4, 4, "random")


def test_an_l_above_k_makes_larger_groups():
    assert plan(policy("anatomy", {"release.l": 4, "release.k": 2})).k == 4


def test_a_confidential_text_needs_its_values_listed():
    text = {"role": "confidential", "type": "text", "domain": {"pattern": "[a-z]{3}"}}
    asked = {"attributes.diag": text}
    with pytest.raises(PolicyError, match="values are not listed"):
        policy("linked", asked)
    assert plan(policy("value", {**asked, "attributes.pay.role": "drop"})).t is None


def test_a_policy_of_another_method_is_not_planned_here():
    other = Policy.parse(policy("linked").dump()).with_changes({"release": {"method": "microaggregation", "k": 5}})
    with pytest.raises(PolicyError, match="another method"):
        type(plan(policy("linked"))).of(other)
