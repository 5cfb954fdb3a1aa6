"""The catalogue: every attack by name, with the sizes at which it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import UsageError
from shoal.lab.attacks import (
    best_visited,
    delta_sampling,
    extreme_value,
    homogeneity,
    intersection,
    k_duplication,
    linkage,
    membership,
    reservoir,
    same_sample,
)
from shoal.lab.attacks.outcome import AttackResult, AttackSetting


@dataclass(frozen=True)
class Attack:
    """An attack with its name, what it shows in one line, and the rows and runs that it takes where none are given."""

    name: str
    summary: str
    run: Callable[[AttackSetting], AttackResult]
    rows: int
    runs: int
    takes_policy: bool = False

    def setting(
        self, rows: int | None = None, runs: int | None = None, seed: int = 0, policy: Path | None = None
    ) -> AttackSetting:
        """The setting of a run; UsageError for a policy where the attack takes none."""
        if policy is not None and not self.takes_policy:
            allowed = ", ".join(each.name for each in ATTACKS.values() if each.takes_policy)
            raise UsageError(
                f"attack '{self.name}' has releases of its own", came=f"--policy {policy}", allowed=allowed
            )
        return AttackSetting(rows or self.rows, runs or self.runs, seed, policy)


_ALL = (
    Attack("linkage", "Records without names, rounded, or by MDAV are matched to people.", linkage.link, 1000, 300),
    Attack(
        "extreme-value",
        "The end of a published range is the income of the richest.",
        extreme_value.read_extremes,
        300,
        40,
    ),
    Attack("k-duplication", "k equal rows are one person's record.", k_duplication.point_at_records, 1000, 300),
    Attack(
        "delta-sampling",
        "A method that is (0, delta)-DP publishes raw records.",
        delta_sampling.sample_by_delta,
        1000,
        200,
    ),
    Attack(
        "homogeneity",
        "All people of a k-anonymous class have one confidential value.",
        homogeneity.read_homogeneous,
        600,
        10_000,
    ),
    Attack("intersection", "Two k-anonymous tables share one person.", intersection.intersect, 1000, 400),
    Attack("same-sample", "Two publications from one sample give a person away.", same_sample.publish_twice, 800, 80),
    Attack("reservoir", "A sample of a stream changes when a person arrives.", reservoir.watch, 600, 60),
    Attack(
        "best-visited",
        "The best of the schemes visited tells neighbours apart.",
        best_visited.choose_best_visited,
        360,
        300,
    ),
    Attack(
        "membership",
        "Whether a person was in the table, asked of any release.",
        membership.infer_membership,
        200,
        60,
        takes_policy=True,
    ),
)

ATTACKS: dict[str, Attack] = {attack.name: attack for attack in _ALL}
"""All attacks by name, in the order of the guide."""


def find_attack(name: str) -> Attack:
    """The attack of a name; UsageError where there is none.

    >>> find_attack("reservoir").runs
    60
    """
    if name not in ATTACKS:
        raise UsageError("no such attack", came=name, allowed=", ".join(ATTACKS), fix="see `shoal attack --list`")
    return ATTACKS[name]
