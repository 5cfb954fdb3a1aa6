"""The release as the policy file writes it: the method, its promise, the recoding, the views, the sample and the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from shoal.policy.model.base import (
    Delta,
    Distance,
    Epsilon,
    EpsilonOrNothing,
    FromOne,
    FromTwo,
    FromZero,
    Gain,
    Name,
    NumberBetween,
    PolicyPart,
    Rate,
    RateOrAuto,
    Share,
    SizeOrAuto,
    Truth,
    Value,
    WholeNumber,
    Word,
    as_text,
    only_key,
    refusal,
    schema_of_number,
)
from shoal.policy.model.criteria import CriteriaModel

Loss = Literal["granularity", "discernibility", "class_size"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
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
    target: Name | None = Field(
        default=None,
        description="The attribute that is to be predicted from the others: every box shows one label of it, the finest.",
    )


class SearchModel(PolicyPart):
    """One level for each quasi-identifier, searched for on the table; no differential promise covers what it gives away."""

    long_words: ClassVar = "{loss: granularity, ...} or {}"

    loss: Annotated[Loss, BeforeValidator(Word(*LOSSES))] | None = Field(
        default=None,
        description="What the levels are to lose least of: `granularity`, the detail of labels (when left out); "
        "`discernibility`, records told apart; `class_size`, small classes.",
    )
    levels: dict[Name, FromZero] | None = Field(
        default=None, description="Attributes whose level is fixed; the others are searched."
    )
    finest: dict[Name, FromZero] | None = Field(
        default=None, description="No label of the attribute is finer than this level of its hierarchy."
    )
    coarsest: dict[Name, FromZero] | None = Field(
        default=None, description="No label of the attribute is coarser than this level of its hierarchy."
    )
    local: Truth | None = Field(
        default=None,
        description="`true`: rows that would be suppressed are shown with coarser labels of their own where that is enough; "
        "`false` when left out.",
    )

    def fill(self) -> SearchModel:
        """The same with every default written out."""
        return self.model_copy(update={"loss": self.loss or "granularity", "local": bool(self.local)})


class RecodingModel(PolicyPart):
    """How coarse the labels are: fixed in advance, chosen by a mechanism that is paid for, or searched for on the table."""

    short: ClassVar = {"enum": ["tree", "choose", "search"]}
    long_words: ClassVar = "tree, choose, search, {levels: ...}, {choose: ...}, {tree: ...} or {search: ...}"

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
    search: SearchModel | None = Field(
        default=None,
        description="For `k-anonymity`: the levels with the least loss that satisfy every criterion, searched for on the table.",
    )

    @classmethod
    def expand_short_form(cls, value: Any) -> Any:
        """One word stands for the choice with all its defaults."""
        return {Word("tree", "choose", "search")(value): {}} if isinstance(value, str) and value else value

    @model_validator(mode="after")
    def _one_kind(self) -> RecodingModel:
        only_key(self, "levels", "choose", "tree", "search")
        return self

    @property
    def paid(self) -> PaidChoiceModel | None:
        """The choice that costs something, if there is one."""
        return self.choose or self.tree

    @property
    def key(self) -> str:
        """The key that is given: `levels`, `choose`, `tree` or `search`."""
        return next(
            key for key in ("levels", "choose", "search", "tree") if key == "tree" or getattr(self, key) is not None
        )

    @property
    def epsilon(self) -> Fraction:
        """What the choice of the recoding costs, as far as the file says."""
        return (self.paid.epsilon or Fraction(0)) if self.paid else Fraction(0)

    def fill(self, epsilon: Fraction | None, published: tuple[str, ...]) -> RecodingModel:
        """The recoding with every default written out, given the release's epsilon and its attributes."""
        if self.levels is not None:
            return self.model_copy(update={"levels": {name: self.levels.get(name, 0) for name in published}})
        if self.search is not None:
            return self.model_copy(update={"search": self.search.fill()})
        found: PaidChoiceModel = self.choose or self.tree or TreeModel()
        update: dict[str, Any] = {}
        if found.epsilon is None and epsilon is not None:
            update["epsilon"] = epsilon * SHARES[self.key]
        if isinstance(found, ChooseModel):
            update["score"] = found.score or "ramp"
        if isinstance(found, TreeModel):
            update |= {"depth": found.depth or 64, "grow": found.grow or "surveys"}
        return self.model_copy(update={self.key: found.model_copy(update=update)})


