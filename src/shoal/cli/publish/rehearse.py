"""`shoal rehearse`: what to expect of a release, from tables simulated by the policy; no row is read, nothing charged."""

from __future__ import annotations

from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, json_option
from shoal.cli.terminal.policy_file import load_plan
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.publish.counts_rehearsal import CountsRehearsal
    from shoal.publish.rehearse import Expectation, Rehearsal, Spread


@command(
    "rehearse",
    examples=(
        "shoal rehearse policy.yaml --rows 1000,10000,100000",
        "shoal rehearse policy.yaml --rows 50000 --runs 20 --marginals census.yaml",
    ),
    next_step=(
        "Change the policy and rehearse again, or publish.",
        "shoal release policy.yaml visits.csv --out visits-2026",
    ),
)
@click.argument("policy", type=click.Path(path_type=Path))
@click.option(
    "--rows",
    metavar="N[,N...]",
    default="50000",
    show_default=True,
    help="Rows of the table, roughly; several sizes are compared.",
)
@click.option("--runs", metavar="R", default="5", show_default=True, help="Simulated tables of each size, from 2 up.")
@click.option(
    "--marginals",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What is publicly known: YAML or JSON, attribute: {value: share}, or [[low, high, share], ...].",
)
@click.option(
    "--seed",
    metavar="S",
    default="0",
    show_default=True,
    help="Seed of the simulated tables; the same seed repeats them.",
)
@json_option
def rehearse(policy: Path, rows: str, runs: str, marginals: Path | None, seed: str, as_json: bool) -> None:
    """Run the plan of POLICY on tables simulated from its domains; no table is opened and nothing is charged."""
    from shoal.datasets.marginals import load
    from shoal.publish.counts_rehearsal import CountsRehearsal

    sizes = _sizes(rows)
    count, start = numbers.read_whole(runs, "runs"), numbers.read_whole(seed, "seed", least=0)
    known = None if marginals is None else load(marginals)
    planned = load_plan(policy)
    with progress.bar("rehearsing", len(sizes) * count) as tick:
        found = planned.rehearse(rows=sizes, runs=count, marginals=known, seed=start, tick=tick)
    if as_json:
        output.print_json(found.to_json())
    elif isinstance(found, CountsRehearsal):
        _print_counts(found)
    else:
        _print(found)


def _sizes(text: str) -> list[int]:
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError("--rows cannot be read", came=repr(text), allowed="N or N,N,...")
    return [numbers.read_whole(part.replace("_", ""), "rows") for part in parts]


def _print_counts(found: CountsRehearsal) -> None:
    """For noisy counts: how many tables there would be, and how far from the simulated ones."""
    what, *rest = found.words()
    output.print_paragraph(what)
    output.print_line()
    head = ("", *(cell for one in found.expected for cell in (f"{one.rows:,} rows", "")))
    rows = [(name, *(cell for own in line for cell in _spread(own, form))) for name, line, form in found.lines()]
    output.print_table(head, rows, right=range(1, len(head), 2))
    for sentence in rest:
        output.print_line()
        output.print_paragraph(sentence)
    if found.beside is not None:
        output.print_line()
        _print(found.beside)


def _print(found: Rehearsal) -> None:
    what, *rest = found.words()
    output.print_paragraph(what)
    output.print_line()
    columns = [_column(one) for one in found.expected]
    names = [
        "rows sampled",
        "rows published",
        "  as a share of those sampled",
        "equivalence classes",
        "granularity",
        "runs that published nothing",
        *(f"detail of {part.name}" + ", its shares given" * part.public for part in found.expected[0].attributes),
    ]
    head = ("", *(cell for one in found.expected for cell in (f"{one.rows:,} rows", "")))
    rows = [(name, *(cell for column in columns for cell in column[place])) for place, name in enumerate(names)]
    output.print_table(head, rows, right=range(1, len(head), 2))
    for sentence in rest:
        output.print_line()
        output.print_paragraph(sentence)


def _column(one: Expectation) -> list[tuple[str, str]]:
    """A mean, and the least and the most of the runs, for each line of the table."""
    empty, published = one.empty, one.published
    return [
        (f"{one.sampled.mean:,.0f}", ""),
        _spread(published, ",.0f"),
        _spread(one.kept, ".0%"),
        _spread(one.groups, ",.0f" if one.groups.mean >= 10 else ".1f"),
        _spread(one.granularity, ".2f"),
        (f"{empty.count} of {empty.runs}", f"({floor(100 * empty.low)}% to {ceil(100 * empty.high)}%)"),
        *(_spread(part.detail, ".2f") for part in one.attributes),
    ]


def _spread(spread: Spread | None, form: str) -> tuple[str, str]:
    if spread is None:
        return "-", ""
    low, high = format(spread.least, form), format(spread.most, form)
    return format(spread.mean, form), "" if low == high else f"({low} to {high})"
