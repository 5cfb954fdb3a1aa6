"""A look: results on the real table that a person saw before a charge, of which kind, and with which plan.

A promise is proved for a plan that was fixed without the data. Who sees results, changes the plan and sees again chooses the plan
by the data, and what that choice gives away is not covered. So looks are on record, and a certificate says how many there
were before it. A look with the very plan that is released changes nothing. One with another plan means that the plan may have
been chosen by what was seen. A draft by `shoal init` is neither: what it read off the table stays marked in the policy itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

KINDS_OF_LOOK = ("init", "check", "dry-run", "assess")
"""What shows results on the real table: a draft of the policy, a check of the table, a dry run, an assessment of a release."""
OTHER = "other"
"""What is said of a look whose kind is not on record."""
_WORDS = {
    "init": ("draft of the policy", "drafts of the policy"),
    "check": ("check of the table", "checks of the table"),
    "dry-run": ("dry run", "dry runs"),
    "assess": ("assessment", "assessments"),
    OTHER: ("look of another kind", "looks of another kind"),
}


@dataclass(frozen=True)
class Look:
    """A look that is on record: its kind, and the hash of the policy's `confirmed_lock`, where there was a policy."""

    kind: str = OTHER
    lock: str | None = None

    def is_of_another_plan(self, lock: str) -> bool:
        """Whether it showed results of another plan than this one. Where that is not on record, it may have."""
        return self.kind != "init" and self.lock != lock


@dataclass(frozen=True)
class LookCount:
    """How many looks of one kind are on record, and how many of them were made with another plan than the one in question."""

    kind: str
    times: int
    other_plan: int


def count_looks(looks: Iterable[tuple[Look, int]], lock: str) -> tuple[LookCount, ...]:
    """The looks of each kind, in the order of the kinds, from each look and how often it was made.

    The hash of another plan is not told: a plan that was drafted from the data could be guessed from it, and the data with it.

    >>> count_looks([(Look("check", "a"), 3), (Look("check", "b"), 1), (Look("init"), 1)], "a")
    (LookCount(kind='init', times=1, other_plan=0), LookCount(kind='check', times=4, other_plan=1))
    """
    every = list(looks)
    found: list[LookCount] = []
    for kind in (*KINDS_OF_LOOK, OTHER):
        times = sum(often for look, often in every if look.kind == kind)
        others = sum(often for look, often in every if look.kind == kind and look.is_of_another_plan(lock))
        found += [LookCount(kind, times, others)] if times else []
    return tuple(found)


def look_words(counts: Sequence[LookCount]) -> str:
    """What is on record before a release, in sentences.

    >>> look_words([LookCount("check", 2, 1)])
    'Before this release 2 looks at the real table are on record: 2 checks of the table. 1 of them was made with another plan.'
    """
    many = sum(count.times for count in counts)
    if not many:
        return "Before this release no look at the real table is on record."
    of = ", ".join(_counted(count.kind, count.times) for count in counts)
    looks = "1 look at the real table is" if many == 1 else f"{many:,} looks at the real table are"
    first = f"Before this release {looks} on record: {of}."
    other = sum(count.other_plan for count in counts)
    if other:
        return f"{first} {other:,} of them {'were' if other > 1 else 'was'} made with another plan."
    if all(count.kind == "init" for count in counts):
        return f"{first} What it read off the table is marked in the policy until a person confirms it."
    return f"{first} None of them was made with another plan."


def other_plan_words(counts: Sequence[LookCount]) -> str:
    """Which looks were made with another plan, and what that means."""
    of = ", ".join(_counted(count.kind, count.other_plan) for count in counts if count.other_plan)
    return (
        f"Results on the real table were seen with another plan before this one was charged ({of}), so this plan may have been "
        "chosen by what was seen; what that choice gives away is not covered."
    )


def _counted(kind: str, times: int) -> str:
    one, several = _WORDS[kind]
    return f"{times:,} {one if times == 1 else several}"