TOTAL_SHARE = Fraction(1, 100)
"""The part of `release.epsilon` that the noisy total takes when the policy does not say."""


class TotalModel(PolicyPart):
    """The number of records, published beside the rows: with noise, or as it is where neighbours have the same number."""

    long_words: ClassVar = "{epsilon: a number} or {}"

    epsilon: EpsilonOrNothing | None = Field(
        default=None,
        description="What the noisy total costs; a part of `release.epsilon`. One hundredth of it when left out. 0 publishes the "
        "number itself, where one row is replaced by another: then it is the same for all neighbours.",
    )


Every = Literal["singles", "pairs", "triples"]
EVERY: tuple[Every, ...] = ("singles", "pairs", "triples")
Allocation = Literal["equal", "weighted"]
Group = tuple[Name, ...]
Width = Annotated[int, BeforeValidator(WholeNumber(2, 3))]
ShowViews = Literal["rows", "counts"]
CellsWord = Literal["merged", "declared"]
FavourWord = Literal["counts", "associations"]
MOST_SYNTHETIC = 100_000_000
"""The most rows of a synthetic table."""


class ChosenViewsModel(PolicyPart):
    """Views that a mechanism picks by their noisy dependence."""

    long_words: ClassVar = "{epsilon: a number, count: how many}"

    epsilon: Epsilon | None = Field(
        default=None,
        description="What the choice costs; a part of `release.epsilon`. Views of rows need it; noisy counts have none.",
    )
    count: FromOne | None = Field(
        default=None,
        description="How many views are published. Views of rows need it; of noisy counts the scores decide when it is left out.",
    )
    width: Width | None = Field(
        default=None,
        description="How many attributes a view has, a table of noisy counts at most: 2 (when left out) or 3.",
    )


ChosenShare = Annotated[
    Fraction,
    BeforeValidator(NumberBetween("a number above 0 and below 1/2", 0, Fraction(1, 2))),
    as_text,
    schema_of_number(exclusiveMinimum=0, exclusiveMaximum=0.5),
]


class AdaptModel(PolicyPart):
    """Tables of noisy counts that are chosen one after the other, each as the one that the tables so far foresee worst."""

    long_words: ClassVar = "{rounds: how many}, {share: a number}, {target: an attribute} or {}"

    rounds: FromOne | None = Field(
        default=None,
        description="How many tables are chosen; when left out four times as many as there are attributes, beside `every` or "
        "`workload` half as many, with a `target` a quarter.",
    )
    width: Width | None = Field(
        default=None,
        description="How many attributes a table has at most: 2 or 3; when left out 2, beside `every` or `workload` 3.",
    )
    target: str | None = Field(
        default=None,
        description="The attribute that will be predicted from the others: only tables that hold it are chosen. Beside `every` "
        "or `workload`; when left out all tables may be chosen.",
    )
    share: ChosenShare | None = Field(
        default=None,
        description="Beside `every` or `workload`, the part of the precision that chosen tables take, their choice included: "
        "more makes them nearer, and the tables before them less near. A twentieth when left out.",
    )


