"""`shoal assess`: risks and utility of a release, or of a table that another tool made, for the custodian alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, json_option, ledger_option
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.assess.assessment import Assessment
    from shoal.assess.quantity import Quantity

SHOWN = (
    ("prosecutor.largest", "largest probability of finding a person's row"),
    ("prosecutor.mean", "on average"),
    ("prosecutor.at_risk", "share of rows above the threshold 0.2"),
    ("sample_uniques", "rows that are alone in their class"),
    ("journalist.largest", "largest probability, person from the population"),
    ("marketer", "expected share of rows that are found"),
)
"""The risks that are printed; --json has all of them."""


@command(
    "assess",
    examples=(
        "shoal assess visits-2026 --original visits.csv --fast",
        "shoal assess --masked masked.csv --policy policy.yaml --original visits.csv --fast",
    ),
    next_step=("What is measured promises nothing; try to refute what is promised.", "shoal audit policy.yaml"),
)
@click.argument("release", required=False, metavar="[RELEASE]", type=click.Path(path_type=Path))
@click.option("--original", required=True, metavar="DATA", help="The table that was released.")
@click.option("--masked", metavar="DATA", help="A table that another tool made, in place of a release; needs --policy.")
@click.option("--policy", metavar="FILE", type=click.Path(path_type=Path), help="Says what the columns are.")
@click.option("--aligned", is_flag=True, help="Row i of the masked table is record i of the original.")
@click.option(
    "--control", metavar="DATA", help="Originals that took no part: attacks and models are judged against them."
)
@click.option("--population", metavar="DATA", help="A table of the population with the quasi-identifiers.")
@click.option("--fraction", metavar="SHARE", help="The share of a population that the original is a sample of.")
@click.option("--weights", metavar="NAME", help="A column of the original with sampling weights.")
@click.option("--target", "targets", multiple=True, metavar="NAME", help="A column that models predict.")
@click.option("--lenient", is_flag=True, help="A suppressed cell matches anything; strict is the default.")
@click.option("--fast", is_flag=True, help="No attacks and no trained models.")
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
    ledger: str | None,
    as_json: bool,
) -> None:
    """Measure risks and utility of RELEASE against its original: a second opinion that knows tables and no method.

    What is printed was computed from the original: it is for the custodian alone. It is a look at real data, and goes on record
    in the ledger where there is one. No number here is a guarantee.
    """
    from shoal.assess.assessment import steps_of
    from shoal.ledger.ledger import record_look
    from shoal.policy.policy import Policy
    from shoal.publish.assess import READING, assess_release, confidential_of

    if (release is None) == (masked is None):
        raise UsageError(
            "an assessment is of one release", came="none" if release is None else "a release and --masked",
            allowed="the folder of a release, or --masked FILE --policy FILE",
        )  # fmt: skip
    asked = None if policy is None else Policy.load(policy)
    share = None if fraction is None else float(numbers.read_number(fraction, "fraction"))
    locked, predicted = confidential_of(release, asked, targets)
    with progress.bar("assessing", READING + steps_of(predicted, full=not fast)) as tick:
        found = assess_release(
            original, folder=release, masked=masked, policy=asked, aligned=aligned, control=control, population=population,
            fraction=share, weights=weights, targets=predicted, lenient=lenient, full=not fast, tick=tick,
        )  # fmt: skip
    place = record_look(locked.dataset, "assess", lock=locked.confirmed_lock().sha256, ledger=ledger)
    if as_json:
        output.print_json(found.to_json())
    else:
        _print(found)
    output.note(
        "computed from the original: for the custodian alone" + ("" if place is None else f"; on record in {place}")
    )


def _print(found: Assessment) -> None:
    for sentence in found.words():
        output.print_paragraph(sentence)
    measures = found.risk_measures()
    rows = [(words, *map(_cell, measures[name])) for name, words in SHOWN if name in measures]
    if rows:
        output.print_line()
        output.print_table(("risk", "original", "release"), rows)
    output.print_line()
    output.print_table(
        ("column", "total variation", "mean before", "mean after"),
        [
            (
                one.name, f"{one.total_variation:.3f}",
                "" if one.mean is None or one.kind == "dates" else f"{one.mean[0]:,.4g}",
                "" if one.mean is None or one.kind == "dates" else f"{one.mean[1]:,.4g}",
            )
            for one in found.utility.columns
        ],
    )  # fmt: skip
    for one in found.utility.learning:
        output.print_line()
        output.print_table(
            (f"predicting '{one.target}'", "trained on originals", "trained on the release"),
            [(model.model, _area(model.original), _area(model.released)) for model in one.models],
        )
    for missed in (*found.left_out, *found.utility.left_out, *found.utility.notes):
        output.note(missed)


def _cell(quantity: Quantity | None) -> str:
    return "" if quantity is None else f"{quantity.value:,.4g}"


def _area(quantity: Quantity) -> str:
    return f"{quantity.value:.3f} ({quantity.low:.3f} to {quantity.high:.3f})"
