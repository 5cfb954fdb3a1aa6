"""The methods of a release that can be planned, and the plan of a policy by whichever method it names."""

from __future__ import annotations

from shoal.policy.policy import Policy
from shoal.publish.plan.base import Plan
from shoal.publish.plan.counted import METHODS, syntactic_plan
from shoal.publish.plan.safe_k import safe_k_plan


def plan(policy: Policy) -> Plan:
    """Resolve a policy; InfeasibleError when what it asks for cannot be reached."""
    asked = policy.release
    if asked is not None and asked.method in METHODS:
        return syntactic_plan(policy)
    return safe_k_plan(policy)
