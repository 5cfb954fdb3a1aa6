"""The plan of a release with noisy counts: how much noise each table of counts has, alone, beside rows, or for synthetic rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Self

from shoal.anonymize.method.noisy_counts import MOST_CELLS, BinParameters, NoisyCounts, counts_singles
from shoal.data.cells import MOST_COUNTED, AttributeCells, cells_of
from shoal.data.declared_values import DeclaredValues
from shoal.data.schema import Attribute, Schema
from shoal.errors import InfeasibleError, PolicyError, PreconditionError, UsageError
from shoal.guarantee import sentences as words
from shoal.guarantee.base import Guarantee
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.compose import compose, composed_within
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.noisy_counts import (
    ROUNDS_SHARE,
    SINGLES_SHARE,
    CountsKind,
    CountsSetting,
    composition_theorems,
    noise_half_width,
    solve_counts,
    table_numbers,
)
from shoal.guarantee.rounding import exact, exact_text, text_up
from shoal.guarantee.sentences import as_float
from shoal.ledger.event import Cost
from shoal.ledger.look import LookCount
from shoal.policy.model.counted import cells_for_rows
from shoal.policy.model.release import CountsModel, FavourWord, Group, GroupsModel, ReleaseModel
from shoal.policy.policy import Policy
from shoal.publish.plan.base import NoiseBeside, Plan, Verification, charged_before
from shoal.publish.plan.safe_k import ROWS_ASSUMED, SafeKPlan
from shoal.publish.plan.views import views_plan

if TYPE_CHECKING:
    from shoal.guarantee.safe_k.frontier import FrontierPoint
    from shoal.ledger.ledger import RunState
    from shoal.publish.certificate.model import CountsTableEntry
    from shoal.publish.counts_rehearsal import CountsRehearsal
    from shoal.publish.run.noisy_counts import NoisyCountsJob

MOST_CELLS_IN_ALL = 40_000_000
"""The most cells of all tables of one release: each is a line of a file."""
MANY_CELLS = 1000
"""An attribute with more declared cells is named before anything is charged: few of its counts stand out of the noise."""
CELLS_ABOVE_NOISE = 10
"""A table in which fewer cells can hold more rows than its noise adds is named before anything is charged."""
FEW_COLUMNS = 12
"""Columns whose declared cells are said of each; of more columns those that have more than `FEW_CELLS` are named."""
FEW_CELLS = 100
MOST_LISTED = 300
"""Tables that the page of a plan lists."""
NUMBERS = ("count", "low", "high")
"""The columns of a table of counts that follow its attributes."""
STEPS = 7
"""Steps of the search for what rows take beside counts; the last one that fits is taken."""

_MERGED = ", and more cells are put together"
"""What is added where small cells are put together."""

Box = tuple[tuple[bool, ...] | None, ...]
"""For each attribute which of its cells are meant; None for all of them."""


@dataclass(frozen=True)
class SyntheticRows:
    """The synthetic table that is drawn from the noisy counts: how many rows, and in which boxes of cells none lies."""

    rows: int | None
    """None: as many as the noisy counts say."""
    never: tuple[Box, ...] = ()
    favour: FavourWord = "counts"
    """What the rows come nearest to."""


@dataclass(frozen=True)
class NoisyCountsPlan(Plan):
    """Tables of noisy counts, alone, beside rows of the table, or with a synthetic table that is drawn from them.

    Promise   (epsilon, delta)-differential privacy for the unit of the policy, for everything that is published together.
    Requires  a declared domain for every counted attribute; one release; tables of at most `MOST_CELLS` cells.
    Reads     nothing: the policy alone.
    """

    method: NoisyCounts
    total: ApproxDP
    format: str
    rows: SafeKPlan | None = None
    """The plan of the rows that are published beside the counts."""
    synthetic: SyntheticRows | None = None

    methods = ("synthetic",)

    def __post_init__(self) -> None:
        if self.setting.unit != self.policy.unit:
            raise UsageError(
                "the plan promises it to another unit than its policy",
                came=self.setting.unit.words(),
                allowed=self.policy.unit.words(),
            )
        if self.rows is not None and (self.rows.unit != self.unit or self.rows.method.drawn_before):
            raise PreconditionError(
                "dps-does-not-compose",
                "rows beside counts come from a sample that is drawn for them, and hide the same unit",
                came=self.rows.unit.words(),
            )
        if not composed_within(self.parts, self.total.epsilon, self.total.delta):
            raise PreconditionError(
                "pld-composition",
                "what is published costs more than the plan promises",
                came=f"({text_up(self.total.epsilon)}, {text_up(self.total.delta)})",
                fix="make plans with `shoal.plan`, which solves them",
            )

    def __repr__(self) -> str:
        numbers = f"epsilon {text_up(self.total.epsilon)}, delta {text_up(self.total.delta)}, {self._number_words()}"
        return f"<Plan of '{self.policy.dataset}': {numbers}, {self.unit.words()}, {self.claims[0].status.value}>"

    @classmethod
    def of(cls, policy: Policy) -> NoisyCountsPlan:
        asked = policy.release
        counts = None if asked is None else asked.noisy_counts
        if asked is None or counts is None or asked.epsilon is None or asked.delta is None:
            raise PolicyError("the policy asks for no noisy counts", fix="say views: {show: counts, ...}")
        if asked.repeat > 1:
            raise PolicyError("release.repeat: noisy counts are released once", came=asked.repeat, allowed="1")
        tables = CountedTables.of(policy, asked, counts)
        tables.refuse_large()
        rows = None
        setting = tables.solve(asked.epsilon, asked.delta)
        if asked.has_rows and isinstance(counts, CountsModel):
            setting, rows = solve_beside_rows(policy, asked, tables, counts.share or Fraction(1, 2))
        method = NoisyCounts(setting, tables.cells, tables.groups, tables.merged, first=tables.first)
        total = ApproxDP(asked.epsilon, asked.delta)
        return cls(policy, method, total, asked.output.format, rows, synthetic_rows(asked, tables.cells))

    @classmethod
    def verification(cls) -> Verification:
        from shoal.publish.certificate.model import NoisyCountsCertificate
        from shoal.publish.verify.noisy_counts import noisy_counts_checks

        return Verification(NoisyCountsCertificate, noisy_counts_checks)

    def job(self) -> NoisyCountsJob:
        from shoal.publish.run.noisy_counts import NoisyCountsJob

        return NoisyCountsJob(self)

    def check(self, schema: Schema) -> None:
        published = {attribute.name for attribute in schema.published}
        missing = [name for name in self.method.columns if name not in published]
        if missing:
            raise PreconditionError(
                "noisy-tables", "an attribute that is counted is not published", came=", ".join(missing)
            )
        if self.rows is not None:
            self.rows.check(schema)

    def rehearse(self, **options: Any) -> CountsRehearsal:
        from shoal.publish.counts_rehearsal import rehearse_counts

        return rehearse_counts(self, **options)

    # --- what is published ------------------------------------------------------------------------------------------

    @property
    def setting(self) -> CountsSetting:
        """The noise of every step."""
        return self.method.setting

    @property
    def name(self) -> str:
        """What a certificate calls the method."""
        return "noisy-counts" if self.synthetic is None else "synthetic"

    @property
    def half_widths(self) -> dict[Fraction, int]:
        """For each sigma of a table the half width of the interval that holds the true count in 95 of 100 cases."""
        first = [self.setting.first] if self.setting.first is not None else []
        sigmas = [self.setting.single_sigma, *(sigma for _, sigma in (*first, *self.setting.tables))]
        return {sigma: noise_half_width(sigma) for sigma in sigmas if sigma is not None}

    @property
    def most_tables(self) -> int:
        """The largest number of tables of several attributes, or of all tables where no attribute is counted by itself first."""
        return max(number for number, _ in self.setting.tables)

    @property
    def table_sizes(self) -> dict[Group, int]:
        """How many cells the table of each group that is named has; the most that it can have, where they are merged."""
        groups = self.method.first or self.method.groups
        return table_sizes(self.method.cells, groups, merged=self.method.merged)

    # --- what it promises and costs ---------------------------------------------------------------------------------

    @property
    def parts(self) -> list[tuple[Guarantee, int]]:
        """What is composed: the counts, the choices among them, and the rows beside them."""
        return [*self.setting.parts, *(self.rows.parts if self.rows is not None else [])]

    @cached_property
    def epsilon_composed(self) -> Fraction:
        """epsilon of everything together at the promised delta; never above the promise."""
        return min(self.total.epsilon, exact(compose(self.parts).epsilon_at(self.total.delta)))

    @property
    def claims(self) -> tuple[Claim, ...]:
        status = Status.TUNED if self.is_tuned else Status.PROVED
        rows = self.rows.claims if self.rows is not None else ()
        return self.after_treatments((make_claim(self.total, self.unit, status, self._theorems), *rows[1:]))

    @cached_property
    def _theorems(self) -> tuple[str, ...]:
        """The names of all theorems on which the promise rests: counts, choices, rows, composition, what is drawn from them."""
        found = [*self.method.theorems]
        if self.rows is not None:
            found += self.rows.claims[0].theorems
        found += composition_theorems(self.parts, self.total.delta)
        if self.synthetic is not None:
            found.append("post-processing")
        return tuple(dict.fromkeys(found))

    @property
    def not_promised(self) -> Sequence[str]:
        from shoal.publish.certificate.noisy_counts import not_promised

        return not_promised(self)

    @property
    def cost(self) -> Cost:
        return Cost(self.total.epsilon, self.total.delta, tuple(self.parts))

    def repeat_words(self, when: str, state: RunState) -> str:
        return f"{charged_before(when, state)}; a repeat draws new noise and costs {self.price().words()} once more"

    # --- in words -----------------------------------------------------------------------------------------------------

    @property
    def work(self) -> str | None:
        return None if self.rows is None else self.rows.work

    def sentences(self) -> list[str]:
        found = words.counts_sentences(
            self.total,
            self.setting,
            merged=self.method.merged,
            widths=self.half_widths,
            tuned=self.tuning,
        )
        if self.rows is not None:
            found.append(f"Beside the counts rows of the table are published. {self.rows.sentences()[2]}")
        if self.synthetic is not None:
            found.append(
                "From the noisy counts alone, without another look at the table, one synthetic table is drawn (theorem "
                "post-processing). Its rows are nobody's."
            )
        return [*found, *self.treatment_words(), *self._tuning_words()]

    def after_looks(self, looks: Sequence[LookCount] | None) -> Self:
        known = super().after_looks(looks)
        if known is self or self.rows is None:
            return known
        return replace(known, rows=self.rows.after_looks(looks))

    def recoding_words(self) -> str:
        every = self.method.cells
        named = list(every) if len(every) <= FEW_COLUMNS else [each for each in every if len(each) > FEW_CELLS]
        own = ", ".join(f"{each.name} {len(each):,}" for each in named)
        rest = sorted({len(each) for each in every if each not in named})
        others = ""
        if rest:
            many = f"{rest[0]:,} to {rest[-1]:,}" if len(rest) > 1 else f"{rest[0]:,}"
            others = f"{', and ' * bool(named)}{many} in each of {'the others' if named else f'{len(every):,} columns'}"
        merged = (
            " In tables of several attributes small cells are put together, by the published counts of each attribute alone."
            if self.method.merged
            else ""
        )
        beside = "" if self.rows is None else f" Of the rows: {self.rows.recoding_words()}"
        return f"Declared cells: {own}{others}.{merged}{beside}"

    def _number_words(self) -> str:
        numbers = [number for number, _ in self.setting.tables]
        many = f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
        singles = f"{self.setting.singles:,} noisy tables of one attribute and " if self.setting.singles else ""
        first = f"{self.setting.first[0]:,} noisy tables and " if self.setting.first is not None else ""
        return f"{singles}{first}{many} noisy table{'s' * (numbers[-1] > 1)}{' chosen after them' * bool(first)}"

    def facts(self) -> list[tuple[str, str, str]]:
        setting, widths = self.setting, self.half_widths
        found = [
            ("dataset", self.policy.dataset, f"plan {self.lock.sha256[:16]}"),
            ("epsilon", exact_text(self.total.epsilon), "the whole release"),
            ("delta", exact_text(self.total.delta), ""),
        ]
        if setting.single_sigma is not None:
            note = f"of one attribute: ±{widths[setting.single_sigma]:,} in 95 of 100 cases"
            found.append(
                ("single tables", f"{setting.singles:,}", f"{note} (sigma {exact_text(setting.single_sigma)})")
            )
        if setting.first is not None:
            note = f"±{widths[setting.first[1]]:,} in 95 of 100 cases"
            found.append(("tables", f"{setting.first[0]:,}", f"{note} (sigma {exact_text(setting.first[1])})"))
        found.append(self._tables_fact())
        if setting.score_sigma is not None:
            note = f"noisy scores, sigma {exact_text(setting.score_sigma)}, decide which are counted"
            found.append(("candidates", f"{setting.candidates:,}", note))
        if setting.choice_epsilon is not None:
            note = f"each choice among {setting.candidates:,} has epsilon {exact_text(setting.choice_epsilon)}"
            found.append(("rounds", f"{self.most_tables:,}", note))
        if self.rows is not None:
            sizes, rates = [each.k for each in self.rows.promises], [each.beta for each in self.rows.promises]
            found += [
                ("k", str(min(sizes)), "the smallest class that the rows show"),
                ("beta", exact_text(min(rates)), "the share of rows sampled"),
            ]
        if self.synthetic is not None:
            many = "as many as the noisy counts say" if self.synthetic.rows is None else "as the policy declares"
            many += "; they favour associations" * (self.synthetic.favour == "associations")
            found.append(
                ("synthetic rows", "noisy" if self.synthetic.rows is None else f"{self.synthetic.rows:,}", many)
            )
        return [
            *found,
            ("composed", text_up(self.epsilon_composed), "epsilon of everything together at this delta"),
            ("unit", self.unit.words(), self.policy.neighbours),
            ("status", self.claims[0].status.value, ", ".join(self.theorems)),
        ]

    def _tables_fact(self) -> tuple[str, str, str]:
        (number, sigma), (most, largest) = self.setting.tables[0], self.setting.tables[-1]
        few, many = self.half_widths[sigma], self.half_widths[largest]
        if number == most:
            note = f"±{few:,} in 95 of 100 cases (sigma {exact_text(sigma)})"
            return "tables added" if self.setting.first is not None else "tables", f"{number:,}", note
        note = f"as the scores decide: ±{few:,} to ±{many:,} in 95 of 100 cases, the more the more tables"
        return "tables", f"{number:,} to {most:,}", f"{note} (sigma {exact_text(sigma)} to {exact_text(largest)})"

    @property
    def view_head(self) -> tuple[str, str, str]:
        return ("table", "cells", "± 95 %")

    def view_rows(self, most: int) -> list[tuple[str, str, str]]:
        if self.setting.kind != "fixed" and self.setting.first is None:
            return []
        width = f"{self.half_widths[(self.setting.first or self.setting.tables[0])[1]]:,}"
        sizes = self.table_sizes
        if len(sizes) <= most:
            up_to = "up to " * self.method.merged
            return [(" × ".join(group), f"{up_to}{size:,}", width) for group, size in sizes.items()]
        found = []
        for length in sorted({len(group) for group in sizes}):
            alike = [size for group, size in sizes.items() if len(group) == length]
            of = "one attribute" if length == 1 else f"{length} attributes"
            cells = f"{max(alike):,}" if min(alike) == max(alike) else f"{min(alike):,} to {max(alike):,}"
            tables = f"{len(alike):,} table{'s' * (len(alike) > 1)} of {of}"
            found.append((tables, f"{cells}{' at most' * self.method.merged}", width))
        return found

    def counted_words(self, content: Mapping[str, Any]) -> str:
        tables, cells = len(content["counts"]), sum(each["cells"] for each in content["counts"])
        found = f"{tables:,} table{'s' * (tables != 1)} of noisy counts ({cells:,} cells)"
        if content["synthetic"] is not None:
            found += f" and {content['synthetic']['rows']:,} synthetic rows"
        return found if not content["tables"] else f"{found} and rows"

    @property
    def notes(self) -> list[str]:
        return [*super().notes, *self._domain_words()]

    @property
    def warnings(self) -> list[str]:
        """Say that the noise drowns the counts, where a table as large as a rehearsal assumes has few cells that exceed it.

        At most n / w cells of a table of n rows hold w rows or more.
        """
        (_, sigma) = self.setting.first or self.setting.tables[0]
        width = max(self.half_widths[own] for own in (self.setting.single_sigma, sigma) if own)
        if CELLS_ABOVE_NOISE * width <= ROWS_ASSUMED:
            return []
        few = ROWS_ASSUMED // width
        cells = {0: "no cell", 1: "at most one cell"}.get(few, f"at most {few} cells")
        said = (
            f"The noise is large: a count may be off by {width:,}. No row was read, so the size of the table is not known here; "
            f"of {ROWS_ASSUMED:,} rows {cells} of a table can hold that many, and {CELLS_ABOVE_NOISE} such cells need "
            f"{CELLS_ABOVE_NOISE * width:,} rows. Raise epsilon or publish fewer tables; `shoal rehearse --rows N` shows what a "
            "table of N rows gives."
        )
        return [said]

    def noise_beside(self, rows: int | None) -> NoiseBeside:
        """Compare the noise of the table in the middle, by its number of cells, with its average cell; no row is read for it."""
        sizes = sorted(self.table_sizes.values())
        cells = sizes[len(sizes) // 2]
        width = self.half_widths[(self.setting.first or self.setting.tables[0])[1]]
        up_to, put_together = "up to " * self.method.merged, _MERGED * self.method.merged
        table = (
            f"the middle one of the {len(sizes):,} tables has {up_to}{cells:,} cells"
            if len(sizes) > 1
            else (f"the table has {up_to}{cells:,} cells")
        )
        nearer = f" {said}" if (said := self._cells_words(rows)) else ""
        if rows is None:
            said = (
                f"A count may be off by {width:,}, and {table}: its average cell holds as many rows from {width * cells:,} rows "
                f"on; of far fewer most counts are mostly noise{put_together}."
            )
            return NoiseBeside(None, said + nearer)
        average = rows / cells
        shown = f"{average:,.0f}" if average >= 10 else f"{average:.2g}"
        said = f"Of {rows:,} rows that take part the average cell holds {shown} ({table}), and a count may be off by {width:,}: "
        if average >= width:
            return NoiseBeside(False, f"{said}the average count exceeds its noise.{nearer}")
        few = rows // width
        most = "no cell" if few == 0 else f"at most {few:,} cell{'s' * (few > 1)}"
        verdict = "most counts are mostly noise" if 4 * average < width else "the average count is below its error"
        said += f"{verdict}, and {most} of a table can hold {width:,} rows or more{put_together}."
        return NoiseBeside(True, said + nearer)

    def _cells_words(self, rows: int | None) -> str | None:
        """Whether the cells that a synthetic table counts by default fit so many rows; None where the policy names them."""
        asked = self.policy.model.release
        return None if asked is None else cells_for_rows(asked, self.schema.published, self.unit, rows)

    def _domain_words(self) -> list[str]:
        """Name attributes with so many cells that few of their counts stand out of the noise."""
        many = [own for own in self.method.cells if len(own) > MANY_CELLS]
        if not many or not self.setting.singles:
            return []
        listed = ", ".join(f"'{own.name}' ({len(own):,})" for own in many[:5]) + (", …" if len(many) > 5 else "")
        said = f"Most declared cells of {listed} are small beside the noise, and wider tables count them in few bins."
        if any(own.attribute.hierarchy is not None for own in many):
            said += " Take a coarser level where single values are not needed: `recoding: {levels: ...}`."
        return [said]

    def page_fields(self, choices: list[FrontierPoint] | None) -> dict[str, Any]:  # noqa: ARG002 - a wide table's
        from shoal.publish.plan.page import ELSEWHERE

        said = [ELSEWHERE if "other publications" in text else text for text in self.not_promised]
        shown = {"views": self.view_rows(MOST_LISTED), "view_kind": "tables", "view_head": self.view_head}
        return {**shown, "cautions": said}

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the fields of `shoal plan`."""
        return {
            "dataset": self.policy.dataset,
            "method": self.name,
            "epsilon": float(self.total.epsilon),
            "delta": float(self.total.delta),
            "epsilon_composed": as_float(self.epsilon_composed, cost=True),
            "noise": self.setting.to_saved(),
            "half_widths": {exact_text(sigma): width for sigma, width in self.half_widths.items()},
            "cells": {each.name: len(each) for each in self.method.cells},
            "merged": self.method.merged,
            "first": [list(group) for group in self.method.first],
            "groups": [list(group) for group in self.method.groups],
            "rows": None if self.rows is None else self.rows.to_json(),
            "synthetic": None
            if self.synthetic is None
            else {
                "rows": self.synthetic.rows,
                "never": len(self.synthetic.never),
                "favour": self.synthetic.favour,
            },
            "unit": self.unit.to_saved(),
            "neighbours": self.policy.neighbours,
            "status": self.claims[0].status.value,
            "theorems": list(self.theorems),
            "plan": self.lock.sha256,
            "words": self.sentences(),
            **self.treatment_fields(),
        }


