"""A plain random sample (CM06): rows as they are at fixed levels, each kept with a rate that is safe for this very table.

A value is a combination of the labels of all published attributes. A value is rare if it has so few rows that it may not appear
in the sample even once. Rare values stay and hold the rate down, as the paper has it, or are treated first: that is decided by
the data and is not covered by the promise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.scheme import Scheme
from shoal.anonymize.kernel.rollup import GeneralizedColumn
from shoal.anonymize.method.safe_k import bound_rows
from shoal.chance.source import Source
from shoal.data.schema import Attribute, Schema
from shoal.engine.base import Counts, Table
from shoal.errors import InfeasibleError, PreconditionError
from shoal.guarantee.claim import UNTUNED, Claim, Status, Tuning, make_claim
from shoal.guarantee.plain_sample import (
    SafeRate,
    SamplePrivacy,
    fewest_rows,
    largest_rate,
    rate_on_grid,
    sample_rate,
)
from shoal.guarantee.rounding import exact_text, text_down
from shoal.guarantee.unit import Unit
from shoal.progress import Stage

Rare = Literal["keep", "refuse", "drop", "generalize", "replace"]
RARE: tuple[Rare, ...] = ("keep", "refuse", "drop", "generalize", "replace")
"""What becomes of rare values before the sample is drawn."""
THEOREM = {"tight": "sample-exact", "published": "sample-published"}
"""The theorem of each bound."""
_FOUND: Mapping[Rare, tuple[str, ...]] = {
    "keep": (),
    "refuse": ("that no value is rare",),
    "drop": ("which values are rare",),
    "generalize": ("the levels of the labels",),
    "replace": ("which values are rare", "what took their place"),
}
"""What is found on the table beside its rate."""
_BOUND = {"tight": "exact", "published": "published"}
Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RareValues:
    """The values of a table that may not appear in a sample even once: for the custodian alone."""

    below: int
    """A value with fewer rows than this is rare."""
    values: tuple[tuple[tuple[str | None, ...], int], ...]
    """Each with its labels and how many rows it has, the rarest first."""
    total: int
    """How many values there are in all, rare or not."""

    @property
    def rows(self) -> int:
        """How many rows have a rare value."""
        return sum(rows for _, rows in self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"<RareValues: {len(self):,} of {self.total:,} values have fewer than {self.below:,} rows>"


@dataclass(frozen=True)
class CoarserLevel:
    """What one attribute at its next level would make of the rare values: for the custodian alone."""

    name: str
    level: int
    rare: int
    rare_rows: int


@dataclass(frozen=True)
class SampledMicrodata:
    """The outcome of a plain sample: the rows that are published, and what the custodian alone may know of the table."""

    table: Table
    recoding: Scheme
    """The levels of the labels; coarser than the policy's where rare values were generalized."""
    rate: Fraction
    """The probability with which each row was kept."""
    taking_part: int
    """Rows after contribution bounding."""
    rare: RareValues
    """At the policy's levels, before anything was done about them."""
    coarser: tuple[CoarserLevel, ...]
    """For each attribute that has one, what its next level would leave of the rare values."""
    sizes_before: Sizes
    """How many rows each value has at the policy's levels, before anything was done about rare ones."""
    sizes: Sizes
    """How many rows each value has in the table that was sampled."""
    exact: SafeRate
    published: SafeRate

    @property
    def sampled_from(self) -> int:
        """How many rows the table had from which the sample was drawn."""
        return int(self.sizes.sum())