class GroupsModel(PolicyPart):
    """Which sets of attributes have a table of their own."""

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
    adapt: AdaptModel | None = Field(
        default=None,
        description="Noisy counts alone: tables chosen privately one after the other, each as the one that a model of those "
        "before it foresees worst. Beside `every` or `workload` their tables are counted first, and chosen ones are added.",
    )
    cells: Annotated[CellsWord, BeforeValidator(Word("merged", "declared"))] | None = Field(
        default=None,
        description="Noisy counts alone: `merged`, small cells are put together (the tables of single attributes are published "
        "too, and decide it), or `declared`, cells as the policy declares them. When left out `merged`; for a synthetic table "
        "from tables that are not chosen `declared`, unless their tables have too many cells or too much noise.",
    )
    singles: ChosenShare | None = Field(
        default=None,
        description="Noisy counts alone: the part of the precision that goes to a table of each attribute by itself, beside "
        "tables of several. When left out, three tenths where such tables are needed (to merge cells, or where tables are "
        "chosen), else there are none; for a synthetic table whose cells the policy leaves open, domains and promise decide.",
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
    def _one_kind(self) -> Self:
        keys = ("every", "groups", "workload", "choose", "adapt")
        if self.adapt is None or [key for key in keys if getattr(self, key) is not None] not in (
            ["every", "adapt"],
            ["workload", "adapt"],
        ):
            only_key(self, *keys)
        elif self.every == "singles" or any(len(group) == 1 for group in self.workload or ()):
            raise refusal(
                "`adapt` beside tables of one attribute",
                "beside tables of two attributes or more",
                "leave them out: attributes that stand in no such table are counted by themselves first",
            )
        if self.singles is not None and (
            self.every == "singles" or any(len(group) == 1 for _, groups in self.named_groups for group in groups)
        ):
            raise refusal(
                "`singles` beside tables of one attribute",
                "beside tables of two attributes or more",
                "leave them out: `singles` counts every attribute by itself",
            )
        if self.adapt is not None and self.adapt.target is not None and not (self.every or self.workload):
            raise refusal(
                "`target` where all tables are chosen",
                "target beside every or workload",
                "add `every: pairs`: tables without the target are counted first, and those with it are chosen",
            )
        if self.adapt is not None and self.adapt.target is not None and self.limit is not None:
            raise refusal(
                "`target` beside `limit`", "one of them", "leave `limit` out, or list the tables in `workload`"
            )
        if self.adapt is not None and self.adapt.share is not None and not (self.every or self.workload):
            raise refusal(
                "`adapt: {share: ...}` where every table is chosen",
                "`share` beside `every` or `workload`",
                "leave `share` out, or count tables first: `every: pairs`",
            )
        if self.limit is not None and self.every is None:
            raise refusal("`limit` without `every`", "limit beside every", "list the views you want in `workload`")
        return self

    @property
    def named_groups(self) -> tuple[tuple[str, tuple[Group, ...]], ...]:
        """The keys that name attributes, with the groups they name."""
        pairs = (("groups", self.groups), ("workload", self.workload))
        return tuple((key, groups) for key, groups in pairs if groups is not None)

    @property
    def width(self) -> int:
        """How many attributes a table has at most, where the groups are not named one by one; 0 where they are."""
        if self.choose is not None:
            return self.choose.width or 2
        if self.adapt is not None:
            return self.adapt.width or (3 if self.every or self.workload else 2)
        return EVERY.index(self.every) + 1 if self.every else 0

    def candidates(self, published: Sequence[str], *, counts: bool = False) -> tuple[Group, ...]:
        """The views that are known without the data; all that could be chosen, where a mechanism chooses.

        Noisy `counts` are chosen among tables of two attributes up to the width; views of rows all have the width. Tables that
        are counted before the rounds (`first_groups`) are not chosen again.
        """
        if self.adapt is None and not (counts and self.choose is not None):
            return self._named_in_advance(published)
        before = {frozenset(group) for group in self.first_groups(published)}
        every = (group for size in range(2, self.width + 1) for group in combinations(published, size))
        target = None if self.adapt is None else self.adapt.target
        return tuple(group for group in every if frozenset(group) not in before and (target is None or target in group))

    def first_groups(self, published: Sequence[str]) -> tuple[Group, ...]:
        """The tables of noisy counts that are counted before others are chosen in rounds; none where all are chosen."""
        if self.adapt is None or not (self.every or self.workload):
            return ()
        return self._named_in_advance(published)

    def _named_in_advance(self, published: Sequence[str]) -> tuple[Group, ...]:
        if self.groups is not None or self.workload is not None:
            return self.groups or self.workload or ()
        width = EVERY.index(self.every) + 1 if self.every else self.width
        found = tuple(combinations(published, width))
        if self.limit is None:
            return found
        # By the names alone, so that a lock, which does not keep the order of declaration, says which views these are.
        taken = {frozenset(group) for group in _spread(tuple(combinations(sorted(published), width)), self.limit)}
        return tuple(group for group in found if frozenset(group) in taken)

    def count_candidates(self, published: int, *, counts: bool) -> int:
        """How many views `candidates` gives where so many attributes are published, as far as groups are not named."""
        if self.adapt is None and not (counts and self.choose is not None):
            return comb(published, self.width)
        held = 0 if self.adapt is None or self.adapt.target is None else 1  # an attribute that every table holds
        found = sum(comb(published - held, size - held) for size in range(2, self.width + 1))
        if self.adapt is None:
            return found
        if self.every is not None:
            wide = EVERY.index(self.every) + 1
            before = comb(published - held, wide - held) if wide <= self.width else 0
            return found - min(before, self.limit or before)
        return found - sum(
            len(group) <= self.width and (not held or self.adapt.target in group) for group in self.workload or ()
        )

    def fill_counts(self, published: int) -> Self:
        """The same with every default of noisy counts written out, where so many attributes are published."""
        update: dict[str, Any] = {"cells": self.cells or "merged"}
        if self.choose is not None:
            update["choose"] = self.choose.model_copy(update={"width": self.width})
        if self.adapt is not None:
            most = self.count_candidates(published, counts=True)
            beside = published // (2 if self.adapt.target is None else 4)
            usual = beside if self.every or self.workload else 4 * published
            rounds = self.adapt.rounds or max(1, min(usual, most))
            update["adapt"] = self.adapt.model_copy(update={"rounds": rounds, "width": self.width})
        return self.model_copy(update=update)


class ViewsModel(GroupsModel):
    """Many narrow tables instead of one wide one: of rows, each from its own sample, or of noisy counts."""

    short: ClassVar = {"enum": list(EVERY)}
    long_words: ClassVar = "pairs, triples, singles, {groups: ...}, {workload: ...}, {choose: ...} or {adapt: ...}"

    allocation: Annotated[Allocation, BeforeValidator(Word("equal", "weighted"))] | None = Field(
        default=None,
        description="How the promise is shared out: `equal` (when left out), or `weighted` by the attributes' weights.",
    )
    show: Annotated[ShowViews, BeforeValidator(Word("rows", "counts"))] | None = Field(
        default=None,
        description="What a view shows: sampled `rows` (when left out), or noisy `counts` of cells; for method `synthetic`, "
        "`counts` alone.",
    )

    @property
    def epsilon(self) -> Fraction:
        """What the choice of the views costs, as far as the file says."""
        return (self.choose.epsilon or Fraction(0)) if self.choose else Fraction(0)


class CountsModel(GroupsModel):
    """Tables of noisy counts beside the rows of the release."""

    short: ClassVar = {"enum": list(EVERY)}
    long_words: ClassVar = (
        "pairs, triples, singles, {every: pairs, share: a number}, {workload: ...}, {choose: ...} or {adapt: ...}"
    )

    share: Rate | None = Field(
        default=None, description="The part of the promise that goes to the counts; a half when left out."
    )

    def fill_counts(self, published: int) -> Self:
        return super().fill_counts(published).model_copy(update={"share": self.share or Fraction(1, 2)})


def _rows(value: Any) -> int | str:
    return "noisy" if value == "noisy" else WholeNumber(1, MOST_SYNTHETIC)(value)


def _rule(value: Any) -> Any:
    """One combination that no row may have: for each attribute a value, or a list."""
    if not isinstance(value, dict):
        raise refusal("no combination of values", "a mapping, such as {age: [0, 15], licence: yes}")
    return {name: (item,) if isinstance(item, str) else item for name, item in value.items()}


Rule = Annotated[
    dict[Name, tuple[Value, ...]],
    BeforeValidator(_rule),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {
                "type": ["string", "number", "boolean", "array"],
                "items": {"type": ["string", "number", "boolean"]},
            },
            "minProperties": 1,
        }
    ),
]


