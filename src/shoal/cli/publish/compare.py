"""`shoal compare`: methods side by side on one real table, for the custodian alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, json_option, ledger_option
from shoal.cli.terminal.policy_file import load_policy
from shoal.cli.terminal.table_source import data_argument
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.publish.comparison.methods import MethodOutcome, MethodsComparison
    from shoal.publish.comparison.yardstick import Yardsticks

SHOWN = (
    ("prosecutor.largest", "largest risk"),
    ("inference", "inference"),
    ("columns", "columns"),
    ("pairs", "pairs"),
    ("triples", "triples"),
    ("queries", "queries"),
    ("area", "AUC"),
)
"""The measures that are printed, where some method has them; --json and the page have all."""


@command(
    "compare",
    examples=(
        "shoal compare policy.yaml k5.yaml visits.csv --fast --out compared.html",
        "shoal compare policy.yaml visits.csv --fast --seed 1 --part part.csv",
    ),
    next_step=("Choose a plan by simulated tables where it is to stay untuned.", "shoal plan policy.yaml --compare"),
)
@click.argument("policies", nargs=-1, required=True, metavar="POLICY...", type=click.Path(path_type=Path))
@data_argument
@click.option(
    "--masked", multiple=True, metavar="NAME=FILE", help="A table of masked people that another tool made of the part."
)
@click.option(
    "--synthetic",
    multiple=True,
    metavar="NAME=FILE",
    help="A table of nobody's rows that another tool made of the part.",
)
@click.option(
    "--yardstick",
    metavar="NAMES",
    help="Run mst, aim or both (mst,aim) on the part too, at the policy's epsilon and delta; needs the extra `synthesizers`.",
)
@click.option(
    "--yardstick-python",
    metavar="PATH",
    help="The Python that has `opendp[mbi]`, where this one has not.",
)
@click.option(
    "--yardstick-seconds",
    metavar="N",
    help="Stop a yardstick after so many seconds (1800 where nothing is said).",
)
@click.option("--seed", metavar="S", help="Seed of the part and of all draws; without it they differ each time.")
@click.option(
    "--part", metavar="FILE", type=click.Path(path_type=Path), help="Write the rows that take part, for other tools."
)
@click.option("--target", "targets", multiple=True, metavar="NAME", help="A column that models predict.")
@click.option("--fast", is_flag=True, help="No attacks and no trained models.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the comparison as a page of HTML.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@ledger_option
@json_option
@click.pass_context
def compare(
    context: click.Context,
    policies: Sequence[Path],
    data: Path | str,
    masked: Sequence[str],
    synthetic: Sequence[str],
    yardstick: str | None,
    yardstick_python: str | None,
    yardstick_seconds: str | None,
    seed: str | None,
    part: Path | None,
    targets: Sequence[str],
    fast: bool,
    out: Path | None,
    force: bool,
    ledger: str | None,
    as_json: bool,
) -> None:
    """Run every POLICY on four fifths of the table DATA and measure it; the other fifth is the control group.

    Nothing is published and nothing charged. Every plan that is tried is a look at real data, and goes on record in the ledger
    where there is one: a plan that is chosen by what is shown here is tuned on the data, and a certificate with a differential
    promise says so. What is printed was computed from the original: it is for the custodian alone.
    """
    from shoal.engine.base import open_engine
    from shoal.files.write import refuse_overwriting, write
    from shoal.publish.comparison.methods import compare_methods, name_policies, name_yardsticks, steps, targets_of
    from shoal.publish.plan.methods import plan

    start = None if seed is None else numbers.read_whole(seed, "seed", least=0)
    others = [_named(each, option) for option, all_ in (("masked", masked), ("synthetic", synthetic)) for each in all_]
    if part is not None and start is None:
        raise UsageError(
            "--part writes the part that a seed draws", fix="say --seed 1, and the same for the tables made of it"
        )
    if part is not None and part.suffix not in (".csv", ".parquet"):
        raise UsageError(
            "the part is written as CSV or Parquet", came=part.name, allowed="a name that ends in .csv or .parquet"
        )
    for path in (out, part):
        if path is not None:
            refuse_overwriting(path, force=force)
    named = name_policies([load_policy(path) for path in policies])
    predicted = targets_of(next(iter(named.values())), targets)
    measured = _yardsticks(yardstick, yardstick_python, yardstick_seconds)
    lines = len(named) + len(others)
    if measured is not None:
        lines += len(name_yardsticks(measured, [plan(one) for one in named.values()]))
    with progress.bar("comparing", steps(lines, predicted, full=not fast)) as tick:
        found = compare_methods(
            named, data, masked=dict(others[: len(masked)]), synthetic=dict(others[len(masked) :]), yardsticks=measured,
            seed=start, targets=predicted, full=not fast, ledger=ledger, part=part, tick=tick,
            engine=open_engine(stage=tick.stage), stage=tick.stage,
        )  # fmt: skip
    if part is not None:
        output.note_effect(f"the part was written: {part}")
        output.note(f"the rows that took part, personal data: {part}")
    if out is not None:
        write(out, found.page(), force=force, private=True)
        output.note_effect(f"the page was written: {out}")
        output.note(f"the comparison as a page, for the custodian alone: {out}")
    if as_json:
        output.print_json(found.to_json())
    else:
        _print(found)
    if found.tuned:
        output.warn("a plan that is chosen by this comparison is a plan tuned on the data")
    where = "on no record, since there is no ledger" if found.ledger is None else f"on record in {found.ledger}"
    output.note(f"computed from the original: for the custodian alone; these looks are {where}")
    if not found.ran:
        context.exit(3)


def _named(text: str, option: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not name or not equals or not path:
        raise UsageError(f"--{option} needs a name and a file", came=text, allowed=f"--{option} NAME=FILE")
    return name, path


def _yardsticks(names: str | None, python: str | None, seconds: str | None) -> Yardsticks | None:
    from shoal.publish.comparison.yardstick import SECONDS, Yardsticks

    if names is None:
        if python is not None or seconds is not None:
            raise UsageError("there is no yardstick to run", fix="say which: --yardstick mst,aim")
        return None
    limit = SECONDS if seconds is None else numbers.read_whole(seconds, "yardstick-seconds", least=1)
    kinds = tuple(each.strip().lower() for each in names.split(","))
    return Yardsticks(kinds, python, limit)


def _print(found: MethodsComparison) -> None:
    for sentence in found.words():
        output.print_paragraph(sentence)
    output.print_line()
    output.print_table(
        ("method", "rows", "CPU s", "claim"),
        [
            (
                one.name, "-" if one.rows is None else f"{one.rows:,}", "-" if one.cpu is None else f"{one.cpu:.2f}",
                "not run" if one.why_not is not None else f"{one.claim}, {one.status}".removesuffix(", "),
            )
            for one in found.methods
        ],
        right=(1, 2),
        width=100,
    )  # fmt: skip
    shown = [(name, title) for name, title in SHOWN if any(name in one.measures for one in found.ran)]
    if found.ran:
        output.print_line()
        rows = [(one.name, *(_cell(one, name) for name, _ in shown)) for one in found.ran]
        output.print_table(("method", *(title for _, title in shown)), rows, right=range(1, len(shown) + 1))
    for one in found.ran:
        for note in one.notes:
            output.note(f"{one.name}: {note}")


def _cell(one: MethodOutcome, name: str) -> str:
    found = one.measures.get(name)
    if found is None:
        return "-"
    told = f"{found.value:.3f}"
    if name != "inference" or found.low is None or found.high is None:
        return told
    return f"{told} ({found.low:.2f} to {found.high:.2f})"
