"""The release as the policy file writes it: the method, its promise, the recoding, the views, the sample and the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from shoal.policy.model.base import (
    Delta,
    Distance,
    Epsilon,
    FromOne,
    FromTwo,
    FromZero,
    Gain,
    Name,
    PolicyPart,
    Rate,
    RateOrAuto,
    Share,
    WholeNumber,
    Word,
    only_key,
    refusal,
)

Score = Literal["ramp", "records", "discernibility", "target"]
SCORES: tuple[Score, ...] = ("ramp", "records", "discernibility", "target")

DEPTHS = {"type": "integer", "minimum": 1, "maximum": 256}
Growth = Literal["surveys"]

SHARES: dict[str, Fraction] = {"choose": Fraction(1, 20), "tree": Fraction(3, 20)}
"""The part of `release.epsilon` that a choice takes when the policy does not say (decision 0002)."""


def _growth(value: Any) -> str:
    """The one way to grow a tree; the way that was removed is refused by its name."""
    if value == "privtree":
        raise refusal(
            "the tree of noisy tests was removed: measured beside `surveys`, it was no better",
            "surveys",
            "leave `grow` out",
        )
    return Word("surveys")(value)


class PaidChoiceModel(PolicyPart):
    """A choice that looks at the data and pays for it."""

    long_words: ClassVar = "{epsilon: a number}"

    epsilon: Epsilon | None = Field(
        default=None, description="What the choice costs; a part of `release.epsilon`. A fixed share when left out."
    )
    finest: dict[Name, FromZero] | None = Field(
        default=None, description="No label of the attribute is finer than this level of its hierarchy."
    )
    coarsest: dict[Name, FromZero] | None = Field(
        default=None, description="No label of the attribute is coarser than this level of its hierarchy."
    )


class ChooseModel(PaidChoiceModel):
    """One level for each attribute, drawn from all combinations."""

    long_words: ClassVar = "{epsilon: a number, ...}"

    score: Annotated[Score, BeforeValidator(Word(*SCORES))] | None = Field(
        default=None,
        description="What a good recoding keeps: records that likely survive (`ramp`, when left out), the expected "
        "published `records`, small groups (`discernibility`), or what tells a `target` attribute's values apart.",
    )
    target: Name | None = Field(default=None, description="The attribute of the score `target`.")


class TreeModel(PaidChoiceModel):
    """A tree of boxes, grown on noisy counts."""

    long_words: ClassVar = "{epsilon: a number, ...}"

    grow: Annotated[Growth, BeforeValidator(_growth)] | None = Field(
        default=None,
        description="How the tree learns: from `surveys`, noisy counts of whole partitions, as when it is left out.",
    )
    sample: Rate | None = Field(
        default=None,
        description="Grow on a separate random sample of this rate instead of the whole table: quicker where rows are many. "
        "Its surveys may be less noisy for the same price.",
    )
    depth: Annotated[int, BeforeValidator(WholeNumber(1, 256)), WithJsonSchema(DEPTHS)] | None = Field(
        default=None,
        description="How many times a box may be divided on the way from the whole domain; 64 when left out.",
    )


class RecodingModel(PolicyPart):
    """How coarse the labels are: fixed in advance, or chosen by a mechanism that is paid for."""

    short: ClassVar = {"enum": ["tree", "choose"]}
    long_words: ClassVar = "tree, choose, {levels: ...}, {choose: ...} or {tree: ...}"

    levels: dict[Name, FromZero] | None = Field(
        default=None,
        description="A level for each attribute, fixed in advance and free of cost; 0 is the value itself, and so is "
        "an attribute that is not named.",
    )
    choose: ChooseModel | None = Field(
        default=None, description="One level for each attribute, chosen privately on the full table."
    )
    tree: TreeModel | None = Field(
        default=None,
        description="A tree of boxes, grown privately: fine labels where records are dense, coarse elsewhere.",
    )

    @classmethod
    def expand_short_form(cls, value: Any) -> Any:
        """One word stands for the choice with all its defaults."""
        return {Word("tree", "choose")(value): {}} if isinstance(value, str) and value else value

    @model_validator(mode="after")
    def _one_kind(self) -> RecodingModel:
        only_key(self, "levels", "choose", "tree")
        return self

    @property
    def paid(self) -> PaidChoiceModel | None:
        """The choice that costs something, if there is one."""
        return self.choose or self.tree

    @property
    def key(self) -> str:
        """The key that is given: `levels`, `choose` or `tree`."""
        return "levels" if self.levels is not None else "choose" if self.choose is not None else "tree"

    @property
    def epsilon(self) -> Fraction:
        """What the choice of the recoding costs, as far as the file says."""
        return (self.paid.epsilon or Fraction(0)) if self.paid else Fraction(0)

    def fill(self, epsilon: Fraction | None, published: tuple[str, ...]) -> RecodingModel:
        """The recoding with every default written out, given the release's epsilon and its attributes."""
        if self.levels is not None:
            return self.model_copy(update={"levels": {name: self.levels.get(name, 0) for name in published}})
        found: PaidChoiceModel = self.choose or self.tree or TreeModel()
        update: dict[str, Any] = {}
        if found.epsilon is None and epsilon is not None:
            update["epsilon"] = epsilon * SHARES[self.key]
        if isinstance(found, ChooseModel):
            update["score"] = found.score or "ramp"
        if isinstance(found, TreeModel):
            update |= {"depth": found.depth or 64, "grow": found.grow or "surveys"}
        return self.model_copy(update={self.key: found.model_copy(update=update)})


