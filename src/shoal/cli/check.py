"""`shoal check`: what a table shows of the people in it, whoever made it; counts alone, never a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli import cells, screen, typed
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.assess.disclosure.report import Bin, Confidential, Measures, Observed


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--policy", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Says what each column is."
)
@click.option(
    "--level", "levels", multiple=True, metavar="NAME=LEVEL",
    help="Check the table that this level of the attribute's hierarchy would give; 0 is the value itself.",
)  # fmt: skip
@click.option("--lenient", is_flag=True, help="A missing or suppressed cell matches anything; strict is the default.")
@click.option("--k", "target", metavar="N", help="Exit with 3 if the smallest class has fewer than N rows.")
@click.option("--c", metavar="C", default="4", show_default=True, help="The c of recursive (c, l)-diversity.")
@cells.show_values
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_context
def check(
    context: click.Context,
    data: Path,
    policy: Path,
    levels: Sequence[str],
    lenient: bool,
    target: str | None,
    c: str,
    show_values: bool,
    as_json: bool,
) -> None:
    """Observed k, l, t and their relatives of the table DATA: classes, uniques, and what each class gives away.

    Only the columns that the policy calls quasi or confidential are read; published labels are as good as values.
    What is observed is true of this table and promises nothing.

    \b
    shoal check visits.csv --policy policy.yaml
    shoal check visits.csv --policy policy.yaml --level age=2 --level zip=3 --k 5
    shoal check table.csv --policy policy.yaml --lenient --json
    """  # noqa: D301 - Click reads the real character
    from shoal.assess.disclosure.check import check as observe
    from shoal.policy.policy import Policy

    least = None if target is None else typed.whole(target, "k")
    asked = Policy.load(policy)
    with screen.busy("counting"), cells.cells_of(data, asked.schema, show=show_values):
        found = observe(data, asked, levels=_levels(levels), lenient=lenient, recursive_c=float(typed.number(c, "c")))
    met = least is None or found.k >= least
    if as_json:
        screen.answer({**found.to_json(), "target": None if least is None else {"k": least, "met": met}})
    else:
        _show(found)
    if found.labels:
        screen.note(f"read as labels, because they are no values of their declared type: {', '.join(found.labels)}")
    if not met:
        screen.warn(
            f"k is {found.k}, below the {least} that was asked for: {found.smallest_classes:,} classes are that small"
        )
        context.exit(3)


def _levels(given: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in given:
        name, equals, level = text.rpartition("=")
        if not equals or not name or name in found or not level.isascii() or not level.isdigit():
            raise UsageError(
                "--level cannot be read", came=text, allowed="NAME=LEVEL, each attribute once; levels 0, 1, 2, ..."
            )
        found[name] = int(level)
    return found


def _show(found: Observed) -> None:
    screen.paragraph(found.words())
    screen.line()
    matching = "strict" if found.matching == "strict" else "lenient: a missing or suppressed cell matches anything"
    screen.table(
        ("", ""),
        [
            ("rows", f"{found.rows:,}"),
            ("classes", f"{found.classes:,}"),
            ("k", f"{found.k:,}   ({found.smallest_classes:,} classes of this size)"),
            ("uniques", f"{found.uniques:,}"),
            ("matching", matching),
            ("quasi-identifiers", ", ".join(_levelled(name, found) for name in found.quasi)),
        ],
    )
    screen.line()
    screen.table(
        ("rows in a class", "classes", "rows", "share of rows"),
        [
            (_span(part), f"{part.classes:,}", f"{part.rows:,}", f"{part.rows / found.rows:.2%}")
            for part in found.sizes.bins
            if part.classes
        ],
        right=(1, 2, 3),
    )
    if found.confidential:
        screen.line()
        _show_confidential(found.confidential, found.worst, found.recursive_c)


def _span(part: Bin) -> str:
    if part.high is None:
        return f"{part.low} or more"
    return f"{part.low}" if part.high == part.low else f"{part.low}-{part.high}"


def _levelled(name: str, found: Observed) -> str:
    return f"{name} (level {found.levels[name]})" if name in found.levels else name


def _show_confidential(several: Sequence[Confidential], worst: Measures | None, c: float) -> None:
    """One column for each attribute, one line for each measure."""
    lines = {
        "distinct l": "l",
        "entropy l": "entropy_l",
        f"recursive l at c = {c:g}": "recursive_l",
        "alpha": "alpha",
        "t": "t",
        "t, equal distance": "t_equal",
        "t, ordered distance": "t_ordered",
        "t, hierarchical distance": "t_hierarchical",
        "t, ratio distance": "ratio",
        "basic beta": "basic_beta",
        "enhanced beta": "enhanced_beta",
        "delta-disclosure": "delta_disclosure",
        "delta-disclosure, values present": "delta_disclosure_present",
    }
    measures = [one.measures for one in several]
    heads = [one.name for one in several]
    if worst is not None and len(several) > 1:
        measures.append(worst)
        heads.append("worst")
    rows = [(words, *(_number(getattr(one, field)) for one in measures)) for words, field in lines.items()]
    blank = [""] * (len(heads) - len(several))
    rows.insert(0, ("different values", *(f"{one.values:,}" for one in several), *blank))
    rows.insert(6, ("  by", *(one.distance for one in several), *blank))
    rows.append(("classes with one value only", *(f"{one.homogeneous_classes:,}" for one in several), *blank))
    rows.append(("  rows in them", *(f"{one.homogeneous_rows:,}" for one in several), *blank))
    screen.table(("worst class by", *heads), rows, right=range(1, len(heads) + 1))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return "infinite" if math.isinf(value) else f"{value:.4g}"
