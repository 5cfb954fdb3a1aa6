"""Guarantees in files: a closed list of kinds; what is not on it cannot be loaded."""

from __future__ import annotations

from typing import Any

from shoal.errors import UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.differential import ApproxDP, GaussianDP, LaplaceDP, PureDP, SampledCrowd, SampledDP
from shoal.guarantee.plain_sample import SamplePrivacy
from shoal.guarantee.safe_k.smooth import SmoothDP
from shoal.guarantee.syntactic import KAnonymity, KMap, KnowledgeGain, LDiversity, ProbabilisticK, TCloseness

KINDS: dict[str, type[Guarantee]] = {
    cls.kind: cls
    for cls in (
        PureDP, ApproxDP, SampledCrowd, LaplaceDP, GaussianDP, SampledDP, SmoothDP, SamplePrivacy,
        KAnonymity, KMap, ProbabilisticK, LDiversity, TCloseness, KnowledgeGain,
    )
}  # fmt: skip
"""Every kind of guarantee that a file may name."""


def load(saved: dict[str, Any]) -> Guarantee:
    """The guarantee that `to_saved` wrote."""
    kind = saved.get("kind")
    if kind not in KINDS:
        raise UsageError("unknown kind of guarantee", came=kind, allowed=", ".join(KINDS))
    cls = KINDS[kind]
    if issubclass(cls, SmoothDP):
        return cls.from_saved(saved)
    try:
        return cls(**{name: value for name, value in saved.items() if name != "kind"})
    except TypeError:
        raise UsageError(f"a guarantee of kind '{kind}' has other parameters", came=", ".join(sorted(saved))) from None
