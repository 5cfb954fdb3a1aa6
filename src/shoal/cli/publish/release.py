"""`shoal release`: from a policy and a table to a folder that a stranger can verify, and what is printed about it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option, ledger_option
from shoal.cli.terminal.engine import engine_options, named_engine
from shoal.cli.terminal.leftovers import recover_folder, recover_ledger
from shoal.cli.terminal.policy_file import load_plan, refuse_exchanged, words_of_kept_files
from shoal.cli.terminal.rejected_values import note_rejected, show_rejected, show_values_option
from shoal.cli.terminal.table_source import data_argument
from shoal.errors import UsageError
from shoal.ledger.look import look_words

if TYPE_CHECKING:
    from shoal.ledger.event import Budget
    from shoal.publish.plan.base import Plan
    from shoal.publish.run.release import Release

MOST_COLUMNS = 40
"""Columns that are listed on the screen; the report has all."""
MARK = "For the custodian only: computed from the original table. Do not publish it, do not pass it on."


@command(
    "release",
    examples=(
        "shoal release policy.yaml visits.csv --out visits-2026",
        "shoal release policy.yaml visits.csv --out visits-2026 --lock plan.lock --dry-run",
    ),
    next_step=("Check the release, then pack what others get.", "shoal verify visits-2026", "shoal share visits-2026"),
)
@click.argument("policy", type=click.Path(path_type=Path))
@data_argument
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The release folder to make."
)
@ledger_option
@click.option("--new-ledger", is_flag=True, help="Begin a new ledger at that path, with nothing spent.")
@click.option("--again", is_flag=True, help="Pay once more for a release that the ledger knows: same plan, same table.")
@click.option("--lock", metavar="FILE", type=click.Path(path_type=Path), help="Refuse a policy edited after this lock.")
@click.option(
    "--dry-run", is_flag=True, help="Plan, open the table and the ledger, and stop before anything is charged."
)
@show_values_option
@click.option("--no-report", is_flag=True, help="Leave out the custodian's report.")
@click.option("--assess", is_flag=True, help="Measure risks and utility for the report, which takes time.")
@click.option("--force", is_flag=True, help="Replace a release folder that is there.")
@engine_options
@json_option
def release(
    policy: Path,
    data: Path | str,
    out: Path,
    ledger: str | None,
    new_ledger: bool,
    again: bool,
    lock: Path | None,
    dry_run: bool,
    show_values: bool,
    no_report: bool,
    assess: bool,
    force: bool,
    engine: str,
    spark_master: str | None,
    spark_conf: Sequence[str],
    as_json: bool,
) -> None:
    """Publish the table DATA as POLICY says, into a folder DIR with a certificate.

    The cost is entered in the ledger, the account of what was spent on this table, before anything random happens, and
    stands if the run fails later. DIR appears whole or not at all; DIR.holder beside it has the report for the custodian alone.
    """
    from shoal.cli.ledger import warn_of
    from shoal.cli.publish.plan import refuse_other_plan
    from shoal.ledger.ledger import open_ledger
    from shoal.publish.run.release import release as run

    if assess and no_report:
        raise UsageError("an assessment goes into the report, and none is asked for", allowed="--assess or --no-report")
    refuse_exchanged(policy, data)
    planned = load_plan(policy)
    if lock is not None:
        refuse_other_plan(planned, lock)
    showing = show_rejected(data, planned.schema, show=show_values)
    if planned.work is not None:
        output.note(planned.work)
    kept = words_of_kept_files(planned.policy, policy)
    if kept is not None:
        output.tell_paragraph(f"note: {kept}", further="  ")
    if dry_run:
        with showing:
            _dry_run(planned, data, out, ledger, force, new_ledger, as_json, (engine, spark_master, spark_conf))
        return
    try:
        with showing, open_ledger(ledger, new=new_ledger) as book, progress.stages() as stage:
            warn_of(book)
            recover_ledger(book)
            recover_folder(out, book)
            made = run(
                planned,
                data,
                out,
                ledger=book,
                engine=named_engine(engine, spark_master, spark_conf, stage),
                force=force,
                report=not no_report,
                again=again,
                assess=assess,
                stage=stage,
            )
            output.note_effect(f"the release was made and stands: {made.folder}")
    except KeyboardInterrupt as error:
        # The run says itself what it had done; otherwise it came just before the run, or just after it.
        if not getattr(error, "__notes__", ()) and not output.effects():
            error.add_note(f"{out} is there whole or not at all, and `shoal ledger show` says what was charged")
        raise
    if as_json:
        for note in made.notes:
            output.warn(note)
        output.print_json(to_fields(made))
    else:
        _print(made, planned)
        if made.report is not None and not assess:
            named = f"{shlex.quote(str(made.folder))} --original {shlex.quote(str(data))}"
            output.note(f"risks and utility, for the report: shoal assess {named}")


def _dry_run(
    planned: Plan,
    data: Path | str,
    out: Path,
    ledger: str | None,
    force: bool,
    new: bool,
    as_json: bool,
    engine: tuple[str, str | None, Sequence[str]],
) -> None:
    """Print everything that can be known before the charge, once the look is on record; no ledger is made for it."""
    from shoal.engine.digest import file_digest
    from shoal.ledger.ledger import is_ledger_missing, is_ledger_named, open_ledger, record_look
    from shoal.publish.folder import refuse_target
    from shoal.publish.run.release import repeats

    own = planned.confirmed_lock.sha256
    refuse_target(out, force=force, locks=(planned.lock.sha256, own))
    fresh = is_ledger_missing(ledger, new=new) and (new or not is_ledger_named(ledger))

    def look() -> str | None:
        return None if fresh else record_look(planned.policy.dataset, "dry-run", lock=own, ledger=ledger, new=new)

    with progress.stages() as stage, note_rejected(look):
        opened = named_engine(*engine, stage)
        table = opened.scan(data, planned.schema)
        planned.check(table.schema)
        planned.job().check_table(table)
        rows = table.rows()
    forecast, repeat, looks = None, None, None
    if not fresh:
        with open_ledger(ledger, new=new) as book:
            recover_ledger(book)
            account = book.account(planned.policy.dataset)
            repeat = repeats(planned, table, file_digest(data) if opened.is_local else None, book)
            looks = account.count_looks(own)
            book.record_look(planned.policy.dataset, "a dry run of a release", kind="dry-run", lock=own)
        planned = planned.after_looks(looks)
        forecast = account.forecast(planned.cost) if planned.cost is not None and account.budget else None
    fields = {
        **planned.to_json(),
        "dry_run": True,
        "out": str(out),
        "forecast": forecast,
        "new_ledger": fresh,
        "repeat": repeat,
        "looks": None if looks is None else [asdict(count) for count in looks],
        "for_the_holder_only": {"mark": MARK, "rows_in": rows, "notes": list(table.notes)},
    }
    if as_json:
        output.print_json(fields)
        return
    for sentence in planned.sentences():
        output.print_paragraph(sentence)
    output.print_line()
    output.print_line("The table fits the policy. Nothing was charged and nothing was written.")
    output.note(f"for you alone: the table has {rows:,} rows")
    for note in table.notes:
        output.note(note)
    if fresh:
        output.note(
            "there is no ledger yet: the release would begin a new one, with nothing spent; this look is on no record"
        )
    else:
        output.note(f"this look is on record in the ledger. {look_words(looks or ())}")
    if repeat is not None:
        output.warn(f"{repeat}; without --again it would be refused")
    if forecast == 0:
        output.warn("the budget that is left does not cover this release: it would be refused")


def to_fields(made: Release) -> dict[str, Any]:
    """The JSON answer; what was computed from the original stands apart, under a name that says whom it is for."""
    promised = made.certificate["guarantee"]
    numbers: dict[str, Any] = {name: _number(promised.get(name)) for name in ("epsilon", "delta")}
    numbers |= {"k": promised["k"]} if "k" in promised else {}
    return {
        "out": str(made.folder),
        "holder": None if made.custodian_folder is None else str(made.custodian_folder),
        "rows_published": made.rows_published,
        "guarantee": {
            "kind": promised["kind"],
            "neighbours": promised.get("neighbours"),
            "status": promised["status"],
            **numbers,
            "unit": promised["unit"],
        },
        "seal": made.certificate["seal"],
        "charged": _budget_fields(made.charged),
        "budget": _budget_fields(made.budget),
        "left": _budget_fields(made.left),
        "more_fit": _count_more(made),
        "ledger": {"url": made.ledger, "new": made.new_ledger},
        "looks": [asdict(count) for count in made.looks],
        "for_the_holder_only": {
            "mark": MARK,
            "rows_in": made.rows_in,
            "columns": [] if made.report is None else _columns(made.report),
            "cautions": [] if made.report is None else list(made.report["cautions"]),
            "columns_not_read": list(made.not_read),
            "notes": list(made.notes),
        },
    }


def _print(made: Release, plan: Plan) -> None:
    """For people: the promise and what it cost on standard output; what the custodian alone may know on standard error."""
    for note in made.notes:
        output.warn(note)
    for sentence in made.sentences:
        output.print_paragraph(sentence)
    output.print_line()
    counted = plan.counted_words(made.certificate)
    empty = "" if made.rows_published or counted else " (every class was smaller than k: a valid, empty release)"
    output.print_line(f"{counted or f'{made.rows_published:,} rows'} published in {made.folder}{empty}")
    output.print_line(f"certificate: {made.folder / 'certificate.html'}")
    if made.custodian_folder is not None:
        output.print_line(f"report, for the custodian alone: {made.custodian_folder / 'report.html'}")
    if made.looks:
        output.print_paragraph(look_words(made.looks))
    for line in account_lines(made, plan):
        output.print_line(line)
    named = shlex.quote(str(made.folder))
    output.print_line(f"next: shoal verify {named}, then shoal share {named}")
    print_for_custodian(made)


def account_lines(made: Release, plan: Plan) -> list[str]:
    """What was charged, what is left, and where that is kept."""
    name, ledger = plan.policy.dataset, f"ledger: {made.ledger}{' (new: nothing had been spent)' * made.new_ledger}"
    if made.charged is None:
        said = f"charged: nothing, because a release like this has no price; the ledger notes '{name}' as unbounded"
        return [said, ledger]
    charged = f"charged: {made.charged.words()} to '{name}'"
    if made.budget is None or made.left is None:
        return [f"{charged}; no budget is set, so nothing limits what is spent", ledger]
    more = _count_more(made)
    fit = "" if more is None else f"; {more:,} more like this fit"
    return [f"{charged}; left: {made.left.words()} of {made.budget.words()}{fit}", ledger]


def print_for_custodian(made: Release) -> None:
    """Cautions first, then how much of each column is left; nothing of it may be passed on."""
    output.tell()
    output.tell("For you alone; computed from the original, not to be passed on:", bold=True)
    if made.certificate.get("counts"):
        output.tell(f"  {made.rows_in:,} rows in the table{_sample_text(made.report)}")
    else:
        output.tell(
            f"  {made.rows_published:,} rows published of {made.rows_in:,} in the table{_sample_text(made.report)}"
        )
    for note in made.not_read:
        output.tell(f"  {note}")
    if made.report is None:
        output.tell("  no report was made, so nothing is known about the detail that is left")
        return
    for caution in made.report["cautions"]:
        output.tell_paragraph(f"caution: {caution}", indent="  ", further="    ")
    for line in (*_distances(made.report), *_rates(made.report)):
        output.tell(f"  {line}")
    columns = _columns(made.report)
    width = max((len(column["name"]) for column in columns[:MOST_COLUMNS]), default=0)
    for column in columns[:MOST_COLUMNS]:
        output.tell(f"  {column['name']:<{width}}  {_column_text(column)}")
    if len(columns) > MOST_COLUMNS:
        output.tell(f"  and {len(columns) - MOST_COLUMNS:,} columns more, in the report")


def _sample_text(report: Mapping[str, Any] | None) -> str:
    rows = {} if report is None else report["rows"]
    if "sampled" in rows and rows["kept"] is not None:
        return f"; about {rows['sampled']['expected']:,.0f} were to be sampled, {100 * rows['kept']:.0f} % as many are shown"
    if "taking_part" in rows and rows["taking_part"] != rows["in"]:
        return f", of which {rows['taking_part']:,} took part"
    return ""


def _columns(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How much each column says, by whichever measure its report has."""
    if "held" in report:  # groups: their quasi-identifiers are as they were, and more or less alike inside a group
        return [{"name": one["name"], "inside_percent": one["loss"]} for one in report["unlike"]["attributes"]]
    if "boxes" in report:  # rows of nobody: distributions are compared, in standard deviations or in shares
        return [{key: one[key] for key in ("name", "distance", "in_deviations")} for one in report["attributes"]]
    if "clusters" in report:  # noisy centroids: what grouping and what noise took
        return [
            {"name": one["name"], "loss_percent": one["loss"], "noise_percent": one["noise_loss"]}
            for one in report["attributes"]
        ]
    if "attributes" in report:  # views: each attribute where it is shown best
        return [{"name": one["name"], "views": one["views"], **_detail(one["best"])} for one in report["attributes"]]
    if "mean_distance" in report or "rate" in report:
        return []  # of noisy counts tables are compared, not columns; a plain sample shows rows as they are
    if "levels" in report:
        keys = ("levels", "coarsest", "loss")
        return [{"name": one["name"], **{key: one[key] for key in keys}} for one in report["levels"]]
    if "loss" in report:
        return [{"name": one["name"], "loss_percent": one["loss"]} for one in report["loss"]["attributes"]]
    return [{"name": column["name"], **_detail(column)} for column in report.get("columns", ())]


