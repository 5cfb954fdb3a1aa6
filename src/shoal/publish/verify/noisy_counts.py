"""Make the certificate of a release with noisy counts again: from its locked plan, and from the noise that it states.

Claims, sentences, theorems, which tables there are and what their files are called follow from the lock. The noise is taken from
the certificate and put together to a plan, which refuses noise that does not keep its promise. Whatever was decided after the
first counts were published is decided again from the published numbers alone: how cells were merged, which tables were chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from shoal import __version__
from shoal.anonymize.measure.bins import bin_label_fits, declared_bins
from shoal.anonymize.measure.once import choose_tables
from shoal.anonymize.measure.tables import NoisyTable
from shoal.anonymize.method.noisy_counts import NoisyCounts
from shoal.data.cells import AttributeCells, Group
from shoal.errors import InfeasibleError, PolicyError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.noise import ConcentratedDP, ExponentialDP, NoisyTablesDP
from shoal.guarantee.noisy_counts import CountsSetting, noise_half_width
from shoal.guarantee.rounding import exact, exact_text, text_near
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from shoal.publish.certificate.model import (
    CountsTableEntry,
    NoiseEntry,
    NoisyCountsCertificate,
    SyntheticEntry,
    TableEntry,
)
from shoal.publish.certificate.noisy_counts import certificate as make_certificate
from shoal.publish.folder import COUNTS, counts_file, rule_file, rule_text, synthetic_file
from shoal.publish.plan.noisy_counts import CountedTables, NoisyCountsPlan, count_index, synthetic_rows
from shoal.publish.plan.views import view_names
from shoal.publish.verify.compare import compare
from shoal.publish.verify.lock import is_unread
from shoal.publish.verify.rebuild import account_as_told, in_published_order, rows_with_numbers, tables_as_published
from shoal.publish.verify.rules import is_union_rule, rule_checks
from shoal.publish.verify.standalone import (
    BoundError,
    Check,
    ComposedLosses,
    is_epsilon_of,
    limited_work,
    read_bytes,
    read_json,
    read_part,
    read_rows,
    read_text,
    strict_json,
)

Rules = Mapping[str, dict[str, Any]]
OTHER_VERSION = "made by another version, which may have decided otherwise from the same numbers: not made again here"


def noisy_counts_checks(folder: Path, policy: Policy, certificate: NoisyCountsCertificate) -> list[Check]:
    """Everything that a certificate of noisy counts says against what its locked plan makes it say."""
    known = in_published_order(policy, [*certificate.counts, *certificate.tables])
    told = ToldCounts(folder, known, certificate)
    if not told.are_locked_tables:
        return [Check("count-tables", False, "those of the locked plan, each once", promise=True)]
    plan = told.plan
    rows = [] if plan.rows is None else tables_as_published(folder, plan.rows, certificate.tables)
    account, is_composed = account_as_told(plan, plan.cost, certificate.ledger)
    wanted = make_certificate(
        plan, certificate.files, told.tables(rows), rows, told.synthetic, account, certificate.date
    )
    open_ = Check("ledger-composed", None, "for information; there are too many different charges to compose here")
    return [
        *compare(certificate, wanted),
        *([] if is_composed else [open_]),
        *told.rule_checks(),
        *([] if plan.rows is None else rule_checks(folder, plan.rows, certificate.tables)),
        told.index_check(),
        *told.decision_checks(),
    ]


def refuse_unverifiable(certificate: NoisyCountsCertificate) -> None:
    """InfeasibleError where the verifiers cannot compose the parts of a certificate to what it says, or not in their limits.

    It is called with a draft before anything is charged: the promise holds, but nobody could verify a release of it.
    """
    content = certificate.to_json()
    told = [(read_part(part["guarantee"]), part["times"]) for part in content["parts"]]
    if any(part is None for part, _ in told):
        return
    epsilon, delta = exact(content["guarantee"]["epsilon"]), exact(content["guarantee"]["delta"])
    with limited_work():
        try:
            whole = ComposedLosses(told, 2 * epsilon)
            fits = whole.keeps(epsilon, delta) and is_epsilon_of(whole, exact(content["epsilon_composed"]), delta)
        except BoundError:
            fits = False
    if not fits:
        raise InfeasibleError(
            "a release with this promise could not be verified: its numbers are beyond the arithmetic of the verifiers",
            came=f"epsilon = {text_near(epsilon)}, delta = {text_near(delta)}",
            fix="raise epsilon, or delta, or publish fewer tables",
        )


class ToldCounts:
    """The tables of counts of a folder, with the plan that its lock and its noise make."""

    def __init__(self, folder: Path, policy: Policy, certificate: NoisyCountsCertificate) -> None:
        """The files of rules are read when they are asked for, and nothing else is."""
        self.folder, self.policy, self.certificate = folder, policy, certificate
        asked = policy.release
        counts = None if asked is None else asked.noisy_counts
        if asked is None or counts is None:
            raise PolicyError("the locked plan asks for no noisy counts")
        self.asked, self.locked = asked, CountedTables.of(policy, asked, counts)

    @property
    def wide(self) -> Sequence[CountsTableEntry]:
        """The tables after those of single attributes and those that come before the rounds."""
        return self.certificate.counts[self.certificate.noise.named :]

    @property
    def first(self) -> Sequence[CountsTableEntry]:
        """The tables that the plan names and that are counted before the rounds."""
        return self.certificate.counts[self.certificate.noise.singles : self.certificate.noise.named]

    @property
    def are_locked_tables(self) -> bool:
        """Whether the tables are those that were locked, each once; of chosen ones, whether they could have been chosen."""
        found, every = [frozenset(each.columns) for each in self.wide], {frozenset(own) for own in self.locked.groups}
        alone = [each.columns for each in self.certificate.counts[: self.certificate.noise.singles]]
        counted = [(own.name,) for own in self.locked.cells] if self.locked.singles else []
        fixed = self.locked.kind != "fixed" or len(found) == len(every)
        before = [frozenset(each.columns) for each in self.first]
        named = len(set(before)) == len(before) and set(before) == {frozenset(own) for own in self.locked.first}
        return alone == counted and named and len(set(found)) == len(found) and set(found) <= every and fixed

    @cached_property
    def rules(self) -> Rules:
        """The rules of the tables of counts, by their files."""
        files = {file for table in self.certificate.counts for file in table.recoding.values()}
        return {file: strict_json(read_text(self.folder, file)) for file in sorted(files)}

    @cached_property
    def plan(self) -> NoisyCountsPlan:
        """The plan of the lock with the noise of the certificate; PreconditionError where it does not keep the promise."""
        policy, asked, locked, told = self.policy, self.asked, self.locked, self.certificate
        if asked.epsilon is None or asked.delta is None:
            raise PolicyError("the locked plan promises nothing")
        first = {name: file for table in reversed(told.counts) for name, file in table.recoding.items()}
        cells = tuple(
            in_told_order(own, self.rules[first[own.name]]["cells"], unread=is_unread(policy, own.name))
            for own in locked.cells
        )
        groups = tuple(each.columns for each in self.wide) if locked.kind == "fixed" else locked.groups
        named = tuple(each.columns for each in self.first)
        method = NoisyCounts(setting_of(told.noise, policy.unit), cells, groups, locked.merged, first=named)
        rows = rows_with_numbers(policy, told) if asked.has_rows else None
        total = ApproxDP(asked.epsilon, asked.delta)
        drawn = synthetic_rows(asked, cells)
        return NoisyCountsPlan(policy, method, total, asked.output.format, rows, drawn)

    def tables(self, rows: Sequence[TableEntry]) -> list[CountsTableEntry]:
        """The tables as a certificate lists them, with the files of their rules named by what is in them."""
        places: dict[tuple[str, str], str] = {}
        before = len({file for table in rows for file in table.recoding.values()})
        counts, found = self.certificate.counts, []
        for number, (name, told) in enumerate(zip(view_names([each.columns for each in counts]), counts, strict=True)):
            sigma = self._sigma_of(number)
            own, size = dict[str, str](), 1
            for column in told.columns:
                text = read_text(self.folder, told.recoding[column])
                own[column] = places.setdefault((column, text), rule_file(before + len(places) + 1, column))
                size *= len(self.rules[told.recoding[column]]["labels"])
            found.append(
                CountsTableEntry(
                    file=counts_file(name, self.plan.format),
                    name=name,
                    columns=told.columns,
                    sigma=exact_text(sigma or Fraction(0)),
                    half_width=noise_half_width(sigma or Fraction(0)),
                    cells=size,
                    recoding=own,
                )
            )
        return found

    def _sigma_of(self, number: int) -> Fraction | None:
        """The sigma of a table by its place among all of them."""
        setting = self.plan.setting
        if number < setting.singles:
            return setting.single_sigma
        if setting.first is not None and number < setting.named:
            return setting.first[1]
        return setting.sigma_of(len(self.wide))

    @property
    def synthetic(self) -> SyntheticEntry | None:
        """The synthetic table as the lock makes it; how many rows it has is taken from the certificate, where noise says it."""
        asked, told = self.plan.synthetic, self.certificate.synthetic
        if asked is None:
            return None
        return SyntheticEntry(
            file=synthetic_file(self.plan.format),
            rows=asked.rows if asked.rows is not None else (0 if told is None else told.rows),
            declared=asked.rows is not None,
            columns=self.plan.method.columns,
            of="rows of nobody",
            rules=len(asked.never),
        )

    def rule_checks(self) -> list[Check]:
        """What the labels of counts stand for, against the cells that the lock declares; None where a hierarchy is not here."""
        found: dict[str, Check] = {}
        for table in self.certificate.counts:
            for column, file in table.recoding.items():
                if file not in found:
                    fits, detail = self._is_rule(column, file)
                    found[file] = Check("label-meaning", fits, detail, about=column)
        return list(found.values())

    def _is_rule(self, column: str, file: str) -> tuple[bool | None, str]:
        rule, attribute = self.rules[file], self.policy.schema[column]
        if read_text(self.folder, file) != rule_text(rule):
            return False, "the rule is not written as we write it"
        if rule["attribute"] != column or rule["type"] != attribute.type.value:
            return False, "the rule is another attribute's"
        if is_unread(self.policy, column):
            return (None if rule["kind"] == "boxes" else False), "its hierarchy is a file that is not here"
        cells = next(own for own in self.locked.cells if own.name == column)
        return is_union_rule(cells, rule, bin_label_fits), "labels stand for what the lock declares"

    def index_check(self) -> Check:
        """The index of the tables, to the letter; scores are those of the file, each as a whole number."""
        scores = read_json(self.folder, COUNTS)["scores"]
        wanted = (
            json.dumps(count_index(self.plan, self.certificate.counts, scores), indent=1, ensure_ascii=False) + "\n"
        )
        return Check(
            "count-index", read_bytes(self.folder, COUNTS) == wanted.encode("utf-8"), "to the letter", promise=True
        )

    # --- what published numbers decide ------------------------------------------------------------------------------------

    def decision_checks(self) -> list[Check]:
        """How cells were merged, and which tables were chosen, decided again from the published numbers alone."""
        method, told = self.plan.method, self.certificate
        unread = any(is_unread(self.policy, own.name) for own in method.cells)
        if unread or (not method.merged and method.setting.kind != "once"):
            return [Check("count-bins", None, "a hierarchy is a file that is not here")] if unread else []
        singles = [self._table(each) for each in told.counts[: told.noise.singles]]
        bins = {own.name: own for own in method.bins(singles)}
        divided = {(column, file) for table in (*self.first, *self.wide) for column, file in table.recoding.items()}
        same = all(_division(self.rules[file]) == _division(bins[column].rule()) for column, file in divided)
        found = [
            self._decided("count-bins", same, "as the published tables of single attributes decide")
        ] * method.merged
        if method.setting.kind == "once":
            scores = read_json(self.folder, COUNTS)["scores"]
            listed = [tuple(each["attributes"]) for each in scores]
            sizes = [prod(len(bins[name]) for name in group) for group in method.groups]
            choice = choose_tables([each["score"] for each in scores], sizes, method.setting.tables)
            chosen = {method.groups[number] for number in choice.groups}
            same = listed == list(method.groups) and chosen == {each.columns for each in self.wide}
            found.append(self._decided("count-choice", same, "those that the published scores speak for"))
        return found

    def _decided(self, check: str, same: bool, detail: str) -> Check:
        """A decision that is not ours is a fault of this version's folders, and left open in those of others."""
        if not same and self.certificate.software.shoal != __version__:
            return Check(check, None, OTHER_VERSION)
        return Check(check, same, detail, promise=True)

    def _table(self, told: CountsTableEntry) -> NoisyTable:
        """A published table of one attribute, read back."""
        cells = {own.name: own for own in self.plan.method.cells}
        _, rows = read_rows(self.folder, told.file)
        values = np.array([int(row[len(told.columns)]) for row, _ in rows], dtype=np.int64)
        bins = tuple(declared_bins(cells[name]) for name in told.columns)
        return NoisyTable(bins, values.reshape(tuple(map(len, bins))), exact(told.sigma))


