"""`shoal assess`: risks and utility of a release, or of a table that another tool made, for the custodian alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, json_option, ledger_option
from shoal.cli.terminal.policy_file import load_policy
from shoal.errors import UsageError
from shoal.page.number_text import number_text

if TYPE_CHECKING:
    from shoal.assess.assessment import Assessment
    from shoal.assess.quantity import Quantity
    from shoal.assess.risk.attack import AttackRisk

SHOWN = (
    ("prosecutor.largest", "a person's row is found, at most", True),
    ("prosecutor.mean", "a person's row is found, on average", True),
    ("prosecutor.at_risk", "rows that are found with more than 20 %", True),
    ("journalist.largest", "somebody of the population, at most", True),
    ("marketer", "share of all rows that are found", True),
    ("sample_uniques", "rows that no other row looks like", False),
    ("special_uniques.found", "rows that a few attributes make unique", False),
    ("marketer_outside", "share of all rows that are found, people from the population", True),
    ("population_uniques", "rows that one person of the population looks like", False),
    ("individual.mean", "individual risk, on average (model, by weights)", True),
    ("population_models.decision_rule", "population uniques (model, by the fraction)", False),
)
"""The risks that are printed, and whether each is a share; --json has all of them."""
NO_GUARANTEE = "These numbers are about the tables at hand and the intruders that were tried. They are no guarantee."


@command(
    "assess",
    examples=(
        "shoal assess visits-2026 --original visits.csv --fast",
        "shoal assess --masked masked.csv --policy policy.yaml --original visits.csv --fast --out assessment.html --force",
    ),
    next_step=("What is measured promises nothing; try to refute what is promised.", "shoal audit policy.yaml"),
)
@click.argument("release", required=False, metavar="[RELEASE]", type=click.Path(path_type=Path))
@click.option("--original", required=True, metavar="DATA", help="The table that was released.")
@click.option("--masked", metavar="DATA", help="A table that another tool made, in place of a release; needs --policy.")
@click.option("--policy", metavar="FILE", type=click.Path(path_type=Path), help="Says what the columns are.")
@click.option(
    "--aligned", is_flag=True, help="Row i of the masked table is record i of the original: tries to link them."
)
@click.option(
    "--control", metavar="DATA", help="Originals that took no part: attacks and models are judged against them."
)
@click.option("--population", metavar="DATA", help="A table of the population with the quasi-identifiers.")
@click.option("--fraction", metavar="SHARE", help="The share of a population that the original is a sample of.")
@click.option("--weights", metavar="NAME", help="A column of the original with sampling weights.")
@click.option("--target", "targets", multiple=True, metavar="NAME", help="A column that models predict.")
@click.option("--lenient", is_flag=True, help="A suppressed cell matches anything; strict is the default.")
@click.option("--fast", is_flag=True, help="No attacks and no trained models.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write a page of the assessment alone.")
@click.option("--force", is_flag=True, help="Replace a page that is there.")
@ledger_option
@json_option
def assess(
    release: Path | None,
    original: str,
    masked: str | None,
    policy: Path | None,
    aligned: bool,
    control: str | None,
    population: str | None,
    fraction: str | None,
    weights: str | None,
    targets: Sequence[str],
    lenient: bool,
    fast: bool,
    out: Path | None,
    force: bool,
    ledger: str | None,
    as_json: bool,
) -> None:
    """Measure risks and utility of RELEASE against its original: a second opinion that knows tables and no method.

    Where the custodian's report of the release lies beside it, the assessment is put into the report. All of it was computed
    from the original: it is for the custodian alone. It is a look at real data, and goes on record in the ledger where there is
    one. No number here is a guarantee.
    """
    from shoal.assess.assessment import steps_of
    from shoal.engine.base import open_engine
    from shoal.files.write import refuse_overwriting
    from shoal.ledger.ledger import check_look, record_look
    from shoal.publish.assess import READING, assess_release, confidential_of

    if (release is None) == (masked is None):
        raise UsageError(
            "an assessment is of one release", came="none" if release is None else "a release and --masked",
            allowed="the folder of a release, or --masked FILE --policy FILE",
        )  # fmt: skip
    if out is not None:
        refuse_overwriting(out, force=force)
    asked = None if policy is None else load_policy(policy)
    share = None if fraction is None else float(numbers.read_number(fraction, "fraction"))
    locked, predicted = confidential_of(release, asked, targets)
    check_look(ledger)
    with progress.bar("assessing", READING + steps_of(predicted, full=not fast)) as tick:
        found = assess_release(
            original, folder=release, masked=masked, policy=asked, aligned=aligned, control=control, population=population,
            fraction=share, weights=weights, targets=predicted, lenient=lenient, full=not fast, tick=tick,
            engine=open_engine(stage=tick.stage), stage=tick.stage,
        )  # fmt: skip
    place = record_look(locked.dataset, "assess", lock=locked.confirmed_lock().sha256, ledger=ledger)
    written = _write(out, release, found, locked.dataset, force=force)
    if written is not None:
        output.note_effect(f"the assessment was written: {written}")
    if as_json:
        output.print_json({**found.to_json(), "page": None if written is None else str(written)})
    else:
        _print(found)
    if written is not None:
        output.note(f"written, for the custodian alone: {written}")
    elif release is not None:
        output.note(
            "there is no report of this release beside it; --out FILE.html writes a page of the assessment alone"
        )
    output.note(
        "computed from the original: for the custodian alone" + ("" if place is None else f"; on record in {place}")
    )


def _write(out: Path | None, release: Path | None, found: Assessment, dataset: str, *, force: bool) -> Path | None:
    """Put the assessment where it belongs; None where there is no place for it."""
    from shoal.files import write as disk
    from shoal.publish.report.assessment.page import add_assessment, assessment_page, find_report

    fields = found.to_json()
    if out is not None:
        what = "a table that another tool made" if release is None else f"release {release.name}"
        return disk.write(out, assessment_page(fields, dataset, what), force=force, private=True)
    return None if release is None or find_report(release) is None else add_assessment(release, fields)


def _print(found: Assessment) -> None:
    """Tables first, then sentences: what a person reads on a screen."""
    measures = found.risk_measures()
    rows = [
        (words, *(_cell(one, share=share) for one in measures[name]))
        for name, words, share in SHOWN
        if name in measures
    ]
    if rows:
        output.print_table(("risk", "original", "release"), rows, right=(1, 2))
        if not found.utility.rows[1]:
            output.print_line("  The release has no row.")
        elif found.after is None and not found.utility.real:
            output.print_line("  The rows of the release are nobody's: no row of it is a person to find.")
        output.print_line()
    if found.attacks:
        output.print_table(
            ("attack", "attempts", "succeed", "control", "guessing", "excess", "interval"),
            [_attack_row(one) for one in found.attacks],
            right=(1, 2, 3, 4, 5),
        )
        against = "guessing, for want of a control group (--control)" if found.control is None else "the control group"
        alone = [one.attack for one in found.attacks if one.control is None and found.control is not None]
        beside = f"; of {', '.join(alone)} over guessing" if alone else ""
        output.print_line(
            f"  Excess: over {against}{beside}. An interval that includes 0 shows no risk, and rules none out."
        )
        for sentence in found.words_of_attacks():
            output.print_paragraph(sentence, indent="  ")
        output.print_line()
    output.print_table(
        ("column", "total variation", "mean, original", "mean, release"),
        [
            (one.name, f"{one.total_variation:.3f}", *_means(one.mean, dates=one.kind == "dates"))
            for one in found.utility.columns
        ],
        right=(1, 2, 3),
    )
    output.print_paragraph(
        "Total variation: 0 is the same distribution, 1 nothing in common. A label that stands for several numbers counts in the "
        "mean as if they were spread evenly over it, so a wide label can move it far.",
        indent="  ",
    )
    for learned in found.utility.learning:
        output.print_line()
        output.print_table(
            (f"predicting '{learned.target}'", "trained on originals", "trained on the release"),
            [(model.model, _area(model.original), _area(model.released)) for model in learned.models],
        )
    output.print_line()
    for sentence in (*found.utility.words(), NO_GUARANTEE):
        output.print_paragraph(sentence)
    for missed in (*found.left_out, *found.utility.left_out, *found.utility.notes):
        output.note(missed)


def _cell(quantity: Quantity | None, *, share: bool) -> str:
    if quantity is None:
        return "-"
    return _percent(quantity.value) if share else number_text(round(quantity.value))


def _attack_row(one: AttackRisk) -> tuple[str, ...]:
    low, high = one.risk.low, one.risk.high
    ends = "" if low is None or high is None else f"{_percent(low)} to {_percent(high)} ({one.risk.level:.0%})"
    control = "-" if one.control is None else _percent(one.control.value)
    rates = (_percent(one.success.value), control, _percent(one.baseline.value), _percent(one.risk.value))
    return one.attack, f"{one.attempts:,}", *rates, ends


def _percent(value: float) -> str:
    if value and abs(value) < 0.0005:
        return "< 0.1 %" if value > 0 else "> -0.1 %"
    return f"{100 * value:.1f} %"


def _means(pair: tuple[float, float] | None, *, dates: bool) -> tuple[str, str]:
    from shoal.publish.report.assessment.nearness import day_text

    if pair is None:
        return "", ""
    text = day_text if dates else number_text
    before, after = ("" if math.isnan(value) else text(value) for value in pair)
    return before, after


def _area(quantity: Quantity) -> str:
    return f"{quantity.value:.3f} ({quantity.low:.3f} to {quantity.high:.3f})"
