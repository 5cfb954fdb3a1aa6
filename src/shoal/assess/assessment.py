"""An assessment of a release: its risks and its utility, measured on the original and on what was published.

It is a second opinion: it knows the tables and not how they were made, so that it judges other tools' tables in the same way. It
promises nothing. A measure that is small on these tables, against the intruders that were tried, may be large for others; what is
proved of a release stands in its certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shoal.assess.comparison.parts import AttributeParts, Ints, ReadColumn, parts_of
from shoal.assess.comparison.release_tables import OriginalTable
from shoal.assess.comparison.table import ComparableColumn, ComparableTable
from shoal.assess.disclosure.classes import Mask
from shoal.assess.quantity import Quantity
from shoal.assess.risk.attack import NO_CONTROL, AttackRisk, ReleasedAttribute
from shoal.assess.risk.class_sizes import LENIENT, STRICT
from shoal.assess.risk.inference import inference
from shoal.assess.risk.linkability import linkability, own_record_linkage
from shoal.assess.risk.published_classes import population_of_classes
from shoal.assess.risk.report import RiskReport, measure_risk
from shoal.assess.risk.singling_out import singling_out
from shoal.assess.utility.report import UtilityReport, assess_utility
from shoal.assess.utility.report import steps_of as utility_steps
from shoal.chance.source import Source
from shoal.errors import DataError, ShoalError
from shoal.progress import Stage, silent

VERSION = 1
TARGETS = 1_000
"""Records that intruders try to attack."""
MOST_KNOWN = 8
"""Attributes that an intruder of the attacks knows; of more, the first in the order of the policy."""
FINE = 250
"""Parts, at most, of an attribute that an intruder of the attacks knows: a value of its own where there are no more."""
SEED = "attacks"
ATTACK_STEPS = 3
LARGEST_SET = 3
"""Special uniques are searched for in sets of up to so many attributes."""
MANY_CELLS = 8_000_000
"""Above so many cells (rows × attributes) special uniques are searched for in pairs alone, and lenient matching is not tried."""


@dataclass(frozen=True)
class Assessment:
    """What was measured of a release, before and after."""

    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    matching: str
    """strict or lenient: what a suppressed cell matches."""
    before: RiskReport | None
    """The risks of the original as it is; None without quasi-identifiers."""
    after: RiskReport | None
    """Those of the published rows; None where rows are nobody's."""
    attacks: tuple[AttackRisk, ...]
    utility: UtilityReport
    control: int | None
    """Records of the control group, which took no part in the release."""
    left_out: tuple[str, ...]
    """What was not measured, and why."""

    def to_json(self) -> dict[str, Any]:
        """The assessment as plain values for JSON, with a version."""
        return {
            "version": VERSION,
            "quasi": list(self.quasi),
            "confidential": list(self.confidential),
            "matching": self.matching,
            "control": self.control,
            "risk": {
                "before": None if self.before is None else self.before.to_json(),
                "after": None if self.after is None else self.after.to_json(),
                "attacks": [one.to_json() for one in self.attacks],
                "measures": {
                    name: [None if one is None else one.to_json() for one in pair]
                    for name, pair in self.risk_measures().items()
                },
            },
            "utility": self.utility.to_json(),
            "left_out": [*self.left_out, *self.utility.left_out],
        }

    def risk_measures(self) -> dict[str, tuple[Quantity | None, Quantity | None]]:
        """Every risk by name, before and after; None where it was not measured."""
        sides = [{} if one is None else one.quantities() for one in (self.before, self.after)]
        return {name: (sides[0].get(name), sides[1].get(name)) for name in dict.fromkeys([*sides[0], *sides[1]])}

    def words(self) -> list[str]:
        """What the numbers say, in sentences: risks first."""
        said = []
        if self.before is not None:
            said.append(f"The original: {_risk_words(self.before)}")
        if self.after is not None:
            said.append(f"The release: {_risk_words(self.after)}")
        elif not self.utility.rows[1]:
            said.append("The release has no row.")
        elif self.before is not None and not self.utility.real:
            said.append("The rows of the release are nobody's, so no row of it is a person to find.")
        said += [one.words(repeats=False) for one in self.attacks]
        said += self.words_of_attacks()
        said += self.utility.words()
        said.append(
            "These numbers are about the tables at hand and the intruders that were tried. They are no guarantee."
        )
        return said

    def words_of_attacks(self) -> list[str]:
        """What holds of all attacks that were tried, in sentences."""
        if not self.attacks:
            return []
        return [
            *([NO_CONTROL] if any(one.control is None for one in self.attacks) else []),
            (
                f"The intruders of these attacks know up to {FINE} different values of an attribute as they are; of more, a "
                f"number or a date as one of about {FINE} parts of its range, and names that are frequent. Who knows more may "
                "achieve more."
            ),
        ]

    def __repr__(self) -> str:
        pairs = next((one.mean.value for one in self.utility.marginals if one.width == 2), None)
        near = "" if pairs is None else f", pairs at {pairs:.3f}"
        return f"<Assessment of {self.utility.words_of_rows}: {len(self.attacks)} attacks{near}>"