def _distances(report: Mapping[str, Any]) -> list[str]:
    """How far what is published is from the original.

    Of noisy counts and synthetic rows: the mean total variation distance of their tables; of groups: the t that they reach.
    """
    from shoal.guarantee.rounding import text_up

    found = []
    if report.get("achieved_t") is not None and report["asked"]["t"] is not None:
        found.append(
            f"t reached: {text_up(Fraction(report['achieved_t']))}, of {report['asked']['t']} that were allowed"
        )
    for key, what in (
        ("mean_distance", "noisy counts"),
        ("mean_consistent_distance", "made consistent"),
        ("mean_synthetic_distance", "synthetic rows"),
    ):
        measured = report.get(key)
        if not isinstance(measured, Mapping):  # of views it is one number
            continue
        each = [
            f"{distance:.3f} in tables of {'one attribute' if width == '1' else f'{width} attributes'}"
            for width, distance in measured.items()
        ]
        above = "; above 1 noise outweighs the counts" * any(distance > 1 for distance in measured.values())
        found.append(f"{what}, mean distance from the original: {', '.join(each)} (0 is the same{above})")
    return found


def _rates(report: Mapping[str, Any]) -> list[str]:
    """The rate of a plain sample, beside those that are safe by each theorem."""
    rate = report.get("rate")
    if rate is None:
        return []
    from shoal.guarantee.rounding import text_down

    exact, published = (text_down(rate[bound], 3) if rate[bound] else "none" for bound in ("exact", "published"))
    safe = f"safe: {exact} by the exact bound, {published} by the published theorems"
    return [f"each row was kept with probability {rate['used']:g}; {safe}"]