def count_index(plan: NoisyCountsPlan, tables: Sequence[CountsTableEntry], scores: Sequence[Any]) -> dict[str, Any]:
    """What an analyst needs to find the right table of counts, and what decided which tables there are."""
    return {
        "version": 1,
        "dataset": plan.policy.dataset,
        "confidence": "0.95",
        "tables": [
            {
                "name": table.name,
                "file": table.file,
                "attributes": list(table.columns),
                "sigma": table.sigma,
                "half_width": table.half_width,
                "cells": table.cells,
            }
            for table in tables
        ],
        "scores": scores,
    }


# --- which tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountedTables:
    """What is counted: the cells of each attribute, the groups of attributes, and how many of them; the noise is still open."""

    policy: Policy
    kind: CountsKind
    cells: tuple[AttributeCells, ...]
    groups: tuple[Group, ...]
    merged: bool
    numbers: tuple[int, ...]
    """The number of tables; several where noisy scores decide."""
    first: tuple[Group, ...] = ()
    """The groups that are counted before others are chosen in rounds."""
    rounds_share: Fraction = ROUNDS_SHARE
    """The part of the precision that rounds take where groups are counted before them."""
    singles_share: Fraction | None = None
    """The part of the precision that attributes by themselves take, where the policy says it: then they are always counted."""

    @classmethod
    def of(cls, policy: Policy, release: ReleaseModel, asked: GroupsModel) -> CountedTables:
        """The tables that a policy asks for; PolicyError for an attribute that has no cells."""
        published = [attribute.name for attribute in policy.schema.published]
        every, merged = asked.candidates(published, counts=True), asked.cells != "declared"
        groups = tuple(_in_order(group, published) for group in every)
        first = tuple(_in_order(group, published) for group in asked.first_groups(published))
        numbers: tuple[int, ...]
        kind: CountsKind = "fixed"
        share = (asked.adapt.share if asked.adapt is not None else None) or ROUNDS_SHARE
        if asked.choose is not None:
            kind = "once"
            numbers = table_numbers(len(groups)) if asked.choose.count is None else (asked.choose.count,)
        elif asked.adapt is not None:
            kind, numbers = "rounds", (asked.adapt.rounds or 1,)
        else:
            wide = tuple(group for group in groups if len(group) > 1)
            merged = merged and bool(wide)  # a table of one attribute is counted in its cells, once
            groups = wide if merged or asked.singles else groups
            numbers = (len(groups),)
        named = {name for group in (*first, *every) for name in group}
        if taken := sorted(named.intersection(NUMBERS)):
            raise PolicyError(
                f"attributes.{taken[0]}: a table of counts has a column of its own with this name",
                came=taken[0],
                fix="give the column another name in the file and in the policy, or leave it out of the tables",
            )
        if release.method == "synthetic":
            named = named if not (merged or asked.singles) else set(published)
            _refuse_uncounted(published, named)
        levels = release.cell_levels
        cells = tuple(
            cells_of(attribute, levels.get(attribute.name, 0), MOST_COUNTED)
            for attribute in policy.schema.published
            if attribute.name in named
        )
        return cls(policy, kind, cells, groups, merged, numbers, first, share, asked.singles)

    @property
    def singles(self) -> int:
        """How many attributes are counted by themselves before the tables are."""
        needed = counts_singles(self.kind, self.cells, self.first, merged=self.merged)
        return len(self.cells) if needed or self.singles_share else 0

    def solve(self, epsilon: Fraction, delta: Fraction, others: Sequence[tuple[Guarantee, int]] = ()) -> CountsSetting:
        """The least noise with which all of it keeps (epsilon, delta), with others beside it."""
        return solve_counts(
            epsilon,
            delta,
            unit=self.policy.unit,
            kind=self.kind,
            tables=self.numbers,
            singles=self.singles,
            first=len(self.first),
            candidates=0 if self.kind == "fixed" else len(self.groups),
            others=others,
            rounds_share=self.rounds_share,
            singles_share=self.singles_share or SINGLES_SHARE,
        )

    def refuse_large(self) -> None:
        """PolicyError where a table, or all of them, may have more cells than can be written, before anything is charged."""
        own = table_sizes(self.cells, self.groups, merged=self.merged)
        named = table_sizes(self.cells, self.first, merged=self.merged)
        small = {group: size for group, size in own.items() if size <= MOST_CELLS} if named else own
        sizes = sorted(((size, group) for group, size in small.items()), reverse=True)
        largest, group = max(sizes[:1] + sorted(((size, group) for group, size in named.items()), reverse=True)[:1])
        fix = "take cells: merged, fix coarser levels (`recoding: {levels: ...}`), or publish fewer or narrower tables"
        if largest > MOST_CELLS:
            raise PolicyError(
                f"the table of {' × '.join(group)} has too many cells",
                came=f"{largest:,}",
                allowed=f"at most {MOST_CELLS:,}",
                fix=fix,
            )
        if len(sizes) < max(self.numbers):
            raise PolicyError(
                "fewer tables than rounds are small enough to be counted",
                came=f"{len(sizes):,}",
                allowed=f"{max(self.numbers):,} of at most {MOST_CELLS:,} cells",
                fix=f"take fewer rounds, or {fix}",
            )
        together = sum(named.values()) + sum(cells for cells, _ in sizes[: max(self.numbers)])
        if together > MOST_CELLS_IN_ALL:
            raise PolicyError(
                "all noisy tables together may have too many cells",
                came=f"{together:,}",
                allowed=f"at most {MOST_CELLS_IN_ALL:,}",
                fix=fix,
            )


