"""What every guarantee must satisfy, whatever its kind: a new kind is tested by being on the list."""

import json

import pytest

from shoal.errors import UsageError
from shoal.guarantee.claim import GUARANTEE_KINDS, load_guarantee
from shoal.guarantee.differential import (
    ApproxDP,
    DifferentialPrivacy,
    GaussianDP,
    LaplaceDP,
    PureDP,
    SafeKSampling,
    SampledDP,
    SmoothDP,
)
from shoal.guarantee.noise import ConcentratedDP, ExponentialDP, NoisyTablesDP
from shoal.guarantee.plain_sample import SamplePrivacy
from shoal.guarantee.syntactic import (
    AlphaDeassociation,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KAnonymousRelation,
    KMap,
    KnowledgeGain,
    LDiversity,
    ProbabilisticK,
    RecursiveDiversity,
    TCloseness,
)

EXAMPLES = [
    (PureDP("0.5"), PureDP(1)),
    (ApproxDP(1, "1e-6"), ApproxDP(1, "1e-5")),
    (SafeKSampling(20, "0.2"), SafeKSampling(19, "0.2")),
    (LaplaceDP("0.3"), LaplaceDP("0.4")),
    (GaussianDP("0.3"), GaussianDP("1/3")),
    (NoisyTablesDP([(3, "2.5"), (10, 5)]), NoisyTablesDP([(4, "2.5"), (10, 5)])),
    (ExponentialDP("0.3"), ExponentialDP("0.4")),
    (ConcentratedDP("0.02"), ConcentratedDP("0.03")),
    (SampledDP("0.1", 1, "1e-6"), SampledDP("0.1", 2, "1e-6")),
    (SmoothDP.of(20, "0.2", 1), SmoothDP.of(10, "0.2", 1)),
    (SamplePrivacy(2, "0.3", "0.01", "0.1"), SamplePrivacy(1, "0.3", "0.01", "0.1")),
    (KAnonymity(5), KAnonymity(4)),
    (KMap(5), KMap(4)),
    (ProbabilisticK(5), ProbabilisticK(4)),
    (KAnonymousRelation(5), KAnonymousRelation(4)),
    (LDiversity("2.5", "entropy"), LDiversity(2, "entropy")),
    (TCloseness("0.2", "emd"), TCloseness("0.3", "emd")),
    (KnowledgeGain(2), KnowledgeGain(3)),
    (RecursiveDiversity(2, 3), RecursiveDiversity("2.5", 2)),
    (AlphaDeassociation("0.5"), AlphaDeassociation("0.6")),
    (BetaLikeness(1, "enhanced"), BetaLikeness(1, "basic")),
    (DeltaDisclosure(1), DeltaDisclosure("1.5")),
]


def test_every_kind_has_an_example():
    assert {strong.kind for strong, _ in EXAMPLES} == set(GUARANTEE_KINDS)


@pytest.mark.parametrize(("strong", "weak"), EXAMPLES, ids=lambda g: g.kind)
def test_a_guarantee_implies_weaker_ones_and_is_saved_hashed_and_frozen(strong, weak):
    assert strong.implies(strong)
    assert not weak.implies(strong)
    assert strong.implies(weak) or isinstance(strong, SmoothDP)
    assert strong == load_guarantee(json.loads(json.dumps(strong.to_saved())))
    assert hash(strong) == hash(load_guarantee(strong.to_saved()))
    assert strong.words()
    assert not strong.words().endswith(".")
    assert strong.composes == (isinstance(strong, DifferentialPrivacy | SmoothDP))
    with pytest.raises(AttributeError):
        strong.kind = "other"
    with pytest.raises(TypeError):
        assert strong >= 3


@pytest.mark.slow
@pytest.mark.parametrize("strong", [s for s, _ in EXAMPLES if isinstance(s, DifferentialPrivacy)], ids=lambda g: g.kind)
def test_curves_fall_and_invert(strong):
    grid = [0, "0.05", "0.2", "0.5", 1, 2]
    deltas = [strong.delta_at(e) for e in grid]
    assert deltas == sorted(deltas, reverse=True)
    assert all(0 <= d <= 1 for d in deltas)
    for epsilon, delta in zip(grid, deltas, strict=True):
        assert strong.epsilon_at(delta) <= float(epsilon) * (1 + 1e-6) + 1e-6
        assert strong.implies(ApproxDP(epsilon, delta))
    for remove_or_add in strong.distributions(1e-3):
        for epsilon, delta in zip(grid, deltas, strict=True):
            assert float(remove_or_add.get_delta_for_epsilon(float(epsilon))) <= delta + 1e-3


def test_unknown_kinds_and_parameters_are_refused():
    with pytest.raises(UsageError, match="unknown kind"):
        load_guarantee({"kind": "os.system"})
    with pytest.raises(UsageError, match="other parameters"):
        load_guarantee({"kind": "pure-dp", "delta": "1"})