@dataclass(frozen=True)
class PlainSample:
    """Recode to fixed levels, find the rate that is safe for the values of this table, and keep each row with it.

    Promise   SamplePrivacy by theorem `sample-exact` (or `sample-published`), for c = max_rows rows, given the table, its levels
              and the rate. It is no differential privacy, and does not compose.
    Requires  levels for every published attribute; neighbours that replace a unit; a rate at which a row can be expected.
    Reads     the published columns: once to count values, and again to treat and to sample them.

    >>> from shoal.data.schema import Role, Type
    >>> schema = Schema((Attribute("age", Role.QUASI, Type.INTEGER),))
    >>> scheme = Scheme(schema, {"age": 0})
    >>> sample = PlainSample(Fraction(3, 10), Fraction(1, 100), scheme, Unit.row("replace_one"))
    >>> sample.claims()[0].status.value
    'proved with condition'
    """

    epsilon: Fraction
    delta: Fraction
    scheme: Scheme
    unit: Unit
    bound: Literal["tight", "published"] = "tight"
    rare: Rare = "keep"
    rare_below: int | None = None
    """Values with fewer rows are treated as rare; never below what epsilon and c make of it. None: just that."""
    rate: Fraction | None = None
    """The rate that the policy declares; None where the table decides it."""

    name = "sample"

    def __post_init__(self) -> None:
        if self.unit.neighbours != "replace_one":
            raise PreconditionError(
                self.theorem,
                "the theorems of a plain sample are about rows that take another value",
                came=self.unit.words(),
                allowed="neighbours: replace_one",
            )
        most = largest_rate(epsilon=self.epsilon, delta=self.delta, c=self.c, bound=_BOUND[self.bound])
        if self.rate is not None and self.rate > Fraction(most):
            raise InfeasibleError(
                "release.sampling.beta: no table has values so common that this rate is safe",
                came=exact_text(self.rate),
                allowed=f"at most {text_down(Fraction(most))}, and what the table allows",
                fix="leave it out, and the table decides the rate; or promise less",
            )

    @property
    def c(self) -> int:
        """How many rows may take other values together: the most rows of a unit."""
        return self.unit.max_rows

    @property
    def theorem(self) -> str:
        """The name of the theorem that the rate rests on."""
        return THEOREM[self.bound]

    @property
    def below(self) -> int:
        """A value with fewer rows is rare."""
        return max(fewest_rows(self.epsilon, self.c), self.rare_below or 0)

    @property
    def largest_rate(self) -> float:
        """A rate above which no table is safe, known before one is read."""
        return largest_rate(epsilon=self.epsilon, delta=self.delta, c=self.c, bound=_BOUND[self.bound])

    def check(self, schema: Schema) -> None:
        """Check a premise: a value is made of exactly the published attributes, and nothing else is shown."""
        published = {attribute.name for attribute in schema.published}
        if set(self.scheme.columns) != published:
            raise PreconditionError(
                self.theorem,
                "values are not made of exactly the published attributes",
                came=", ".join(sorted(set(self.scheme.columns) ^ published)),
                fix="label every published attribute, or give it the role drop",
            )

    def claims(self, *, tuned: Tuning = UNTUNED) -> tuple[Claim, ...]:
        """The claim of a release by this method, with the condition that it is for the table and the rate as they are."""
        conditions = [self.condition()]
        if tuned.drafted:
            conditions.append("the plan was not tuned on the data, though parts of it were drafted from them")
        if tuned.looked:
            conditions.append(
                "the plan was not tuned on the data, though results on them were seen with another plan before"
            )
        guarantee = SamplePrivacy(self.c, self.epsilon, self.delta, self.rate)
        return (make_claim(guarantee, self.unit, Status.CONDITION, (self.theorem,), tuple(conditions)),)

    def condition(self) -> str:
        """What the promise takes as given, in words."""
        found = [*(["the rate"] if self.rate is None else ["that the declared rate is safe"]), *_FOUND[self.rare]]
        return (
            f"the probability is over the draw of the sample from this very table; {' and '.join(found)} "
            f"{'was' if len(found) == 1 else 'were'} found on it and {'is' if len(found) == 1 else 'are'} taken as known "
            "beforehand, so that what this gives away is not covered"
        )

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> SampledMicrodata:
        """The sample, with what was found on the table; nothing is drawn twice.

        Raises     InfeasibleError where rare values are refused, where the declared rate is above the safe one, and where no
                   row can be expected; it says how many values are in the way, and never which.
        """
        self.check(table.schema)
        table = bound_rows(table, self.unit, source.row_mask(Fraction(1, 2)).words, self.theorem, stage)
        stage("counting values")
        taking_part = table.rows()
        if not taking_part:
            raise InfeasibleError("the table has no rows", fix="bring a table with rows")
        known = LevelCounts.of(self.scheme, table.count_by(self.scheme.columns))
        labelled = self.scheme.apply(table)
        rare = _rare_values(labelled.count_by(labelled.columns), self.below)
        coarser = known.coarser(self.scheme.indices, self.below) if len(rare) else ()
        found, scheme, sizes = self._treat(table, labelled, known, rare, coarser, source, stage)
        rates = {
            bound: sample_rate(sizes.tolist(), epsilon=self.epsilon, delta=self.delta, c=self.c, bound=bound)
            for bound in ("exact", "published")
        }
        rate = self._rate(rates[_BOUND[self.bound]], len(rare), coarser)
        stage("sampling")
        sampled = found.keep(source.row_mask(rate).keep).select(scheme.columns)
        before = known.sizes(self.scheme.indices)
        return SampledMicrodata(
            sampled, scheme, rate, taking_part, rare, coarser, before, sizes, rates["exact"], rates["published"]
        )

    # --- rare values ------------------------------------------------------------------------------------------------

    def _treat(
        self,
        table: Table,
        labelled: Table,
        known: LevelCounts,
        rare: RareValues,
        coarser: tuple[CoarserLevel, ...],
        source: Source,
        stage: Stage,
    ) -> tuple[Table, Scheme, Sizes]:
        """The labelled table from which the sample is drawn, its levels, and how many rows each of its values has."""
        sizes = known.sizes(self.scheme.indices)
        if not len(rare) or self.rare == "keep":
            return labelled, self.scheme, sizes
        stage("treating rare values")
        if self.rare == "refuse":
            raise InfeasibleError(
                f"{_count(len(rare), 'value')} of the table {_are(len(rare))} rare: with fewer than {self.below:,} rows each",
                came=f"{len(rare):,} of {rare.total:,} values, with {rare.rows:,} of {sizes.sum():,} rows",
                allowed="no rare value, where rare: refuse",
                fix=f"set rare: drop, generalize or replace{_merging_words(coarser)}",
            )
        if self.rare == "generalize":
            scheme = replace(self.scheme, indices=known.generalize(self.scheme.indices, self.below))
            return scheme.apply(table), scheme, known.sizes(scheme.indices)
        common = sizes[sizes >= self.below]
        if not len(common):
            raise InfeasibleError(
                f"every value of the table is rare: with fewer than {self.below:,} rows",
                came=f"{rare.total:,} values of {sizes.sum():,} rows",
                fix=f"take coarser levels, or set rare: generalize{_merging_words(coarser)}",
            )
        if self.rare == "drop":
            # With one column more, equal rows can be told apart, and rows keep their numbers.
            numbered = labelled.attach(_unused(labelled), np.broadcast_to(np.int64(0), labelled.rows()))
            return numbered.suppress_below(labelled.columns, self.below), self.scheme, common
        replaced, sizes = _replace(labelled, self.below, source)
        return replaced, self.scheme, sizes

    def _rate(self, safe: SafeRate, rare: int, coarser: tuple[CoarserLevel, ...]) -> Fraction:
        """The rate that is used: the declared one, or the safe one rounded down to two digits."""
        found = rate_on_grid(safe.rate)
        if not safe.publishable or not found:
            treated = rare if self.rare == "keep" else 0
            cause = (
                f"{_count(treated, 'value')} so rare that {'they' if treated != 1 else 'it'} may not appear even once"
                if treated
                else "values that have few rows"
            )
            if treated:
                fix = f"treat rare values (rare: drop, generalize or replace){_merging_words(coarser)}"
            else:
                more = (
                    "treat rare values, and call more values rare"
                    if self.rare in ("keep", "refuse")
                    else "call more rare"
                )
                fix = f"take coarser levels, or {more} (rare_below)"
            raise InfeasibleError(
                f"no sample can be published: the largest safe rate, {text_down(Fraction(safe.rate))}, times {safe.rows:,} rows "
                "is below one row",
                came=cause,
                fix=f"{fix}; a larger epsilon or delta allows a larger rate",
            )
        if self.rate is None:
            return found
        if self.rate > Fraction(safe.rate):
            raise InfeasibleError(
                "release.sampling.beta: the declared rate is above the one that is safe for this table",
                came=exact_text(self.rate),
                allowed=f"at most {exact_text(found)}",
                fix="declare a smaller rate, or leave it out",
            )
        return self.rate


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _merging_words(coarser: tuple[CoarserLevel, ...]) -> str:
    """Which attribute, one level coarser, leaves the fewest rare values; nothing where none leaves fewer."""
    if not coarser:
        return ""
    best = min(coarser, key=lambda each: (each.rare, each.rare_rows, each.name))
    left = "no rare value" if not best.rare else _count(best.rare, "rare value")
    return f", or take a coarser level: level {best.level} of '{best.name}' leaves {left}"