class SyntheticModel(PolicyPart):
    """The synthetic table that is drawn from the noisy counts."""

    long_words: ClassVar = "{rows: noisy, or how many, never: [...], favour: counts or associations}"

    rows: (
        Annotated[
            int | Literal["noisy"],
            BeforeValidator(_rows),
            WithJsonSchema(
                {"anyOf": [{"const": "noisy"}, {"type": "integer", "minimum": 1, "maximum": MOST_SYNTHETIC}]}
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="How many rows the synthetic table has: a number that you declare, or `noisy`, about as many as the table, "
        "by the noisy counts; `noisy` when left out.",
    )
    never: tuple[Rule, ...] | None = Field(
        default=None,
        description="Combinations that no synthetic row has, each a mapping: a value, a list of values, or [low, high] of a "
        "number or date, for each attribute.",
    )

    favour: Annotated[FavourWord, BeforeValidator(Word("counts", "associations"))] | None = Field(
        default=None,
        description="What the rows come nearest to: `counts` (when left out), or `associations`, which are then about as large "
        "as in the original, chance included, while counts of pairs are a few percent further off. Where noise is large beside "
        "the table, associations are too small otherwise.",
    )

    def fill(self) -> SyntheticModel:
        """The same with every default written out; `favour` is there only where it was said."""
        return self.model_copy(update={"rows": self.rows or "noisy"})


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
    "synthetic",
]
METHOD_NAMES: tuple[MethodName, ...] = get_args(MethodName)
Bound = Literal["tight", "published"]
Prefer = Literal["rows", "balance", "detail"]
Grouping = Literal[
    "mdav",
    "vmdav",
    "approx",
    "ranking",
    "optimal",
    "insensitive",
    "mondrian",
    "strict_mondrian",
    "near",
    "random",
    "confidential",
    "boxes",
]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
Show = Literal["centroid", "median", "label", "bucket", "value"]
SHOWS: tuple[Show, ...] = get_args(Show)
Form = Literal["linked", "permuted"]
Calibration = Literal["whole", "per_record"]
Noise = Literal["auto", "laplace", "optimal", "gaussian"]
NOISES: tuple[Noise, ...] = get_args(Noise)
MOST_CORNERS = 64
"""The most corners of a domain that take turns."""
CORNERS = {"type": "integer", "minimum": 1, "maximum": MOST_CORNERS}
Format = Literal["parquet", "csv"]
Rare = Literal["keep", "refuse", "drop", "generalize", "replace"]
RARE: tuple[Rare, ...] = get_args(Rare)


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

    long_words: ClassVar = "a mapping with `epsilon` and `delta`, or with `method` and more"

    method: Annotated[MethodName, BeforeValidator(Word(*METHOD_NAMES))] | None = Field(
        default=None,
        description="`safe-k`, `sample`, `k-anonymity`, `microaggregation`, `probabilistic-k`, `t-closeness`, "
        "`anatomy`, `dp-microaggregation` or `synthetic`. When left out: `safe-k`, one wide table of up to four columns; of more "
        "columns noisy counts of all pairs.",
    )
    epsilon: Epsilon | None = Field(
        default=None,
        description="The most that the whole release may cost: recoding, views and repeats included.",
    )
    delta: Delta | None = Field(default=None, description="The delta of the whole release.")
    k: SizeOrAuto = Field(
        default=None,
        description="The minimum size of a class, or of a group, that is published; for `safe-k` and `dp-microaggregation` found "
        "from the promise when left out, or with `auto`.",
    )
    l: FromTwo | None = Field(  # noqa: E741
        None,
        description="How many distinct confidential values each group must hold; for `anatomy`, no value makes up more than 1/l "
        "of its group.",
    )
    t: Distance | None = Field(
        default=None,
        description="How far a group's confidential values may stray from the whole table's: a ratio from 1 up for "
        "`t-closeness`, else the earth mover's distance, below 1.",
    )
    suppression: Share | None = Field(
        default=None, description="For `k-anonymity`: the share of rows that may be suppressed."
    )
    criteria: CriteriaModel | None = Field(
        default=None, description="For `k-anonymity`: what every class satisfies beside k, l and t."
    )
    crowds: Mapping[str, FromTwo] | None = Field(
        default=None,
        description="For `probabilistic-k` by `ranking`: the k of confidential attributes that have one of their own.",
    )
    grouping: Annotated[Grouping, BeforeValidator(Word(*GROUPINGS))] | None = Field(
        default=None,
        description="How near records find each other: `mdav`, `vmdav`, `approx`, `ranking`, `optimal`, `insensitive`, "
        "`mondrian` or `strict_mondrian`. For `t-closeness` `near` or `random` records; for `anatomy` `random` ones, "
        "or such of like `confidential` values. For `dp-microaggregation` `boxes` that are halved where "
        "records are (when left out), `insensitive` clusters, or the `ranking` of each attribute by itself.",
    )
    gain: Gain | None = Field(
        default=None,
        description="For `vmdav`: how readily a group grows beyond k; 0 never, about 1.1 for clustered records.",
    )
    show: Annotated[Show, BeforeValidator(Word(*SHOWS))] | None = Field(
        default=None,
        description="For `microaggregation`: what a group shows, its `centroid`, its `median`, or a `label` that covers it. "
        "When left out: `label` for `mondrian` and `strict_mondrian`, else `centroid`. For `t-closeness`: the `bucket` of each "
        "confidential value, or the `value` itself, of which t-closeness is not claimed.",
    )
    form: Annotated[Form, BeforeValidator(Word("linked", "permuted"))] | None = Field(
        default=None,
        description="For `t-closeness` and `anatomy`: two tables `linked` by the number of a group, or one in which what is "
        "confidential was `permuted` inside groups that it does not show.",
    )
    rows: FromOne | None = Field(
        default=None,
        description="For `dp-microaggregation` by clusters: how many rows the table has (people, where the unit is a "
        "person), as everybody may know. A table with another number is refused. Boxes have none.",
    )
    corners: Annotated[int, BeforeValidator(WholeNumber(1, MOST_CORNERS)), WithJsonSchema(CORNERS)] | None = Field(
        default=None,
        description="For `dp-microaggregation` by `insensitive`: how many corners of the declared domain take turns as the point "
        "from which the next cluster is taken; 1 is a single order, which has the least noise. 1 when left out; for `per_record` "
        "all of them, 64 at most, as in the thesis.",
    )
    noise: Annotated[Noise, BeforeValidator(Word(*NOISES))] | None = Field(
        default=None,
        description="For `dp-microaggregation`: the noise of sums, `laplace`, `optimal` or `gaussian` (which needs a delta), or "
        "`auto`, the one with the least expected error; `auto` when left out.",
    )
    calibration: Annotated[Calibration, BeforeValidator(Word("whole", "per_record"))] | None = Field(
        default=None,
        description="For `dp-microaggregation`: noise for the `whole` data set, or `per_record` as the thesis has it, "
        "which costs (rows/k) times the number of attributes more than it says, and is charged so.",
    )
    recoding: RecodingModel | None = Field(
        default=None,
        description="How coarse the labels are. When left out, `safe-k` grows a tree for a share of epsilon, and `k-anonymity` "
        "searches; a table that is already a sample keeps its values.",
    )
    views: ViewsModel | None = Field(
        default=None, description="Many narrow tables instead of one wide one; one table when left out."
    )
    counts: CountsModel | None = Field(
        default=None, description="Tables of noisy counts beside the rows, in one promise; none when left out."
    )
    total: TotalModel | None = Field(
        default=None,
        description="For `safe-k` rows: the number of records, published with noise for a small part of epsilon, or as it is "
        "where rows are replaced, so that estimates have an upper end; none when left out.",
    )
    synthetic: SyntheticModel | None = Field(
        default=None, description="For `synthetic`: the table that is drawn from the noisy counts."
    )
    sampling: SamplingModel | None = Field(default=None, description="The random sample that is published.")
    bound: Annotated[Bound, BeforeValidator(Word("tight", "published"))] | None = Field(
        default=None,
        description="The theorem that is charged: our `tight` one, or the `published` one, which is looser.",
    )
    rare: Annotated[Rare, BeforeValidator(Word(*RARE))] | None = Field(
        default=None,
        description="For `sample`: what becomes of values with so few rows that they may not appear even once. They are left to "
        "hold the rate down (`keep`, when left out), make the release fail (`refuse`), or are treated before the sample is "
        "drawn: their rows are left out (`drop`), attributes take coarser levels until no value is rare (`generalize`), or "
        "their rows take the values of other rows, drawn at random (`replace`).",
    )
    rare_below: FromTwo | None = Field(
        default=None,
        description="For `sample` with `drop`, `generalize` or `replace`: values with fewer rows than this are treated as rare, "
        "where the promise itself asks for no more.",
    )
    repeat: FromOne = Field(
        default=1, description="How many releases of this kind are planned, each from its own sample, charged together."
    )
    output: OutputModel = Field(default=OutputModel(), description="The form of the published table.")

    @property
    def noisy_counts(self) -> ViewsModel | CountsModel | None:
        """The tables of noisy counts that are asked for: instead of rows, or beside them; None for rows alone."""
        if self.method == "synthetic" or (self.views is not None and self.views.show == "counts"):
            return self.views
        return self.counts

    @property
    def cell_levels(self) -> dict[str, int]:
        """The level of each attribute's counted cells: as the policy fixes them, or the finest that its labels may have."""
        if self.recoding is None:
            return {}
        return dict(
            self.recoding.levels or (self.recoding.paid.finest if self.recoding.paid is not None else None) or {}
        )

    @property
    def has_rows(self) -> bool:
        """Whether rows of the table are published, rather than noisy counts alone."""
        return self.method == "safe-k" and (self.views is None or self.views.show != "counts")

    @property
    def epsilon_total(self) -> Fraction:
        """The part of epsilon that goes to the noisy total, as far as the file says."""
        return (self.total.epsilon or Fraction(0)) if self.total else Fraction(0)

    @property
    def chosen(self) -> Fraction:
        """The part of epsilon that goes to choices: recoding and views."""
        recoding = self.recoding.epsilon if self.recoding else Fraction(0)
        return recoding + (self.views.epsilon if self.views else Fraction(0))