def largest_bins(cells: AttributeCells) -> int:
    """The most bins that an attribute can have in a table of several."""
    return min(len(cells), BinParameters().most + (cells.missing is not None))


def table_sizes(cells: Sequence[AttributeCells], groups: Sequence[Group], *, merged: bool) -> dict[Group, int]:
    """How many cells the table of each group has; the most that it can have, where they are merged."""
    size = {each.name: largest_bins(each) if merged else len(each) for each in cells}
    return {group: prod(size[name] for name in group) for group in groups}


def _in_order(group: Group, published: Sequence[str]) -> Group:
    return tuple(name for name in published if name in group)


def _refuse_uncounted(published: Sequence[str], named: set[str]) -> None:
    left = [name for name in published if name not in named]
    if left:
        raise PolicyError(
            "release.views: a synthetic table has every published attribute, and some are in no table of counts",
            came=", ".join(left[:6]),
            fix="name them in a table, take cells: merged, or give them the role drop",
        )


def synthetic_rows(release: ReleaseModel, cells: Sequence[AttributeCells]) -> SyntheticRows | None:
    """The synthetic table that a release asks for; PolicyError where a rule ends inside a cell, or the rules leave no row."""
    asked = release.synthetic
    if asked is None:
        return None
    never = tuple(tuple(_boxes(rule, cells)) for rule in asked.never or ())
    _refuse_empty(never, cells)
    return SyntheticRows(asked.rows if isinstance(asked.rows, int) else None, never, asked.favour or "counts")