Every = Literal["singles", "pairs", "triples"]
EVERY: tuple[Every, ...] = ("singles", "pairs", "triples")
Allocation = Literal["equal", "weighted"]
Group = tuple[Name, ...]
Width = Annotated[int, BeforeValidator(WholeNumber(2, 3))]


class ChosenViewsModel(PolicyPart):
    """Views that a mechanism picks by their noisy dependence."""

    long_words: ClassVar = "{epsilon: a number, count: how many}"

    epsilon: Epsilon = Field(description="What the choice costs; a part of `release.epsilon`.")
    count: FromOne = Field(description="How many views are published.")
    width: Width | None = Field(default=None, description="How many attributes a view has: 2 (when left out) or 3.")


class ViewsModel(PolicyPart):
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
    choose: ChosenViewsModel | None = Field(default=None, description="Views chosen privately: those that depend most.")
    allocation: Annotated[Allocation, BeforeValidator(Word("equal", "weighted"))] | None = Field(
        default=None,
        description="How the promise is shared out: `equal` (when left out), or `weighted` by the attributes' weights.",
    )

    @classmethod
    def expand_short_form(cls, value: Any) -> Any:
        """`views: pairs` is `views: {every: pairs}`."""
        return {"every": Word(*EVERY)(value)} if isinstance(value, str) and value else value

    @model_validator(mode="before")
    @classmethod
    def _workload_of_a_width(cls, value: Any) -> Any:
        """`{workload: triples}` says `{every: triples}`."""
        if isinstance(value, dict) and isinstance(value.get("workload"), str):
            return {**{k: v for k, v in value.items() if k != "workload"}, "every": value["workload"]}
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> ViewsModel:
        only_key(self, "every", "groups", "workload", "choose")
        if self.limit is not None and self.every is None:
            raise refusal("`limit` without `every`", "limit beside every", "list the views you want in `workload`")
        return self

    @property
    def named_groups(self) -> tuple[tuple[str, tuple[Group, ...]], ...]:
        """The keys that name attributes, with the groups they name."""
        pairs = (("groups", self.groups), ("workload", self.workload))
        return tuple((key, groups) for key, groups in pairs if groups is not None)

    @property
    def epsilon(self) -> Fraction:
        """What the choice of the views costs."""
        return self.choose.epsilon if self.choose else Fraction(0)

    def candidates(self, published: Sequence[str]) -> tuple[Group, ...]:
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
    """Take `limit` of the groups: each time the first whose pairs, and then whose attributes, were taken least."""
    parts: dict[tuple[str, ...], list[int]] = {}
    for at, group in enumerate(groups):
        for size in (1, 2):
            for part in combinations(group, size):
                parts.setdefault(part, []).append(at)
    holders = {part: np.array(places) for part, places in parts.items()}
    once = len(groups) * len(groups[0]) + 1 if groups else 1  # more than attributes can be taken in all
    taken = np.zeros(len(groups), dtype=np.int64)
    found: list[Group] = []
    while len(found) < min(limit, len(groups)):
        best = groups[at := int(taken.argmin())]
        taken[at] = np.iinfo(np.int64).max // 2
        found.append(best)
        for size, weight in ((1, 1), (2, once)):
            for part in combinations(best, size):
                taken[holders[part]] += weight
    return found


