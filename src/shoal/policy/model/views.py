"""The views as the policy file writes them: which narrow tables are published, and how the promise is shared out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from shoal.policy.model.parts import Part, one_of
from shoal.policy.model.scalar import Count, Epsilon, FromOne, Name, Word, refused

Every = Literal["singles", "pairs", "triples"]
EVERY: tuple[Every, ...] = ("singles", "pairs", "triples")
Allocation = Literal["equal", "weighted"]
Group = tuple[Name, ...]
Width = Annotated[int, BeforeValidator(Count(2, 3))]


class ChosenViews(Part):
    """Views that a mechanism picks by their noisy dependence."""

    long_words: ClassVar = "{epsilon: a number, count: how many}"

    epsilon: Epsilon = Field(description="What the choice costs; a part of `release.epsilon`.")
    count: FromOne = Field(description="How many views are published.")
    width: Width | None = Field(default=None, description="How many attributes a view has: 2 (when left out) or 3.")


class Views(Part):
    """Many narrow tables instead of one wide one, each from its own sample."""

    short: ClassVar = {"enum": list(EVERY)}
    long_words: ClassVar = "pairs, triples, singles, {groups: ...}, {workload: ...} or {choose: ...}"

    every: Annotated[Every, BeforeValidator(Word(*EVERY))] | None = Field(
        default=None,
        description="All `pairs`, or all `triples`, or all `singles`, of published attributes; `views: pairs` says the same.",
    )
    limit: FromOne | None = Field(
        default=None,
        description="With `every`: no more views than this, taken without the data so that all attributes occur about as often.",
    )
    groups: tuple[Group, ...] | None = Field(
        default=None, description="The published attributes split into groups: each attribute in exactly one."
    )
    workload: tuple[Group, ...] | None = Field(
        default=None,
        description="The sets of attributes that will be analysed together; they may overlap. `workload: triples` is `every`.",
    )
    choose: ChosenViews | None = Field(default=None, description="Views chosen privately: those that depend most.")
    allocation: Annotated[Allocation, BeforeValidator(Word("equal", "weighted"))] | None = Field(
        default=None,
        description="How the promise is shared out: `equal` (when left out), or `weighted` by the attributes' weights.",
    )

    @classmethod
    def spelled(cls, value: Any) -> Any:
        """One word stands for all of a width."""
        return {"every": Word(*EVERY)(value)} if isinstance(value, str) and value else value

    @model_validator(mode="before")
    @classmethod
    def _workload_of_a_width(cls, value: Any) -> Any:
        """`{workload: triples}` says `{every: triples}`."""
        if isinstance(value, dict) and isinstance(value.get("workload"), str):
            return {**{k: v for k, v in value.items() if k != "workload"}, "every": value["workload"]}
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Views:
        one_of(self, "every", "groups", "workload", "choose")
        if self.limit is not None and self.every is None:
            raise refused("`limit` without `every`", "limit beside every", "list the views you want in `workload`")
        return self

    @property
    def named(self) -> tuple[tuple[str, tuple[Group, ...]], ...]:
        """The keys that name attributes, with the groups they name."""
        pairs = (("groups", self.groups), ("workload", self.workload))
        return tuple((key, groups) for key, groups in pairs if groups is not None)

    @property
    def epsilon(self) -> Fraction:
        """What the choice of the views costs."""
        return self.choose.epsilon if self.choose else Fraction(0)

    def fixed(self, published: Sequence[str]) -> tuple[Group, ...]:
        """The views that are known without the data; all that could be chosen, where a mechanism chooses."""
        if self.groups is not None or self.workload is not None:
            return self.groups or self.workload or ()
        width = self.choose.width or 2 if self.choose else EVERY.index(self.every or "pairs") + 1
        found = tuple(combinations(published, width))
        if self.limit is None:
            return found
        # By the names alone, so that a lock, which does not keep the order of declaration, says which views these are.
        taken = {frozenset(group) for group in _spread(tuple(combinations(sorted(published), width)), self.limit)}
        return tuple(group for group in found if frozenset(group) in taken)


def _spread(groups: tuple[Group, ...], limit: int) -> list[Group]:
    """So many of them, one after another the first whose pairs and then attributes have occurred least."""
    left, used, pairs = list(groups), Counter[str](), Counter[tuple[str, str]]()
    found: list[Group] = []
    while left and len(found) < limit:
        best = min(left, key=lambda g: (sum(pairs[p] for p in combinations(g, 2)), sum(used[n] for n in g)))
        left.remove(best)
        found.append(best)
        used.update(best)
        pairs.update(combinations(best, 2))
    return found
