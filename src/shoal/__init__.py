"""Publish tables about people with a privacy guarantee that is proved.

The public names are loaded when first used, so that `import shoal` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from shoal.api import (
        allowance,
        amplify,
        assess,
        check,
        compare,
        compare_methods,
        compose,
        delta,
        draft,
        frontier,
        load,
        microaggregate,
        plan,
        rehearse,
        release,
        sample_rate,
        solve,
        verify,
    )
    from shoal.errors import ShoalError
    from shoal.guarantee.claim import Claim, Status
    from shoal.guarantee.differential import ApproxDP, GaussianDP, LaplaceDP, PureDP, SafeKSampling, SampledDP, SmoothDP
    from shoal.guarantee.noise import ConcentratedDP, ExponentialDP, NoisyTablesDP
    from shoal.guarantee.unit import Unit
    from shoal.lab.audit.run import audit
    from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
    from shoal.mechanism.staircase.mechanism import OptimalNoise
    from shoal.policy.policy import Policy
    from shoal.query.questions.count import Count
    from shoal.query.questions.moments import Mean, Ratio, Sum, Variance
    from shoal.query.questions.person import ValueOf
    from shoal.query.questions.quantile import Bounds, Quantile
    from shoal.query.questions.tables import Contingency, Histogram
    from shoal.query.questions.workload import Workload
    from shoal.query.session import Session, register, session

_API = (
    "allowance amplify assess check compare compare_methods compose delta draft frontier load microaggregate plan rehearse "
    "release sample_rate "
    "solve verify"
)
_WHERE = {
    "shoal.api": _API.split(),
    "shoal.errors": ["ShoalError"],
    "shoal.guarantee.claim": ["Claim", "Status"],
    "shoal.guarantee.differential": [
        "ApproxDP",
        "GaussianDP",
        "LaplaceDP",
        "PureDP",
        "SafeKSampling",
        "SampledDP",
        "SmoothDP",
    ],
    "shoal.guarantee.noise": ["ConcentratedDP", "ExponentialDP", "NoisyTablesDP"],
    "shoal.guarantee.unit": ["Unit"],
    "shoal.lab.audit.run": ["audit"],
    "shoal.mechanism.staircase.mechanism": ["OptimalNoise"],
    "shoal.mechanism.refinement.mechanism": ["KnowledgeRefinement"],
    "shoal.policy.policy": ["Policy"],
    "shoal.query.questions.count": ["Count"],
    "shoal.query.questions.moments": ["Mean", "Ratio", "Sum", "Variance"],
    "shoal.query.questions.person": ["ValueOf"],
    "shoal.query.questions.quantile": ["Bounds", "Quantile"],
    "shoal.query.session": ["Session", "register", "session"],
    "shoal.query.questions.tables": ["Contingency", "Histogram"],
    "shoal.query.questions.workload": ["Workload"],
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "ApproxDP",
    "Bounds",
    "Claim",
    "ConcentratedDP",
    "Contingency",
    "Count",
    "ExponentialDP",
    "GaussianDP",
    "Histogram",
    "KnowledgeRefinement",
    "LaplaceDP",
    "Mean",
    "NoisyTablesDP",
    "OptimalNoise",
    "Policy",
    "PureDP",
    "Quantile",
    "Ratio",
    "SafeKSampling",
    "SampledDP",
    "Session",
    "ShoalError",
    "SmoothDP",
    "Status",
    "Sum",
    "Unit",
    "ValueOf",
    "Variance",
    "Workload",
    "__version__",
    "allowance",
    "amplify",
    "assess",
    "audit",
    "check",
    "compare",
    "compare_methods",
    "compose",
    "delta",
    "draft",
    "frontier",
    "load",
    "microaggregate",
    "plan",
    "register",
    "rehearse",
    "release",
    "sample_rate",
    "session",
    "solve",
    "verify",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
