"""The exact law of sampled rows: the theorem's epsilon on its worst pair, frequencies of runs, and no pair beyond the claim."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shoal.chance.source import Source
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.safe_k.curve import delta_tight
from shoal.lab.audit.catalogue import find_audit
from shoal.lab.audit.law import RowsLaw, published_law
from shoal.lab.audit.plan import PlanMechanism, plan_of
from shoal.lab.audit.policy_case import policy_audit, policy_case
from shoal.policy.policy import Policy

VALUE = {"role": "quasi", "type": "integer", "domain": [0, 9], "hierarchy": {"intervals": [2, 4]}, "missing": "refuse"}
RELEASE = {
    "method": "safe-k",
    "k": 5,
    "sampling": {"beta": "0.5"},
    "epsilon": 2,
    "delta": "0.06",
    "recoding": {"choose": {"epsilon": 1}},
}


def policy(neighbours="add_remove", **release):
    head = {"version": 1, "dataset": "d", "unit": "row", "neighbours": neighbours}
    return Policy.of({**head, "attributes": {"v": VALUE, "w": VALUE}, "release": {**RELEASE, **release}})


def test_the_worst_pair_of_fixed_levels_has_the_epsilon_of_the_theorem():
    """delta*(k, beta, epsilon) is what the pair reaches, so its epsilon at that delta is epsilon."""
    case = find_audit("safe-k").case()
    delta = Fraction(delta_tight(5, Fraction(1, 2), Fraction(1, 4)))
    assert RowsLaw.of(case.mechanism).epsilon(case.pair, delta) == pytest.approx(0.25, abs=1e-6)
    smaller = ((0,) * 6, (0,) * 5)
    assert RowsLaw.of(case.mechanism).epsilon(smaller, delta) < 0.25
    assert RowsLaw.of(case.mechanism).epsilon(((0,) * 5, (0,) * 4), Fraction(0)) == np.inf  # 5 rows are shown, or never


@pytest.mark.parametrize(("size", "top"), [(0, 3), (2, 4), (5, 5), (7, 8)])
def test_the_law_of_a_class_adds_up_and_is_binomial(size, top):
    from scipy.stats import binom

    found = published_law(size, top, 3, Fraction(3, 10))
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found[1:] == pytest.approx(binom.pmf(np.arange(3, top + 1), size, 0.3), abs=1e-12)


@pytest.mark.slow
def test_classes_of_schemes_are_those_of_the_recoding_that_is_released():
    mechanism = PlanMechanism(policy(), pa.table({"v": [0, 1, 3], "w": [0, 9, 0]}))
    partition = plan_of(policy()).method.partition
    classes = mechanism.scheme_classes(partition)
    from shoal.anonymize.generalize.scheme import Scheme

    for number in range(len(partition.lattice)):
        labels = mechanism._labels(Scheme(partition.schema, partition.lattice.scheme(number)))
        assert classes[number].tolist() == [labels.index(label) for label in labels]


@pytest.mark.slow
def test_schemes_that_are_drawn_together_have_the_law_of_those_drawn_one_by_one():
    """Frequencies of schemes and of published rows: drawn at once, by the job of a release, and as the law has them."""
    case = find_audit("safe-k-chosen").impostor()
    data = case.pair[0]
    law = RowsLaw.of(case.mechanism)
    chances = np.exp(law._log_chances(data))
    many = case.mechanism(data, Source.seeded(1), 20_000)
    shown = np.bincount(many[:, -1].astype(int), minlength=2) / len(many)
    assert shown == pytest.approx(chances, abs=5 * (0.25 / len(many)) ** 0.5)
    one_by_one = replace(case.mechanism, one_by_one=True)(data, Source.seeded(2), 60)
    numbers = Counter(one_by_one[:, -1].tolist())
    likelier = numbers.most_common(1)[0][1] / 60
    assert likelier == pytest.approx(chances.max(), abs=5 * (0.25 / 60) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_search_on_a_policy_needs_no_run_and_finds_a_worse_pair_within_the_claim(neighbours):
    made = policy(neighbours)
    case = policy_case(made)
    assert not case.is_slow
    other, found = case.searched(seed=1)
    assert found.by_law
    assert found.tried > 5
    assert other.space.holds(other.pair)
    assert found.start <= found.suggested <= float(case.claim.own[0])
    assert found.suggested == case.law.epsilon(other.pair, case.claim.own[1])
    assert "without a run" in found.words()
    audited = other.run(2_000, seed=1)
    assert not audited.refuted
    assert audited.could_refute
    assert policy_audit(made).runs == 20_000


@pytest.mark.slow
def test_a_pair_that_the_search_finds_refutes_a_claim_that_the_first_pair_does_not():
    """A claim between the epsilons of both pairs, by the law: the search is what makes the difference."""
    case = policy_case(policy(epsilon=6, delta="0.06", recoding={"choose": {"epsilon": 5}}))
    other, found = case.searched(seed=2, steps=30)
    assert found.suggested > found.start + 0.3
    between = ApproxDP(Fraction(round(found.start + 0.1, 2)).limit_denominator(100), case.claim.own[1])
    assert not replace(case, claim=between).run(20_000, seed=3).refuted
    assert replace(other, claim=between).run(20_000, seed=3).refuted


def test_the_law_of_other_methods_is_not_known():
    assert RowsLaw.of(find_audit("laplace").case().mechanism) is None
    assert RowsLaw.of(find_audit("views").case().mechanism) is None
    tree = find_audit("safe-k-tree").case()
    assert tree.law is None
    assert tree.search_size() == (8, 60)
