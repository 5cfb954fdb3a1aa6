"""The methods of publishing that can be planned: the one place where a method is registered."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan
from shoal.publish.plan.boxes import BoxesPlan
from shoal.publish.plan.bucketized import AnatomyPlan, TClosenessPlan
from shoal.publish.plan.centroids import CentroidsPlan
from shoal.publish.plan.counted import MicroaggregationPlan, SwapPlan
from shoal.publish.plan.k_anonymity import FullDomainPlan
from shoal.publish.plan.noisy_counts import NoisyCountsPlan
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.plan.sample import SamplePlan

PLANS: Mapping[str, type[Plan]] = {
    name: kind
    for kind in (
        SafeKPlan,
        MicroaggregationPlan,
        SwapPlan,
        FullDomainPlan,
        NoisyCountsPlan,
        SamplePlan,
        TClosenessPlan,
        AnatomyPlan,
        CentroidsPlan,
    )
    for name in kind.methods
}
"""The class that plans each value of `release.method`; views are planned by `SafeKPlan`, which hands them on."""
CERTIFIED: Mapping[str, type[Plan]] = {
    **PLANS,
    "noisy-counts": NoisyCountsPlan,
    "box-microaggregation": BoxesPlan,
}
"""The class that plans what a certificate calls its method: noisy counts of `safe-k`, and boxes, have one of their own."""


def plan(policy: Policy) -> Plan:
    """Resolve a policy by the method that it names; no row is read.

    Arguments  policy: a `Policy` with a `release` block.
    Raises     PolicyError where it asks for no release, or for a method that cannot be planned yet; InfeasibleError where
               what it asks for cannot be reached.

    >>> from shoal.datasets.visits import write_policy
    >>> plan(Policy.load(write_policy("."))).claims[0].guarantee
    ApproxDP(epsilon=Fraction(1, 1), delta=Fraction(1, 1000000))
    """
    asked = policy.release
    if asked is None:
        raise PolicyError(
            "the policy asks for no release",
            fix="add a `release:` block, such as `release: {epsilon: 1, delta: 1e-6}`, once its columns have domains",
        )
    if asked.method is None or asked.method not in PLANS:
        raise PolicyError(
            "release.method: this method cannot be planned yet", came=asked.method, allowed=", ".join(PLANS)
        )
    if asked.noisy_counts is not None:
        return NoisyCountsPlan.of(policy)
    return (BoxesPlan if asked.grouping == "boxes" else PLANS[asked.method]).of(policy)