def _risk_words(report: RiskReport) -> str:
    largest, mean = report.prosecutor.largest.value, report.prosecutor.mean.value
    return (
        f"an intruder who knows {', '.join(report.attributes)} of a person in it, and nothing else, finds the person's row with "
        "probability "
        f"{largest:.3g} at most and {mean:.3g} on average; {report.sample_uniques.value:,.0f} of {report.rows:,} rows are unique."
    )


def steps_of(targets: Sequence[str], *, full: bool) -> int:
    """How often `tick` is called by `assess_tables`."""
    return 2 + (ATTACK_STEPS if full else 0) + utility_steps(targets, learning=full)


def assess_tables(
    original: OriginalTable,
    released: ComparableTable,
    *,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    targets: Sequence[str] = (),
    control: ComparableTable | None = None,
    population: Ints | None = None,
    people: Mapping[str, ReadColumn] | None = None,
    fraction: float | None = None,
    weights: Sequence[float] | None = None,
    lenient: bool = False,
    full: bool = True,
    tick: Callable[[], None] = lambda: None,
    stage: Stage = silent,
) -> Assessment:
    """Measure risks and utility of a released table against its original.

    Arguments  `quasi`: what an intruder may know; `confidential`: what may not be learned; `targets`: columns that models
               predict, by default the first two confidential ones; `control`: originals that took no part; `population`: the
               quasi-identifiers of a population as codes of the original's values; `people`: its columns as they were read, by
               which the classes of the release are sized; `fraction`: the share of a population that the
               original is a sample of; `weights`: sampling weights of the original's records; `lenient`: a suppressed cell
               matches anything; `full`: with attacks and models, which take longest; `tick`: is called after each step,
               and `stage` with what begins
    Raises     DataError for an original or a control group without a row, and for numbers that do not fit
    """
    for whose, many in (
        ("original", original.table.rows),
        ("control group", None if control is None else control.rows),
    ):
        if many == 0:
            raise DataError(
                f"the {whose} has no row", allowed="a table with records", fix="check that the file is the right one"
            )
    names = [name for name in quasi if name in original.table.names]
    predicted = list(targets) or [name for name in confidential if name in released.names][:2]
    left_out: list[str] = []
    matching = LENIENT if lenient else STRICT
    large = original.table.rows * max(1, len(names)) > MANY_CELLS
    before = after = None
    stage("risks of the original")
    if names:
        keys = np.stack([_codes(original.columns[name]) for name in names], axis=1)
        secret = {name: _codes(original.columns[name]) for name in confidential if name in original.table.names}
        before = measure_risk(
            keys, names=names, matching=matching, population=population, fraction=fraction, weights=weights,
            confidential=secret, largest_size=2 if large else LARGEST_SET,
        )  # fmt: skip
    else:
        left_out.append("risks: no attribute is a quasi-identifier")
    tick()
    stage("risks of the release")
    own = [name for name in names if name in released.names]
    if own and released.real and released.rows:
        sized = None
        if people is not None:
            try:
                sized = population_of_classes(released.columns, people, own, matching)
            except DataError as error:
                left_out.append(f"the journalist's risk of the release: {error.wrong}")
        if sized is not None and sized.short:
            left_out.append(
                f"the population has fewer people in the classes of {sized.short:,} released rows than the release has rows: "
                "they were changed before they were published, or it is not the population; these classes count as they are"
            )
        after = measure_risk(
            np.stack([_label_codes(released[name]) for name in own], axis=1), names=own, matching=matching, population=sized,
            fraction=_share_released(fraction, released.rows / original.table.rows),
            confidential={name: _label_codes(released[name]) for name in confidential if name in released.names},
            valued={name: _valued(released[name]) for name in confidential if name in released.names},
            largest_size=2 if large else LARGEST_SET,
        )  # fmt: skip
    elif own:
        left_out.append(
            "risks of single rows of the release: its rows are nobody's" if released.rows else "the release has no row"
        )
    tick()
    attacks: list[AttackRisk] = []
    if full:
        stage("attacks")
        attacks, missed = _attack(original, released, own, confidential, control, tick)
        left_out += missed
    utility = assess_utility(
        original.table, released, quasi=own, targets=predicted, control=control, learning=full, tick=tick, stage=stage
    )
    return Assessment(
        tuple(names), tuple(confidential), matching, before, after, tuple(attacks), utility,
        None if control is None else control.rows, tuple(left_out),
    )  # fmt: skip


def _share_released(fraction: float | None, share: float) -> float | None:
    """The share of the population that the released rows are; None where they are as many as everybody, or more."""
    return None if fraction is None or fraction * share >= 1 else fraction * share


def _codes(column: ReadColumn) -> Ints:
    """The exact values of a column as codes; −1 where missing."""
    if column.points is None:
        return column.codes
    gone = np.isnan(column.points)
    found = np.unique(np.where(gone, 0.0, column.points), return_inverse=True)[1].ravel()
    return np.asarray(np.where(gone, -1, found))


