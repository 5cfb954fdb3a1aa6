"""`shoal dataset`: register a table for questions, and show what may be asked and what is left of its budget."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.query.answer_text import budget_text, left_rows
from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, group, json_option, ledger_option
from shoal.cli.terminal.engine import engine_options, named_engine
from shoal.cli.terminal.leftovers import recover_ledger
from shoal.cli.terminal.policy_file import load_policy, refuse_exchanged
from shoal.cli.terminal.rejected_values import show_rejected, show_values_option
from shoal.cli.terminal.table_source import data_argument
from shoal.errors import BudgetError, UsageError

if TYPE_CHECKING:
    from shoal.ledger.event import Budget
    from shoal.ledger.ledger import Ledger
    from shoal.ledger.room import Room
    from shoal.ledger.state import Account
    from shoal.query.dataset import Dataset

_MANY = 12
"""Different costs beyond which they are not composed for the screen, because it would take long."""


@group(
    "dataset",
    examples=("shoal dataset register policy.yaml visits.csv", "shoal dataset show hospital-visits"),
    next_step=("Ask the table.", 'shoal ask hospital-visits count "age >= 65" --epsilon 0.1 --price'),
)
def dataset() -> None:
    """Register a table so that it can be asked, or show what may be asked about it."""


@command(
    "register",
    parent=dataset,
    examples=(
        "shoal dataset register policy.yaml visits.csv",
        "shoal dataset register policy.yaml visits.csv --ledger ledger.sqlite --new-ledger",
    ),
    next_step=("See what may be asked.", "shoal dataset show hospital-visits"),
)
@click.argument("policy", type=click.Path(path_type=Path))
@data_argument
@click.option("--sampled", metavar="RATE", help="The table is a random sample, drawn at this rate or below.")
@ledger_option
@click.option("--new-ledger", is_flag=True, help="Begin a new ledger at that path, with nothing spent.")
@show_values_option
@engine_options
@json_option
def register_dataset(
    policy: Path,
    data: Path | str,
    sampled: str | None,
    ledger: str | None,
    new_ledger: bool,
    show_values: bool,
    engine: str,
    spark_master: str | None,
    spark_conf: Sequence[str],
    as_json: bool,
) -> None:
    """Let the table DATA be asked under the name, unit and budget of its POLICY.

    Every row is checked against the policy. The ledger notes where policy and table are; no row is copied.
    """
    from shoal.cli.ledger import warn_of
    from shoal.guarantee.rounding import exact_text
    from shoal.ledger.ledger import open_ledger
    from shoal.query.dataset import refuse_treatments
    from shoal.query.session import register

    refuse_exchanged(policy, data)
    asked = load_policy(policy)
    rate = None if sampled is None else numbers.read_number(sampled, "the rate of the sample")
    refuse_treatments(asked)
    schema = asked.schema.with_names(asked.unit.column)
    with open_ledger(ledger, new=new_ledger) as book:
        warn_of(book)
        recover_ledger(book)
        with progress.stages() as stage, show_rejected(data, schema, show=show_values):
            opened = named_engine(engine, spark_master, spark_conf, stage)
            found = register(asked, data, sampled=rate, ledger=book, engine=opened)
        place = {"url": book.url, "new": book.is_new}
    output.note_effect(f"'{found.name}' is registered in {place['url']}")
    if as_json:
        rate_text = None if found.entry.sampled is None else exact_text(found.entry.sampled)
        fields = {"dataset": found.name, "unit": found.unit.to_saved(), "sampled": rate_text}
        output.print_json({**fields, "ledger": place})
    else:
        output.print_line(f"'{found.name}' is registered; questions hide {found.unit.words()}")
        output.print_line(f"ledger: {place['url']}{' (new: nothing had been spent)' if place['new'] else ''}")
    if found.is_tuned:
        output.warn("parts of the policy were drafted from the data and nobody has confirmed them")


@dataclass(frozen=True)
class BudgetView:
    """What a dataset has spent and has left, for all analysts together or for one of them."""

    account: Account
    analyst: str | None
    spent: Budget
    left: Budget | None
    shares_left: dict[str, Budget | None]
    rooms: tuple[Room, ...] = ()


@command(
    "show",
    parent=dataset,
    examples=("shoal dataset show hospital-visits", "shoal dataset show hospital-visits --analyst alice --json"),
    next_step=("See the price of a question.", 'shoal ask hospital-visits count "age >= 65" --epsilon 0.1 --price'),
)
@click.argument("name", required=False)
@click.option("--analyst", metavar="NAME", help="Show what this analyst has spent and has left.")
@ledger_option
@json_option
def show_dataset(name: str | None, analyst: str | None, ledger: str | None, as_json: bool) -> None:
    """Show the attributes, the unit and the budget of the registered dataset NAME, or list all; no row is read."""
    from shoal.cli.ledger import open_existing
    from shoal.query.dataset import find

    with open_existing(ledger) as book:
        if name is None:
            _list(book, analyst, as_json)
            return
        found = find(name, book)
        account = book.account(name)
        own = next((share for share in account.analysts if share.name == analyst), None)
        if analyst is not None and own is None:
            raise BudgetError(
                f"'{analyst}' has no share in dataset '{name}' yet",
                allowed=", ".join(share.name for share in account.analysts) or "no analyst has one",
                fix=f"let the custodian fix one with `shoal ledger budget {shlex.quote(name)} --analyst {shlex.quote(analyst)}`",
            )
        view = BudgetView(
            account,
            analyst,
            account.spent if own is None else own.spent,
            book.left(name, analyst),
            {share.name: book.left(name, share.name) for share in account.analysts},
            book.rooms(name, analyst),
        )
        url = book.url
    if as_json:
        output.print_json(_fields(found, view, url))
    else:
        _print(found, view, url)


def _list(book: Ledger, analyst: str | None, as_json: bool) -> None:
    """Print the names of all registered datasets, the unit that each hides, and what is left of its budget."""
    if analyst is not None:
        raise UsageError("an analyst has a share in one dataset", came=analyst, fix="name the dataset too")
    entries = [entry for name in book.datasets() if (entry := book.registration(name)) is not None]
    lefts = [book.left(entry.dataset) for entry in entries]
    if as_json:
        listed = [
            {"dataset": entry.dataset, "unit": entry.unit.to_saved(), "left": _budget_fields(left)}
            for entry, left in zip(entries, lefts, strict=True)
        ]
        output.print_json({"datasets": listed})
    elif not entries:
        output.print_line("no dataset is registered in this ledger")
    else:
        rows = [
            (entry.dataset, "no budget yet" if left is None else budget_text(left), entry.unit.words())
            for entry, left in zip(entries, lefts, strict=True)
        ]
        output.print_table(("dataset", "left", "unit"), rows)


def _fields(dataset: Dataset, view: BudgetView, url: str) -> dict[str, Any]:
    from shoal.guarantee.rounding import exact_text

    account, entry = view.account, dataset.entry
    return {
        "dataset": account.dataset,
        "unit": entry.unit.to_saved(),
        "sampled": None if entry.sampled is None else exact_text(entry.sampled),
        "budget": _budget_fields(account.budget),
        "ceiling": _budget_fields(account.ceiling),
        "spent_by_all": account.spent.to_saved(),
        "analyst": view.analyst,
        "ledger": url,
        "spent": view.spent.to_saved(),
        "left": _budget_fields(view.left),
        "rooms": [room.to_json() for room in view.rooms],
        "questions": account.questions,
        "releases": account.releases,
        "composed_epsilon": _compose(account),
        "unbounded_releases": account.unbounded,
        "analysts": [
            {
                "analyst": share.name,
                "budget": share.budget.to_saved(),
                "left": _budget_fields(view.shares_left[share.name]),
            }
            for share in account.analysts
        ],
        "attributes": [each.to_json() for each in dataset.attributes],
    }


def _print(dataset: Dataset, view: BudgetView, url: str) -> None:
    account, analyst = view.account, view.analyst
    counts = f"{output.count_text(account.questions, 'question')}, {output.count_text(account.releases, 'release')}"
    of_all, by_all = ("", "") if analyst is None else (" of all", " by all")
    rows = [
        ("ledger", url),
        ("unit", dataset.unit.words()),
        (f"budget{of_all}", account.budget.words() if account.budget else "none yet"),
        *_sample_rows(account),
        (f"spent{by_all}", f"{account.spent.words()}   {counts}"),
        ("composed", _composed_text(account)),
        *([] if analyst is None else [(f"spent by {analyst}", view.spent.words())]),
        *left_rows(view.left, analyst or ("all" if account.analysts else None), view.rooms),
    ]
    if account.unbounded:
        rows.append(
            (
                "warning",
                f"{output.count_text(account.unbounded, 'release')} of this table without a bound: no budget covers them",
            )
        )
    rows += [
        (f"  {share.name}", f"{'nothing' if left is None else budget_text(left)} left of {share.budget.words()}")
        for share in account.analysts
        for left in [view.shares_left[share.name]]
    ]
    output.print_line(dataset.name, bold=True)
    output.print_facts(rows)
    output.print_line()
    attributes = [(each.name, each.type, each.levels_words(), each.words()) for each in dataset.attributes]
    output.print_table(("attribute", "type", "labels at each level", "domain"), attributes)


def _compose(account: Account) -> float | None:
    """What all charges come to at the budget's delta; None for very many different ones."""
    if len({part for cost in account.costs for part, _ in cost.parts}) > _MANY:
        return None
    return account.total(account.ceiling.delta if account.ceiling else None) or 0.0


def _composed_text(account: Account) -> str:
    from shoal.guarantee.rounding import text_up

    found = _compose(account)
    if found is None:
        return "-"
    return "0" if not found else f"{text_up(found)}   epsilon at the budget's delta: for information"


def _sample_rows(account: Account) -> list[tuple[str, str]]:
    """What questions about a sample may cost: more than the budget, which is the population's."""
    from shoal.guarantee.rounding import text_near

    if account.ceiling is None or account.rate is None:
        return []
    rate = text_near(account.rate)
    text = f"for the population; this table is a sample at rate {rate}, so questions may cost {budget_text(account.ceiling)}"
    return [("", text)]


def _budget_fields(budget: Budget | None) -> dict[str, str] | None:
    return None if budget is None else budget.to_saved()