def _unused(table: Table) -> str:
    name = "row"
    while name in table.columns:
        name += "_"
    return name


def _rare_values(counts: Counts, below: int) -> RareValues:
    places = np.flatnonzero(counts.counts < below)
    order = places[np.argsort(counts.counts[places], kind="stable")]
    columns = [column[order] for column in counts.tuples]
    labels = (tuple(None if cell is None else str(cell) for cell in row) for row in zip(*columns, strict=True))
    return RareValues(below, tuple(zip(labels, counts.counts[order].tolist(), strict=True)), len(counts))


def _replace(labelled: Table, below: int, source: Source) -> tuple[Table, Sizes]:
    """Every row with a rare value takes the value of a row drawn at random among the others, each draw by itself."""
    columns = labelled.collect(labelled.columns)
    groups = _groups([_codes(values) for values in columns.values()])
    sizes = np.bincount(groups)
    common = np.flatnonzero(sizes[groups] >= below)
    rare = np.flatnonzero(sizes[groups] < below)
    with source.stream("replacement") as chance:
        taken = common[chance.integers(len(common), len(rare)).astype(np.int64)]
    replaced = labelled
    for name, values in columns.items():
        new = values.copy()
        new[rare] = values[taken]
        replaced = replaced.attach(name, new)
    groups[rare] = groups[taken]
    found = np.bincount(groups)
    return replaced, found[found > 0]