def _refuse_empty(never: Sequence[Box], cells: Sequence[AttributeCells]) -> None:
    """PolicyError where every combination of cells lies in some box, before anything is charged."""
    if not never:
        return
    import numpy as np

    from shoal.model.forbidden import find_outside

    sizes = [len(own) for own in cells]
    boxes = [
        tuple(np.array([True] * size if mask is None else mask) for mask, size in zip(box, sizes, strict=True))
        for box in never
    ]
    outside, is_certain = find_outside(boxes, sizes)
    if outside is None and is_certain:
        raise PolicyError(
            "release.synthetic.never: the rules leave no row, so no synthetic table could be drawn",
            came=f"{len(never):,} rule{'s' * (len(never) > 1)}",
            fix="rule out less: what the data never hold, such as [{age: [0, 15], licence: yes}]",
        )


def _boxes(rule: dict[str, tuple[str, ...]], cells: Sequence[AttributeCells]) -> Iterator[tuple[bool, ...] | None]:
    for own in cells:
        attribute: Attribute = own.attribute
        yield DeclaredValues.of(attribute, rule[own.name]).cells(own) if own.name in rule else None


# --- rows beside counts -----------------------------------------------------------------------------------------------


def solve_beside_rows(
    policy: Policy, asked: ReleaseModel, tables: CountedTables, share: Fraction
) -> tuple[CountsSetting, SafeKPlan]:
    """The noise of the counts and the plan of the rows that keep one promise together.

    Counts get about `share` of the precision that they would have alone (precision grows with the square of epsilon), rows the
    most that then fits, and the counts what is left. Whatever is taken was composed.
    """
    epsilon, delta = asked.epsilon or Fraction(0), asked.delta or Fraction(0)
    own = exact(f"{float(epsilon) * float(share) ** 0.5:.4g}")
    counts = tables.solve(own, delta)
    found = _views_beside(policy, asked, counts.parts) or _rows_beside(policy, asked, counts.parts, epsilon - own)
    return tables.solve(epsilon, delta, others=found.parts), found