MethodName = Literal[
    "safe-k",
    "sample",
    "k-anonymity",
    "microaggregation",
    "probabilistic-k",
    "t-closeness",
    "anatomy",
    "dp-microaggregation",
]
METHOD_NAMES: tuple[MethodName, ...] = get_args(MethodName)
Bound = Literal["tight", "published"]
Prefer = Literal["rows", "balance", "detail"]
Grouping = Literal["mdav", "vmdav", "approx", "ranking", "optimal", "insensitive"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
Show = Literal["centroid", "median", "label"]
Calibration = Literal["whole", "per_record"]
Format = Literal["parquet", "csv"]


class SamplingModel(PolicyPart):
    """How many rows are kept, each independently."""

    long_words: ClassVar = "{beta: auto}, {beta: a number} or {already: a number}"

    beta: RateOrAuto | None = Field(
        default=None,
        description="The probability with which each row is kept: a number, or `auto`; `auto` when left out.",
    )
    already: Rate | None = Field(
        default=None,
        description="The table is itself a random sample of a population, drawn at this rate or below; no second "
        "sample is drawn. Levels only, one release, and nothing else may ever be computed from the table.",
    )
    prefer: Annotated[Prefer, BeforeValidator(Word("rows", "balance", "detail"))] = Field(
        default="balance",
        description="With `beta: auto`: a larger sample in larger classes (`rows`), a smaller one in finer `detail`, "
        "or a `balance`.",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> SamplingModel:
        if self.beta is not None and self.already is not None:
            raise refusal("both `beta` and `already`", "one of the two", "leave `beta` out: no second sample is drawn")
        if self.prefer != "balance" and (self.already is not None or isinstance(self.beta, Fraction)):
            raise refusal(
                "`prefer` without `beta: auto`", "prefer beside beta: auto", "the rate is given: leave it out"
            )
        return self


class OutputModel(PolicyPart):
    """The form of the published table."""

    short: ClassVar = {"enum": ["parquet", "csv"]}
    long_words: ClassVar = "parquet, csv, or {format: parquet or csv}"

    format: Annotated[Format, BeforeValidator(Word("parquet", "csv"))] = Field(
        default="parquet", description="The kind of file: `parquet` or `csv`; `output: csv` says the same."
    )

    @classmethod
    def expand_short_form(cls, value: Any) -> Any:
        """`output: csv` is `output: {format: csv}`."""
        return {"format": Word("parquet", "csv")(value)} if isinstance(value, str) and value else value


class ReleaseModel(PolicyPart):
    """One release: a method and what it is asked to promise."""

    long_words: ClassVar = "a mapping with `method` and more"

    method: Annotated[MethodName, BeforeValidator(Word(*METHOD_NAMES))] = Field(
        description="`safe-k`, `sample`, `k-anonymity`, `microaggregation`, `probabilistic-k`, `t-closeness`, "
        "`anatomy` or `dp-microaggregation`."
    )
    epsilon: Epsilon | None = Field(
        default=None,
        description="The most that the whole release may cost: recoding, views and repeats included.",
    )
    delta: Delta | None = Field(default=None, description="The delta of the whole release.")
    k: FromOne | None = Field(
        default=None,
        description="The minimum size of a class, or of a group, that is published; for `safe-k` found from the promise "
        "when left out.",
    )
    l: FromTwo | None = Field(  # noqa: E741
        None, description="How many distinct confidential values each group must hold."
    )
    t: Distance | None = Field(
        default=None,
        description="How far a group's confidential values may stray from the whole table's: a ratio from 1 up for "
        "`t-closeness` and `anatomy`, else the earth mover's distance, below 1.",
    )
    suppression: Share | None = Field(
        default=None, description="For `k-anonymity`: the share of rows that may be suppressed."
    )
    crowds: Mapping[str, FromTwo] | None = Field(
        default=None,
        description="For `probabilistic-k` by `ranking`: the k of confidential attributes that have one of their own.",
    )
    grouping: Annotated[Grouping, BeforeValidator(Word(*GROUPINGS))] | None = Field(
        default=None,
        description="How near records find each other: `mdav`, `vmdav`, `approx`, `ranking`, `optimal` or `insensitive`.",
    )
    gain: Gain | None = Field(
        default=None,
        description="For `vmdav`: how readily a group grows beyond k; 0 never, about 1.1 for clustered records.",
    )
    show: Annotated[Show, BeforeValidator(Word("centroid", "median", "label"))] | None = Field(
        default=None,
        description="For `microaggregation`: what a group shows, its `centroid`, its `median`, or a `label` that covers it.",
    )
    calibration: Annotated[Calibration, BeforeValidator(Word("whole", "per_record"))] | None = Field(
        default=None,
        description="For `dp-microaggregation`: noise for the `whole` data set, or `per_record` as the thesis has it, "
        "which costs more than it says.",
    )
    recoding: RecodingModel | None = Field(
        default=None,
        description="How coarse the labels are. When left out, `safe-k` grows a tree for a share of epsilon; a table that "
        "is already a sample keeps its values.",
    )
    views: ViewsModel | None = Field(
        default=None, description="Many narrow tables instead of one wide one; one table when left out."
    )
    sampling: SamplingModel | None = Field(default=None, description="The random sample that is published.")
    bound: Annotated[Bound, BeforeValidator(Word("tight", "published"))] | None = Field(
        default=None,
        description="The theorem that is charged: our `tight` one, or the `published` one, which is looser.",
    )
    repeat: FromOne = Field(
        default=1, description="How many releases of this kind are planned, each from its own sample, charged together."
    )
    output: OutputModel = Field(default=OutputModel(), description="The form of the published table.")

    @property
    def chosen(self) -> Fraction:
        """The part of epsilon that goes to choices: recoding and views."""
        recoding = self.recoding.epsilon if self.recoding else Fraction(0)
        return recoding + (self.views.epsilon if self.views else Fraction(0))