def _codes(values: npt.NDArray[Any]) -> Sizes:
    """A number for each different value of a column; a missing one has its own."""
    gone = np.ma.getmaskarray(values)
    codes = np.zeros(len(values), dtype=np.int64)
    codes[~gone] = 1 + np.unique(np.ma.getdata(values)[~gone], return_inverse=True)[1]
    return codes


def _groups(codes: list[Sizes]) -> Sizes:
    """A number for each different tuple of codes, from 0 up."""
    found = np.zeros(len(codes[0]), dtype=np.int64)
    for each in codes:
        pairs = found * (int(each.max(initial=0)) + 1) + each
        found = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return found


@dataclass(frozen=True)
class LevelCounts:
    """How many rows each value has at any levels, from one count of the table."""

    attributes: tuple[Attribute, ...]
    columns: tuple[GeneralizedColumn, ...]
    counts: Sizes

    @classmethod
    def of(cls, scheme: Scheme, counts: Counts) -> LevelCounts:
        """`counts` are of the values as they were read, in the order of the scheme's columns."""
        attributes = tuple(scheme.schema[name] for name in scheme.columns)
        lattice = Lattice.of(attributes, limit=10**30)
        return cls(attributes, tuple(lattice.columns(counts)), counts.counts)

    def sizes(self, levels: Mapping[str, int]) -> Sizes:
        """How many rows each value has at these levels."""
        own = [
            column.levels[levels.get(attribute.name, 0)][column.codes]
            for attribute, column in zip(self.attributes, self.columns, strict=True)
        ]
        groups = _groups(own)
        found = np.zeros(int(groups.max()) + 1, dtype=np.int64)
        np.add.at(found, groups, self.counts)
        return found

    def coarser(self, levels: Mapping[str, int], below: int) -> tuple[CoarserLevel, ...]:
        """For each attribute that has a next level, what that level would leave of the rare values."""
        found = []
        for attribute, column in zip(self.attributes, self.columns, strict=True):
            level = levels.get(attribute.name, 0) + 1
            if level < len(column):
                sizes = self.sizes({**levels, attribute.name: level})
                rare = sizes[sizes < below]
                found.append(CoarserLevel(attribute.name, level, len(rare), int(rare.sum())))
        return tuple(found)

    def generalize(self, levels: Mapping[str, int], below: int) -> dict[str, int]:
        """Levels at which no value is rare, found step by step.

        Each step takes one attribute to its next level: the one that leaves the fewest rows with a rare value; of several the one
        whose next level loses least, then the first by name.
        """
        found = {attribute.name: levels.get(attribute.name, 0) for attribute in self.attributes}
        by_name = {attribute.name: attribute for attribute in self.attributes}
        while (self.sizes(found) < below).any():
            choices = self.coarser(found, below)
            if not choices:
                raise InfeasibleError(
                    f"the table has fewer than {below:,} rows for each value even at the coarsest levels",
                    came=f"{self.counts.sum():,} rows",
                    fix="bring more rows, declare coarser levels for every attribute, or promise less (a larger epsilon)",
                )
            best = min(
                choices, key=lambda each: (each.rare_rows, _added_loss(by_name[each.name], each.level), each.name)
            )
            found[best.name] = best.level
        return found


def _added_loss(attribute: Attribute, level: int) -> float:
    losses = attribute.hierarchy.losses if attribute.hierarchy is not None else (0.0,)
    return losses[level] - losses[level - 1]
