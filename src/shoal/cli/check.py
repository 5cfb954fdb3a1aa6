"""`shoal check`: what a table shows of the people in it, whoever made it; counts alone, never a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, json_option, ledger_option
from shoal.cli.terminal.engine import engine_options, named_engine
from shoal.cli.terminal.policy_file import load_policy
from shoal.cli.terminal.rejected_values import show_rejected, show_values_option
from shoal.cli.terminal.table_source import data_argument
from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.assess.disclosure.report import Bin, Confidential, DisclosureReport, Measures


@command(
    "check",
    examples=(
        "shoal check visits.csv --policy policy.yaml",
        "shoal check visits.csv --policy policy.yaml --level age=2 --level zip=3 --k 5",
    ),
    next_step=(
        "What is observed promises nothing; see what a release of the table would promise.",
        "shoal plan policy.yaml",
    ),
)
@data_argument
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
@click.option("--published", is_flag=True, help="The table is a published one: this is no look at real data.")
@ledger_option
@show_values_option
@engine_options
@json_option
@click.pass_context
def check(
    context: click.Context,
    data: Path | str,
    policy: Path,
    levels: Sequence[str],
    lenient: bool,
    target: str | None,
    c: str,
    published: bool,
    ledger: str | None,
    show_values: bool,
    engine: str,
    spark_master: str | None,
    spark_conf: Sequence[str],
    as_json: bool,
) -> None:
    """Measure the k-anonymity, l-diversity and t-closeness of the table DATA, an original or a published one.

    Only the columns that the policy calls quasi or confidential are read; no cell is printed. A look at an original goes on
    record in the ledger: a plan that is changed after it may have been chosen by what was seen, and its certificate says so.
    """
    from shoal.assess.disclosure.check import check as observe
    from shoal.ledger.ledger import record_look

    least = None if target is None else numbers.read_whole(target, "k")
    asked = load_policy(policy)
    with progress.stages() as stage, show_rejected(data, asked.schema, show=show_values):
        found = observe(
            data, asked, levels=_levels(levels), lenient=lenient, recursive_c=float(numbers.read_number(c, "c")),
            engine=named_engine(engine, spark_master, spark_conf, stage, counted=True), stage=stage,
        )  # fmt: skip
    place = (
        None if published else record_look(asked.dataset, "check", lock=asked.confirmed_lock().sha256, ledger=ledger)
    )
    met = least is None or found.k >= least
    if as_json:
        output.print_json({**found.to_json(), "target": None if least is None else {"k": least, "met": met}})
    else:
        _print(found)
    if found.labels:
        output.note(f"read as labels, because they are no values of their declared type: {', '.join(found.labels)}")
    if not met:
        output.warn(
            f"k is {found.k}, below the {least} that was asked for: {found.smallest_classes:,} classes are that small"
        )
    if asked.model.treatments:
        output.note("the policy's treatments are steps of a release: this is about the table as it is, without them")
    if not published:
        output.note(_look_words(place))
    if not met:
        context.exit(3)


def _look_words(place: str | None) -> str:
    if place is None:
        return "there is no ledger yet, so this look at the table is on no record"
    return f"this look is on record in the ledger: {place} (say --published of a table that is itself published)"


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


def _print(found: DisclosureReport) -> None:
    output.print_paragraph(found.words())
    output.print_line()
    matching = "strict" if found.matching == "strict" else "lenient: a missing or suppressed cell matches anything"
    output.print_table(
        ("", ""),
        [
            ("rows", f"{found.rows:,}"),
            ("classes", f"{found.classes:,}"),
            ("k", f"{found.k:,}   ({found.smallest_classes:,} classes of this size)"),
            ("uniques", f"{found.uniques:,}"),
            ("matching", matching),
            ("quasi-identifiers", ", ".join(_attribute_text(name, found) for name in found.quasi)),
        ],
    )
    output.print_line()
    output.print_table(
        ("rows in a class", "classes", "rows", "share of rows"),
        [
            (_span(part), f"{part.classes:,}", f"{part.rows:,}", f"{part.rows / found.rows:.2%}")
            for part in found.sizes.bins
            if part.classes
        ],
        right=(1, 2, 3),
    )
    if found.confidential:
        output.print_line()
        _print_confidential(found.confidential, found.worst, found.recursive_c)


def _span(part: Bin) -> str:
    if part.high is None:
        return f"{part.low} or more"
    return f"{part.low}" if part.high == part.low else f"{part.low}-{part.high}"


def _attribute_text(name: str, found: DisclosureReport) -> str:
    return f"{name} (level {found.levels[name]})" if name in found.levels else name


def _print_confidential(several: Sequence[Confidential], worst: Measures | None, c: float) -> None:
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
    output.print_table(("worst class by", *heads), rows, right=range(1, len(heads) + 1))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return "infinite" if math.isinf(value) else f"{value:.4g}"