def rows_alone(policy: Policy, asked: ReleaseModel, epsilon: Fraction, delta: Fraction) -> Policy:
    """The policy of the rows without the counts, with a promise of their own."""
    own = asked.model_copy(update={"epsilon": epsilon, "delta": delta, "counts": None})
    return replace(policy, model=policy.model.model_copy(update={"release": own}))


def _views_beside(policy: Policy, asked: ReleaseModel, counts: Sequence[tuple[Guarantee, int]]) -> SafeKPlan | None:
    """Views of rows that fit beside the counts; None where they are not shared out by their curves."""
    if asked.views is None or not (policy.unit.is_one_step and asked.bound == "tight"):
        return None
    chosen = None if asked.views.choose is None else asked.views.choose.count
    if 1 in (chosen, len(asked.views.candidates([each.name for each in policy.schema.published]))):
        return None
    own = rows_alone(policy, asked, asked.epsilon or Fraction(0), asked.delta or Fraction(0))
    if own.release is None or own.release.views is None:
        raise PolicyError("the rows of the release have no views")
    return views_plan(own, own.release, own.release.views, policy.unit, others=tuple(counts))


def _rows_beside(
    policy: Policy, asked: ReleaseModel, counts: Sequence[tuple[Guarantee, int]], low: Fraction
) -> SafeKPlan:
    """Rows with the largest epsilon of their own that fits beside the counts; the search begins at what is surely little."""
    epsilon, delta = asked.epsilon or Fraction(0), asked.delta or Fraction(0)
    high, best, reason, middle = epsilon, None, "no sample is small enough", exact(f"{float(low):.4g}")
    for _ in range(STEPS):
        try:
            found = SafeKPlan.of(rows_alone(policy, asked, middle, delta / 2))
        except (InfeasibleError, PolicyError) as error:
            low, reason = middle, error.wrong  # too little for rows at all
        else:
            if composed_within([*counts, *found.parts], epsilon, delta):
                low, best = middle, found
            else:
                low, high = min(low, middle / 2), middle
        middle = exact(f"{float((low + high) / 2):.4g}")
    if best is None:
        raise InfeasibleError(
            f"rows beside the counts do not fit into epsilon = {text_up(epsilon)}: {reason}",
            came="release.counts",
            fix="give the counts a smaller share, raise epsilon or delta, leave k and beta out, or publish one of the two",
        )
    return best
