"""`shoal ledger`: what has been spent, whether the record is intact, and how much more fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli import screen, typed

if TYPE_CHECKING:
    from shoal.ledger.account import Account
    from shoal.ledger.event import Budget
    from shoal.ledger.ledger import Ledger

    Left = dict[str | None, Budget | None]

_WHERE = click.option("--ledger", "url", metavar="URL", help="A path or sqlite:///path. Also SHOAL_LEDGER.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


@click.group()
def ledger() -> None:
    """What has been spent on each dataset, by whom it was planned, and what is left."""


@ledger.command()
@click.argument("dataset", required=False)
@_WHERE
@_JSON
def show(dataset: str | None, url: str | None, as_json: bool) -> None:
    """Show where a DATASET stands, or all of them."""
    with _read(url) as book:
        accounts = [_standing(book, name) for name in _known(book, dataset)]
    if as_json:
        screen.answer({"datasets": [_fields(account, left) for account, left in accounts]})
        return
    if not accounts:
        screen.line("nothing has been spent yet")
    for account, left in accounts:
        _show(account, left)


@ledger.command()
@_WHERE
@_JSON
def verify(url: str | None, as_json: bool) -> None:
    """Recompute the chain of hashes; exit code 3 when an event was changed, removed or put in later."""
    with _read(url) as book:
        count = book.verify()
    if as_json:
        screen.answer({"events": count, "intact": True})
    else:
        screen.line(f"{count} events, chain intact")


@ledger.command()
@click.argument("dataset", required=False)
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write to a file instead of standard output."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@_WHERE
@_JSON
def export(dataset: str | None, out: Path | None, force: bool, url: str | None, as_json: bool) -> None:
    """All events as JSON, one to a line, with their hashes; --json gives one document."""
    from shoal.page import files

    with _read(url) as book:
        _known(book, dataset)
        events = [event.to_saved() for event in book.events(dataset)]
    if as_json and out is None:
        screen.answer({"events": events})
        return
    text = "".join(json.dumps(event, sort_keys=True) + "\n" for event in events)
    if out is None:
        click.echo(text, nl=False)
    else:
        files.write(out, text, force=force)
        screen.note(f"{len(events)} events written to {out}")


@ledger.command()
@click.argument("dataset")
@click.option("--policy", metavar="FILE", type=click.Path(path_type=Path), help="The plan whose cost counts.")
@click.option("--epsilon", metavar="E", help="Or a cost by its numbers: epsilon …")
@click.option("--delta", metavar="D", default="0", show_default=True, help="… and delta.")
@_WHERE
@_JSON
def forecast(
    dataset: str, policy: Path | None, epsilon: str | None, delta: str, url: str | None, as_json: bool
) -> None:
    """How many more releases at this cost fit into the budget of a DATASET."""
    from shoal.errors import UsageError
    from shoal.guarantee.differential import ApproxDP
    from shoal.ledger.event import Cost

    if (policy is None) == (epsilon is None):
        raise UsageError(
            "a forecast needs one cost", came="both" if policy else "none", allowed="--policy or --epsilon"
        )
    if policy is not None:
        from shoal.policy.policy import Policy
        from shoal.publish.plan.safe_k import safe_k_plan

        cost = safe_k_plan(Policy.load(policy)).cost
    else:
        e, d = typed.number(epsilon or "", "epsilon"), typed.number(delta, "delta")
        cost = Cost.of(e, d, [(ApproxDP(e, d), 1)])
    with _read(url) as book:
        account, left = _standing(book, *_known(book, dataset))
    more = account.forecast(cost)
    if as_json:
        screen.answer({"dataset": dataset, "more": more, **_fields(account, left)})
    elif account.budget is None:
        screen.line(f"'{dataset}' has no budget yet; its first charge fixes one")
    else:
        screen.line(f"{more} more at {cost.words()} fit into what is left of '{dataset}'")


@ledger.command()
@click.argument("dataset")
@click.option("--epsilon", required=True, metavar="E", help="The new ceiling.")
@click.option("--delta", required=True, metavar="D", help="The new ceiling.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it stays in the record.")
@click.option("--analyst", metavar="NAME", help="The share of this analyst, instead of the whole.")
@click.option("--new-ledger", is_flag=True, help="Begin a new ledger there, with nothing spent.")
@_WHERE
@_JSON
def budget(
    dataset: str,
    epsilon: str,
    delta: str,
    reason: str,
    analyst: str | None,
    new_ledger: bool,
    url: str | None,
    as_json: bool,
) -> None:
    """Fix or change the budget of a DATASET, openly: an event of its own with its reason."""
    from shoal.ledger.event import Budget

    fixed = Budget.of(typed.number(epsilon, "epsilon"), typed.number(delta, "delta"))
    from shoal.ledger.location import open_ledger

    with open_ledger(url, new=new_ledger) as book:
        if analyst is None:
            book.set_budget(dataset, fixed, reason)
        else:
            book.set_share(dataset, analyst, fixed, reason)
        account, left = _standing(book, dataset)
        made, place = book.made, book.url
    if as_json:
        screen.answer(_fields(account, left))
    else:
        _show(account, left)
    if made:
        screen.note(f"a new ledger was begun, with nothing spent: {place}")


def _read(url: str | None) -> Ledger:
    """A ledger that is there: whoever looks at a wrong place is told so, and nothing is made."""
    from shoal.errors import UsageError
    from shoal.ledger.ledger import Ledger
    from shoal.ledger.store import default_url, file_of

    path = file_of(url or default_url())
    if path is not None and not path.exists():
        raise UsageError(
            "there is no ledger here", came=path, fix="name the one that releases and questions were charged to"
        )
    return Ledger(url)


def _known(book: Ledger, dataset: str | None) -> list[str]:
    """The datasets that are asked about; one that the ledger does not know is refused."""
    from shoal.errors import UsageError

    names = book.datasets()
    if dataset is not None and dataset not in names:
        raise UsageError("the ledger knows no such dataset", came=dataset, allowed=", ".join(names[:12]) or "none yet")
    return names if dataset is None else [dataset]


def _standing(book: Ledger, dataset: str) -> tuple[Account, Left]:
    """Where a dataset stands, and what can still be spent: by all (None), and by each analyst."""
    account = book.account(dataset)
    names = [None, *(share.name for share in account.shares)]
    return account, {name: book.left(dataset, name) for name in names}


def _fields(account: Account, lefts: Left) -> dict[str, object]:
    from shoal.guarantee.rounding import exact_text

    spent, left = account.spent, lefts[None]
    return {
        "dataset": account.dataset,
        "neighbours": account.neighbours,
        "budget": account.budget.to_saved() if account.budget else None,
        "spent": {"epsilon": exact_text(spent.epsilon), "delta": exact_text(spent.delta)},
        "left": _saved(left),
        "composed_epsilon": account.total(),
        "entries": len(account.costs),
        "releases": account.releases,
        "unbounded_releases": account.unbounded,
        "questions": account.questions,
        "looks": account.looks,
        "sample_used": account.sample_used,
        "sampled": None if account.rate is None else exact_text(account.rate),
        "ceiling": account.ceiling.to_saved() if account.ceiling else None,
        "analysts": [
            {"name": share.name, "budget": share.budget.to_saved(), "left": _saved(lefts[share.name])}
            for share in account.shares
        ],
    }


def _of_sample(account: Account) -> list[tuple[str, str, str]]:
    """What questions to a sample may cost: more than the budget, which is the population's."""
    if account.rate is None or account.ceiling is None:
        return []
    rate = f"{float(account.rate):g}"
    return [("ceiling", account.ceiling.words(), f"for questions: the table is a sample of {rate} of a population")]


def _saved(left: Budget | None) -> dict[str, str] | None:
    return None if left is None else left.to_saved()


def _words(left: Budget | None) -> str:
    return "-" if left is None else left.words()


def _many(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


def _show(account: Account, lefts: Left) -> None:
    from shoal.guarantee.rounding import text_up

    composed = account.total()
    rows = [
        (
            "budget",
            account.budget.words() if account.budget else "none yet",
            "fixed by the first charge or registration",
        ),
        *_of_sample(account),
        ("spent", account.spent.words(), f"{_many(len(account.costs), 'entry', 'entries')} added up: what enforces"),
        ("composed", "0" if composed is None else text_up(composed), "epsilon at the same delta: what informs"),
        ("left", _words(lefts[None]), ""),
        ("releases", str(account.releases), f"{account.unbounded} more without a bound" if account.unbounded else ""),
    ]
    if account.questions:
        rows.append(
            ("questions", str(account.questions), "asked with `shoal query`; their charges are among the entries")
        )
    rows += [
        ("  " + share.name, _words(lefts[share.name]), f"left of {share.budget.words()}, or of the dataset")
        for share in account.shares
    ]
    screen.line(click.style(account.dataset, bold=True))
    screen.table(("", "", ""), rows)
