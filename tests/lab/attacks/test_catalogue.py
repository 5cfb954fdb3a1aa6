"""The catalogue of attacks: all names, all sizes, and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.lab.attacks.catalogue import ATTACKS, find_attack


def test_the_ten_attacks():
    assert list(ATTACKS) == [
        "linkage",
        "extreme-value",
        "k-duplication",
        "delta-sampling",
        "homogeneity",
        "intersection",
        "same-sample",
        "reservoir",
        "best-visited",
        "membership",
    ]
    assert all(attack.summary.endswith(".") for attack in ATTACKS.values())


def test_an_unknown_name_and_a_policy_where_none_is_taken_are_refused():
    with pytest.raises(UsageError, match="no such attack"):
        find_attack("nothing")
    with pytest.raises(UsageError, match="releases of its own"):
        find_attack("linkage").setting(policy=Path("policy.yaml"))
    assert find_attack("membership").setting(policy=Path("policy.yaml")).rows == 200
