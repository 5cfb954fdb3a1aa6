"""Guarantees about the published table: which implies which, and bad numbers."""

import pytest

from shoal.errors import ParameterError, UsageError
from shoal.guarantee.differential import (
    PureDP,
)
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


def test_implication_of_syntactic_guarantees():
    assert KAnonymity(5) >= KAnonymity(3)
    assert KAnonymity(5) >= ProbabilisticK(5)
    assert KAnonymity(5) >= KMap(4)
    assert not ProbabilisticK(5) >= KAnonymity(5)
    assert KAnonymity(5) >= KAnonymousRelation(5)
    assert not KAnonymousRelation(5) >= KAnonymity(2)
    assert LDiversity(3, "entropy") >= LDiversity(3, "distinct")
    assert not LDiversity(3, "distinct") >= LDiversity(3, "entropy")
    assert LDiversity(3, "frequency") >= LDiversity(3, "entropy")
    assert LDiversity(3, "frequency") >= LDiversity(2, "distinct")
    assert not LDiversity(3, "entropy") >= LDiversity(3, "frequency")
    assert not LDiversity(3, "frequency") >= LDiversity(3, "recursive")
    assert TCloseness(2, "ratio") >= KnowledgeGain(2)
    assert not TCloseness(".2", "emd") >= KnowledgeGain(2)
    assert RecursiveDiversity(2, 3) >= RecursiveDiversity(3, 3)
    assert not RecursiveDiversity(2, 3) >= RecursiveDiversity(1, 2)
    assert not RecursiveDiversity(2, 2) >= RecursiveDiversity(2, 3)
    assert AlphaDeassociation("0.4") >= AlphaDeassociation("0.5")
    assert not BetaLikeness(1, "basic") >= BetaLikeness(2, "enhanced")
    assert not BetaLikeness(2, "enhanced") >= BetaLikeness(1, "enhanced")
    assert DeltaDisclosure(1) >= DeltaDisclosure(2)
    assert not KAnonymity(5) >= PureDP(100)
    assert not PureDP(0) >= KAnonymity(2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: KAnonymity(0),
        lambda: KMap(True),
        lambda: LDiversity("0.5", "distinct"),
        lambda: RecursiveDiversity(0, 2),
        lambda: RecursiveDiversity(1, 0),
        lambda: AlphaDeassociation("1.01"),
        lambda: AlphaDeassociation(0),
        lambda: BetaLikeness(0, "basic"),
        lambda: DeltaDisclosure(-1),
    ],
)
def test_bad_syntactic_numbers(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_bad_syntactic_words():
    with pytest.raises(UsageError):
        LDiversity(2, "fuzzy")
    with pytest.raises(UsageError):
        BetaLikeness(2, "strong")
    with pytest.raises(UsageError):
        TCloseness("0.2", "manhattan")
    with pytest.raises(ParameterError):
        TCloseness("0.5", "ratio")
