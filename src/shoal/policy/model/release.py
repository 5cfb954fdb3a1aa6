"""The release as the policy file writes it: the method, its promise, the recoding, the views and the sample."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from shoal.policy.model.parts import Part
from shoal.policy.model.recoding import Recoding
from shoal.policy.model.scalar import (
    Delta,
    Distance,
    Epsilon,
    FromOne,
    FromTwo,
    Gain,
    Rate,
    RateOrAuto,
    Share,
    Word,
    refused,
)
from shoal.policy.model.views import Views

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


class Sampling(Part):
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
        description="With `beta: auto`: a larger sample in larger crowds (`rows`), a smaller one in finer `detail`, "
        "or a `balance`.",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Sampling:
        if self.beta is not None and self.already is not None:
            raise refused("both `beta` and `already`", "one of the two", "leave `beta` out: no second sample is drawn")
        if self.prefer != "balance" and (self.already is not None or isinstance(self.beta, Fraction)):
            raise refused(
                "`prefer` without `beta: auto`", "prefer beside beta: auto", "the rate is given: leave it out"
            )
        return self


class Output(Part):
    """The form of the published table."""

    short: ClassVar = {"enum": ["parquet", "csv"]}
    long_words: ClassVar = "parquet, csv, or {format: parquet or csv}"

    format: Annotated[Format, BeforeValidator(Word("parquet", "csv"))] = Field(
        default="parquet", description="The kind of file: `parquet` or `csv`; `output: csv` says the same."
    )

    @classmethod
    def spelled(cls, value: Any) -> Any:
        """One word is the format."""
        return {"format": Word("parquet", "csv")(value)} if isinstance(value, str) and value else value


class ReleaseAsked(Part):
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
        description="The smallest crowd that is published; for `safe-k` found from the promise when left out.",
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
    recoding: Recoding | None = Field(
        default=None,
        description="How coarse the labels are. When left out, `safe-k` grows a tree for a share of epsilon; a table that "
        "is already a sample keeps its values.",
    )
    views: Views | None = Field(
        default=None, description="Many narrow tables instead of one wide one; one table when left out."
    )
    sampling: Sampling | None = Field(default=None, description="The random sample that is published.")
    bound: Annotated[Bound, BeforeValidator(Word("tight", "published"))] | None = Field(
        default=None,
        description="The theorem that is charged: our `tight` one, or the `published` one, which is looser.",
    )
    repeat: FromOne = Field(
        default=1, description="How many releases of this kind are planned, each from its own sample, charged together."
    )
    output: Output = Field(default=Output(), description="The form of the published table.")

    @property
    def chosen(self) -> Fraction:
        """The part of epsilon that goes to choices: recoding and views."""
        recoding = self.recoding.epsilon if self.recoding else Fraction(0)
        return recoding + (self.views.epsilon if self.views else Fraction(0))