def _label_codes(column: ComparableColumn) -> Ints:
    """The labels of a released column as codes; −1 where a cell is missing or stands for every value.

    A cell that could not be read is a label like any other: whoever knows what it means tells it from others.
    """
    if column.points is not None:
        return _codes(ReadColumn(column.points, (), column.codes))
    hidden = (column.coverage >= 1) | (column.shares[:, -1] >= 1)
    if column.unread is not None:
        hidden &= ~column.unread
    return np.asarray(np.where(hidden[column.codes], -1, column.codes))


def _valued(column: ComparableColumn) -> Mask:
    """Whether each cell of a released column is one value; a label of several values tells none of them.

    A cell that could not be read may be a value in other words, so it counts as one.
    """
    if column.points is not None:
        return np.ones(len(column), dtype=np.bool_)
    found = column.coverage <= 0
    return np.asarray((found if column.unread is None else found | column.unread)[column.codes])


def _attack(
    original: OriginalTable,
    released: ComparableTable,
    quasi: Sequence[str],
    confidential: Sequence[str],
    control: ComparableTable | None,
    tick: Callable[[], None],
) -> tuple[list[AttackRisk], list[str]]:
    """Inference of each confidential attribute, singling out, linking two halves of what is known."""
    found: list[AttackRisk] = []
    missed: list[str] = []
    secret = [name for name in confidential if name in released.names]
    known = [name for name in quasi if name not in secret][:MOST_KNOWN]
    if not released.rows or not known:
        for _ in range(ATTACK_STEPS):
            tick()
        return [], ["attacks: the release shows no row, or no quasi-identifier"]
    fine = _finer_parts(original, released, known)
    shown = {name: _released_attribute(_by_parts(released, fine)[name]) for name in dict.fromkeys([*known, *secret])}
    with Source.seeded(SEED) as source:
        picked = source.permutation(original.table.rows)[:TARGETS]
        people = _by_parts(original.table, fine)
        control = None if control is None else _by_parts(control, fine)
        chosen = people.take(picked)
        others = None if control is None else control.take(source.permutation(control.rows)[:TARGETS])
        targets, held = _parts(chosen, shown), None if others is None else _parts(others, shown)

        def tried(attack: str, run: Callable[[], AttackRisk]) -> None:
            try:
                found.append(run())
            except ShoalError as error:
                missed.append(f"{attack}: {error.wrong}")

        for name in secret:
            aims, others_aims = _knowing(targets, name), None if held is None else _knowing(held, name)
            tried(
                f"inference of '{name}'",
                partial(inference, shown, aims, known=known, confidential=name, control=others_aims),
            )
        tick()
        every = _parts(people, shown)
        enough = None if control is None or control.rows < original.table.rows else _parts(control, shown)
        if control is not None and enough is None:
            missed.append(
                f"singling out against the control group: that has {control.rows:,} records and would need as many as the "
                f"original, {original.table.rows:,}; it is measured against guessing"
            )
        tried(
            "singling out",
            lambda: singling_out(
                shown,
                every,
                source=source.stream("singling out"),
                names=known,
                attributes=min(3, len(known)),
                control=enough,
            ),
        )
        tick()
        if len(known) > 1:
            left, right = known[: len(known) // 2], known[len(known) // 2 :]
            tried(
                "linkability",
                lambda: linkability(
                    shown, targets, left=left, right=right, source=source.stream("linkability"), control=held
                ),
            )
        if released.aligned:
            tried(
                "record linkage",
                lambda: own_record_linkage(
                    shown, targets, rows=picked, known=known, source=source.stream("record linkage")
                ),
            )
        tick()
    return found, missed


def _finer_parts(original: OriginalTable, released: ComparableTable, known: Sequence[str]) -> dict[str, AttributeParts]:
    """Finer parts of what an intruder knows, who knows values and not the parts by which tables are compared."""
    return {
        name: parts_of(original.schema[name], original.columns[name], FINE, FINE)
        for name in known
        if released[name].cells is not None or released[name].labels is not None
    }


def _by_parts(table: ComparableTable, fine: Mapping[str, AttributeParts]) -> ComparableTable:
    """The same rows by other parts of some attributes."""
    columns = dict(table.columns)
    for name, parts in fine.items():
        found = columns[name].by_parts(parts)
        if found is not None:
            columns[name] = found
    return ComparableTable(columns, table.words, real=table.real, aligned=table.aligned)


def _knowing(records: Mapping[str, Ints], name: str) -> dict[str, Ints]:
    """The records whose value of an attribute is known: of others it cannot be said whether a guess is right."""
    kept = records[name] >= 0
    return {each: own[kept] for each, own in records.items()}


def _released_attribute(column: ComparableColumn) -> ReleasedAttribute:
    """A column as an intruder of the attacks sees it; an ordered one with the places of its parts."""
    width = len(column.parts)
    places = np.append(np.arange(width - 1) / max(1, width - 2), 0.5) if column.parts.ordered else None
    return ReleasedAttribute(column.codes, column.shares, places)


def _parts(table: ComparableTable, shown: Mapping[str, ReleasedAttribute]) -> dict[str, Ints]:
    """The part of each record; −1 for a missing value, which is not known."""
    return {
        name: np.where(table[name].likeliest == table[name].parts.missing, -1, table[name].likeliest) for name in shown
    }
