"""`shoal rehearse`: what to expect of a release, from stand-ins drawn from the policy; no row is read, nothing charged."""

from __future__ import annotations

from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli import screen, typed
from shoal.errors import ParameterError, UsageError

if TYPE_CHECKING:
    from shoal.publish.rehearse import Expected, Rehearsal, Spread


@click.command()
@click.argument("policy", type=click.Path(path_type=Path))
@click.option(
    "--rows",
    metavar="N[,N...]",
    default="50000",
    show_default=True,
    help="About how many rows the table has; several sizes are compared.",
)
@click.option("--runs", metavar="R", default="5", show_default=True, help="Stand-ins of each size, from 2 up.")
@click.option(
    "--marginals",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What is publicly known: YAML or JSON, attribute: {value: share}, or [[low, high, share], ...].",
)
@click.option(
    "--seed", metavar="S", default="0", show_default=True, help="Other stand-ins; the same seed repeats them."
)
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def rehearse(policy: Path, rows: str, runs: str, marginals: Path | None, seed: str, as_json: bool) -> None:
    """Run the plan of POLICY on tables made up from its domains: rows, detail, and the chance of an empty release.

    No table of yours is opened and nothing is charged, so a policy may be rehearsed and changed as often as you like.

    \b
    shoal rehearse policy.yaml
    shoal rehearse policy.yaml --rows 1000,10000,100000 --runs 20
    shoal rehearse policy.yaml --marginals census.yaml --json
    """  # noqa: D301 - Click reads the real character
    from shoal.datasets.marginals import load
    from shoal.policy.policy import Policy
    from shoal.publish.plan.safe_k import safe_k_plan
    from shoal.publish.rehearse import rehearse as run

    sizes = _sizes(rows)
    count, start = typed.whole(runs, "runs"), _seed(seed)
    known = None if marginals is None else load(marginals)
    with screen.busy("planning"):
        planned = safe_k_plan(Policy.load(policy))
    with screen.bar("rehearsing", len(sizes) * count) as tick:
        found = run(planned, rows=sizes, runs=count, marginals=known, seed=start, tick=tick)
    if as_json:
        screen.answer(found.to_json())
    else:
        _show(found)


def _sizes(text: str) -> list[int]:
    parts = [part for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError("--rows cannot be read", came=repr(text), allowed="N or N,N,...")
    return [typed.whole(part.replace("_", ""), "rows") for part in parts]


def _seed(text: str) -> int:
    value = typed.number(text, "seed")
    if value.denominator != 1 or value < 0:
        raise ParameterError("seed is not a whole number from 0 up", came=text, allowed="0, 1, 2, ...")
    return int(value)


def _show(found: Rehearsal) -> None:
    what, *rest = found.words()
    screen.paragraph(what)
    screen.line()
    columns = [_column(one) for one in found.expected]
    names = [
        "rows sampled",
        "rows published",
        "  as a share of those sampled",
        "groups",
        "granularity",
        "runs that published nothing",
        *(f"detail of {part.name}" + ", its shares given" * part.public for part in found.expected[0].attributes),
    ]
    head = ("", *(cell for one in found.expected for cell in (f"{one.rows:,} rows", "")))
    rows = [(name, *(cell for column in columns for cell in column[place])) for place, name in enumerate(names)]
    screen.table(head, rows, right=range(1, len(head), 2))
    for sentence in rest:
        screen.line()
        screen.paragraph(sentence)


def _column(one: Expected) -> list[tuple[str, str]]:
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
