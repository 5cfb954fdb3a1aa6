"""What `shoal release` says when it is done: what others get, what it cost, and what the holder alone should know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import screen

if TYPE_CHECKING:
    from shoal.ledger.event import Budget
    from shoal.publish.plan.base import Plan
    from shoal.publish.run.release import Release

MOST_COLUMNS = 40
"""Columns that are listed on the screen; the report has all."""
MARK = "For the holder only: computed from the original table. Do not publish it, do not pass it on."


def fields(made: Release) -> dict[str, Any]:
    """The JSON answer; what was computed from the original stands apart, under a name that says whom it is for."""
    promised = made.certificate["guarantee"]
    numbers: dict[str, Any] = {name: _number(promised.get(name)) for name in ("epsilon", "delta")}
    numbers |= {"k": promised["k"]} if "k" in promised else {}
    return {
        "out": str(made.folder),
        "holder": None if made.holder is None else str(made.holder),
        "rows_published": made.rows_published,
        "guarantee": {
            "kind": promised["kind"],
            "neighbours": promised.get("neighbours"),
            "status": promised["status"],
            **numbers,
            "unit": promised["unit"],
        },
        "seal": made.certificate["seal"],
        "charged": _saved(made.charged),
        "budget": _saved(made.budget),
        "left": _saved(made.left),
        "more_fit": _more(made),
        "ledger": {"url": made.ledger, "new": made.new_ledger},
        "for_the_holder_only": {
            "mark": MARK,
            "rows_in": made.rows_in,
            "columns": [] if made.report is None else _columns(made.report),
            "cautions": [] if made.report is None else list(made.report["cautions"]),
            "columns_not_read": list(made.not_read),
            "notes": list(made.notes),
        },
    }


def show(made: Release, plan: Plan) -> None:
    """For people: the promise and what it cost on standard output; what the holder alone may know on standard error."""
    for note in made.notes:
        screen.warn(note)
    for sentence in plan.sentences():
        screen.paragraph(sentence)
    screen.line()
    empty = "" if made.rows_published else " (every group was smaller than k: a valid, empty release)"
    screen.line(f"{made.rows_published:,} rows published in {made.folder}{empty}")
    screen.line(f"certificate: {made.folder / 'certificate.html'}")
    if made.holder is not None:
        screen.line(f"for your eyes only: {made.holder / 'report.html'}")
    for line in account_lines(made, plan):
        screen.line(line)
    for_the_holder(made)


def account_lines(made: Release, plan: Plan) -> list[str]:
    """What was charged, what is left, and where that is kept."""
    name, ledger = plan.policy.dataset, f"ledger: {made.ledger}{' (new: nothing had been spent)' * made.new_ledger}"
    if made.charged is None:
        said = f"charged: nothing, because a release like this has no price; the ledger notes '{name}' as unbounded"
        return [said, ledger]
    charged = f"charged: {made.charged.words()} to '{name}'"
    if made.budget is None or made.left is None:
        return [f"{charged}; no budget is set, so nothing limits what is spent", ledger]
    more = _more(made)
    fit = "" if more is None else f"; {more:,} more like this fit"
    return [f"{charged}; left: {made.left.words()} of {made.budget.words()}{fit}", ledger]


def for_the_holder(made: Release) -> None:
    """Cautions first, then how much of each column is left; nothing of it may be passed on."""

    def say(text: str = "") -> None:
        click.echo(text, err=True)

    say()
    say(click.style("For you alone; computed from the original, not to be passed on:", bold=True))
    say(f"  {made.rows_published:,} rows published of {made.rows_in:,} in the table{_sampled(made.report)}")
    for note in made.not_read:
        say(f"  {note}")
    if made.report is None:
        say("  no report was made, so nothing is known about the detail that is left")
        return
    for caution in made.report["cautions"]:
        say(click.wrap_text(f"caution: {caution}", width=96, initial_indent="  ", subsequent_indent="    "))
    columns = _columns(made.report)
    width = max((len(column["name"]) for column in columns[:MOST_COLUMNS]), default=0)
    for column in columns[:MOST_COLUMNS]:
        say(f"  {column['name']:<{width}}  {_said(column)}")
    if len(columns) > MOST_COLUMNS:
        say(f"  and {len(columns) - MOST_COLUMNS:,} columns more, in the report")


def _sampled(report: Mapping[str, Any] | None) -> str:
    rows = {} if report is None else report["rows"]
    if "sampled" in rows and rows["kept"] is not None:
        return f"; about {rows['sampled']['expected']:,.0f} were sampled, {100 * rows['kept']:.0f} % of these are shown"
    if "taking_part" in rows and rows["taking_part"] != rows["in"]:
        return f", of which {rows['taking_part']:,} took part"
    return ""


def _columns(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How much each column says, by whichever measure its report has."""
    if "attributes" in report:  # views: each attribute where it is shown best
        return [{"name": one["name"], "views": one["views"], **_detail(one["best"])} for one in report["attributes"]]
    if "loss" in report:
        return [{"name": one["name"], "loss_percent": one["loss"]} for one in report["loss"]["attributes"]]
    return [{"name": column["name"], **_detail(column)} for column in report["columns"]]


def _detail(column: Mapping[str, Any]) -> dict[str, Any]:
    return {name: column[name] for name in ("detail", "detail_low", "detail_high", "says", "commonest")}


def _said(column: Mapping[str, Any]) -> str:
    if "loss_percent" in column:
        lost = column["loss_percent"]
        return "constant" if lost is None else f"lost {lost:.3g} % of its variance"
    if column["detail"] is None:
        return "one value in the original"
    says = f"says {column['says']}" if column["says"] else ""
    label = column["commonest"]
    most = f"{100 * label['share']:.0f} % show '{_short(label['label'])}'" if label is not None else ""
    where = f"in the best of {column['views']} views" if column.get("views", 1) > 1 else ""
    number = f"detail {column['detail']:.3f} ({column['detail_low']:.3f} to {column['detail_high']:.3f})"
    return "; ".join(part for part in (number, says, most, where) if part)


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _more(made: Release) -> int | None:
    """How many more releases of this price fit into what is left."""
    if made.charged is None or made.left is None:
        return None
    prices = ((made.left.epsilon, made.charged.epsilon), (made.left.delta, made.charged.delta))
    return min((int(left // price) for left, price in prices if price), default=None)


def _saved(budget: Budget | None) -> dict[str, str] | None:
    return None if budget is None else budget.to_saved()


def _number(text: str | None) -> float | None:
    """A number of the certificate; None where it has none."""
    from shoal.guarantee.rounding import exact

    return None if text is None else float(exact(text))