def _division(rule: Mapping[str, Any]) -> list[Any]:
    """How a rule divides its cells, and what it calls the parts."""
    return [rule[key] for key in ("cells", "labels", "members")]


def setting_of(noise: NoiseEntry, unit: Unit) -> CountsSetting:
    """The noise that a certificate states, with what it is composed of for the unit of the lock."""

    def number(text: str | None) -> Fraction | None:
        return None if text is None else exact(text)

    tables = tuple((many, exact(sigma)) for many, sigma in noise.tables)
    single, score, choice = number(noise.single_sigma), number(noise.score_sigma), number(noise.choice_epsilon)
    square = unit.max_rows**2 * (2 if unit.neighbours == "replace_one" else 1)

    def counted(choices: Sequence[tuple[int, Fraction]]) -> Guarantee:
        if unit.max_rows == 1:
            return NoisyTablesDP([(many * square, sigma) for many, sigma in choices])
        return ConcentratedDP(max(many * square / (2 * sigma**2) for many, sigma in choices))

    parts: list[tuple[Guarantee, int]] = []
    first = None if noise.first is None else (noise.first[0], exact(noise.first[1]))
    if single is not None:
        parts.append((counted([(noise.singles, single)]), 1))
    if first is not None:
        parts.append((counted([first]), 1))
    if score is not None:
        parts.append((NoisyTablesDP([(noise.candidates, score)]), 1))
    if choice is not None:
        parts.append((ExponentialDP(choice), tables[0][0]))
    parts.append((counted(tables), 1))
    return CountsSetting(
        unit, noise.kind, noise.singles, single, noise.candidates, score, choice, tables, tuple(parts), first
    )


def in_told_order(cells: AttributeCells, told: Sequence[str], *, unread: bool) -> AttributeCells:
    """Cells in the order of a rule: a lock lists values in the order of the alphabet, and a policy in its own.

    Where the hierarchy is not here, the cells are taken as they are told.
    """
    if unread:
        missing = len(told) - 1 if cells.missing is not None else None
        sizes = (Fraction(1),) * len(told)
        return replace(cells, labels=tuple(told), sizes=sizes, ordered=False, groups=(), bounds=None, missing=missing)
    if list(told) == list(cells.labels):
        return cells
    if cells.ordered or sorted(told) != sorted(cells.labels):
        raise PolicyError("a rule has other cells than the locked plan declares", came=cells.name)
    place = {label: number for number, label in enumerate(told)}
    old = {label: number for number, label in enumerate(cells.labels)}
    groups = tuple(
        tuple(Group(each.label, tuple(sorted(place[cells.labels[cell]] for cell in each.cells))) for each in level)
        for level in cells.groups
    )
    return replace(
        cells,
        labels=tuple(told),
        sizes=tuple(cells.sizes[old[label]] for label in told),
        groups=groups,
        missing=None if cells.missing is None else place[cells.labels[cells.missing]],
    )
