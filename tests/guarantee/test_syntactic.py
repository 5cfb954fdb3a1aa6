"""Guarantees about the published table: which implies which, and bad numbers."""

import pytest

from shoal.errors import ParameterError, UsageError
from shoal.guarantee.differential import (
    PureDP,
)
from shoal.guarantee.syntactic import (
    KAnonymity,
    KAnonymousRelation,
    KMap,
    KnowledgeGain,
    LDiversity,
    ProbabilisticK,
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
    assert not KAnonymity(5) >= PureDP(100)
    assert not PureDP(0) >= KAnonymity(2)


@pytest.mark.parametrize("wrong", [lambda: KAnonymity(0), lambda: KMap(True), lambda: LDiversity("0.5", "distinct")])
def test_bad_syntactic_numbers(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_bad_syntactic_words():
    with pytest.raises(UsageError):
        LDiversity(2, "fuzzy")
    with pytest.raises(UsageError):
        TCloseness("0.2", "manhattan")
    with pytest.raises(ParameterError):
        TCloseness("0.5", "ratio")