def _detail(column: Mapping[str, Any]) -> dict[str, Any]:
    return {name: column[name] for name in ("detail", "detail_low", "detail_high", "says", "commonest")}


def _column_text(column: Mapping[str, Any]) -> str:
    if "levels" in column:
        one, shown = len(column["levels"]) == 1, " and ".join(map(str, column["levels"]))
        lost = f"which loses {'' if one else 'up to '}{100 * column['loss']:.3g} % of its detail"
        return f"level{'' if one else 's'} {shown} of 0 to {column['coarsest']}, {lost}"
    if "distance" in column:
        far, unit = column["distance"], " standard deviations" if column["in_deviations"] else " of 1"
        return "constant" if far is None else f"its distribution is {far:.3g}{unit} from the original"
    if "loss_percent" in column:
        lost = column["loss_percent"]
        by_noise = f", {column['noise_percent']:.3g} % by noise" if column.get("noise_percent") is not None else ""
        return "constant" if lost is None else f"lost {lost:.3g} % of its variance{by_noise}"
    if "inside_percent" in column:
        inside = column["inside_percent"]
        return "constant" if inside is None else f"as it was; {inside:.3g} % of its variance lies inside groups"
    if column["detail"] is None:
        return "one value in the original"
    says = f"says {column['says']}" if column["says"] else ""
    label = column["commonest"]
    percent = 0 if label is None else 100 if column["says"] == "nothing" else min(99, round(100 * label["share"]))
    most = f"{percent} % show '{_short(label['label'])}'" if label is not None else ""
    where = f"in the best of {column['views']} views" if column.get("views", 1) > 1 else ""
    number = f"detail {column['detail']:.3f} ({column['detail_low']:.3f} to {column['detail_high']:.3f})"
    return "; ".join(part for part in (number, says, most, where) if part)


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _count_more(made: Release) -> int | None:
    """How many more releases of this price fit into what is left."""
    if made.charged is None or made.left is None:
        return None
    prices = ((made.left.epsilon, made.charged.epsilon), (made.left.delta, made.charged.delta))
    return min((int(left // price) for left, price in prices if price), default=None)


def _budget_fields(budget: Budget | None) -> dict[str, str] | None:
    return None if budget is None else budget.to_saved()


def _number(text: str | None) -> float | None:
    """A number of the certificate; None where it has none."""
    from shoal.guarantee.rounding import exact

    return None if text is None else float(exact(text))
