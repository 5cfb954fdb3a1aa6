"""`shoal ledger`: what was spent on each dataset, whether the record is intact, and how much more fits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import numbers, output
from shoal.cli.terminal.command import command, group, json_option, ledger_option
from shoal.cli.terminal.leftovers import recover_ledger
from shoal.cli.terminal.policy_file import load_plan
from shoal.errors import UsageError, VerificationError

if TYPE_CHECKING:
    from shoal.ledger.event import Budget
    from shoal.ledger.ledger import Ledger
    from shoal.ledger.look import Look
    from shoal.ledger.room import Room
    from shoal.ledger.state import Account

    Left = dict[str | None, Budget | None]


@group(
    "ledger",
    examples=("shoal ledger show hospital-visits", "shoal ledger forecast hospital-visits --policy policy.yaml"),
    next_step=("Check that no event was changed, removed or put in later.", "shoal ledger verify"),
)
def ledger() -> None:
    """Show what was spent on each dataset and what is left, verify the record, and change a budget."""


@command(
    "show",
    parent=ledger,
    examples=("shoal ledger show", "shoal ledger show hospital-visits --ledger ledger.sqlite --json"),
    next_step=("See how many more releases fit.", "shoal ledger forecast hospital-visits --policy policy.yaml"),
)
@click.argument("dataset", required=False)
@ledger_option
@json_option
def show_ledger(dataset: str | None, ledger: str | None, as_json: bool) -> None:
    """Show what was spent on a DATASET and what is left of its budget, or on all of them."""
    with open_existing(ledger) as book:
        accounts = [_account(book, name) for name in _dataset_names(book, dataset)]
    if as_json:
        output.print_json({"datasets": [_fields(account, left) for account, left in accounts]})
        return
    if not accounts:
        output.print_line("nothing has been spent yet")
    for account, left in accounts:
        _print(account, left)


@command(
    "verify",
    parent=ledger,
    examples=("shoal ledger verify", "shoal ledger verify --ledger ledger.sqlite --json"),
    next_step=("Keep a copy of the events elsewhere.", "shoal ledger export --out events.jsonl"),
)
@ledger_option
@json_option
def verify_ledger(ledger: str | None, as_json: bool) -> None:
    """Compute the chain of hashes again; exit code 3 if an event was changed, removed or put in later."""
    with open_existing(ledger) as book:
        count = book.verify()
    if as_json:
        output.print_json({"events": count, "intact": True})
    else:
        output.print_line(f"{count} events, chain intact")


@command(
    "export",
    parent=ledger,
    examples=("shoal ledger export --out events.jsonl", "shoal ledger export hospital-visits --json"),
    next_step=("Compute the chain of hashes again from time to time.", "shoal ledger verify"),
)
@click.argument("dataset", required=False)
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write to a file instead of standard output."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@ledger_option
@json_option
def export_ledger(dataset: str | None, out: Path | None, force: bool, ledger: str | None, as_json: bool) -> None:
    """Write all events, or those of a DATASET, as one line of JSON each with their hashes; --json writes one document."""
    from shoal.files.write import write

    with open_existing(ledger) as book:
        _dataset_names(book, dataset)
        events = [event.to_saved() for event in book.events(dataset)]
        try:
            book.verify()
        except VerificationError as error:
            output.warn(f"the ledger is not intact, and what is exported is what it holds now: {error}")
    if as_json and out is None:
        output.print_json({"events": events})
        return
    if out is None:
        output.print_json_lines(events)
    else:
        write(out, "".join(output.json_text(event) + "\n" for event in events), force=force, private=True)
        output.note(f"{len(events)} events written to {out}")


@command(
    "forecast",
    parent=ledger,
    examples=(
        "shoal ledger forecast hospital-visits --policy policy.yaml",
        "shoal ledger forecast hospital-visits --epsilon 0.5 --delta 1e-6",
    ),
    next_step=("Publish once more.", "shoal release policy.yaml visits.csv --out visits-2027 --again"),
)
@click.argument("dataset")
@click.option("--policy", metavar="FILE", type=click.Path(path_type=Path), help="The policy of the releases.")
@click.option("--epsilon", metavar="E", help="In place of a policy: the epsilon of one release.")
@click.option("--delta", metavar="D", default="0", show_default=True, help="The delta of one release.")
@ledger_option
@json_option
def forecast_releases(
    dataset: str, policy: Path | None, epsilon: str | None, delta: str, ledger: str | None, as_json: bool
) -> None:
    """Compute how many more releases at one cost fit into the budget of a DATASET."""
    from shoal.guarantee.differential import ApproxDP
    from shoal.ledger.event import Cost

    if (policy is None) == (epsilon is None):
        raise UsageError(
            "a forecast needs one cost", came="both" if policy else "none", allowed="--policy or --epsilon"
        )
    if policy is not None:
        cost = load_plan(policy).price()
    else:
        e, d = numbers.read_number(epsilon or "", "epsilon"), numbers.read_number(delta, "delta")
        cost = Cost.of(e, d, [(ApproxDP(e, d), 1)])
    with open_existing(ledger) as book:
        account, left = _account(book, *_dataset_names(book, dataset))
    more, questions = account.forecast(cost), account.forecast_questions(cost)
    if as_json:
        output.print_json({"dataset": dataset, "more": more, "more_questions": questions, **_fields(account, left)})
    elif account.budget is None:
        output.print_line(f"'{dataset}' has no budget yet; its first charge fixes one")
    else:
        fit = "1 more release fits" if more == 1 else f"{more} more releases fit"
        output.print_line(f"{fit} into what is left of '{dataset}', at {cost.words()} each")
        if account.filter is not None:
            output.print_line(
                f"questions at {cost.words()}: {questions} more, each chosen by the answers before it; with Gaussian noise "
                "more fit (`shoal ask ... --share 1% --price`)"
            )


@command(
    "budget",
    parent=ledger,
    examples=(
        'shoal ledger budget hospital-visits --epsilon 4 --delta 1e-5 --reason "agreed by the board on 3 May"',
        'shoal ledger budget hospital-visits --analyst alice --epsilon 0.5 --delta 0 --reason "her project"',
    ),
    next_step=("See what is left of it.", "shoal ledger show hospital-visits"),
)
@click.argument("dataset")
@click.option("--epsilon", required=True, metavar="E", help="The epsilon that may be spent in all.")
@click.option("--delta", required=True, metavar="D", help="The delta that may be spent in all.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it stays in the record.")
@click.option("--analyst", metavar="NAME", help="Fix the share of this analyst instead of the dataset's budget.")
@click.option(
    "--accounting",
    type=click.Choice(["basic", "gaussian"]),
    help="How costs add up: epsilon by epsilon, or so that many questions cost less together; as it is if left out.",
)
@click.option(
    "--aside",
    nargs=2,
    metavar="E D",
    help="With Gaussian accounting: the part of epsilon and of delta that is set aside for releases; as it is if left out.",
)
@click.option("--new-ledger", is_flag=True, help="Begin a new ledger at that path, with nothing spent.")
@ledger_option
@json_option
def set_budget(
    dataset: str,
    epsilon: str,
    delta: str,
    reason: str,
    analyst: str | None,
    accounting: str | None,
    aside: tuple[str, str] | None,
    new_ledger: bool,
    ledger: str | None,
    as_json: bool,
) -> None:
    """Fix or change the budget of a DATASET, or an analyst's share of it, and record the reason."""
    from shoal.ledger.event import Budget
    from shoal.ledger.ledger import open_ledger

    own = None
    if aside is not None:
        own = (
            numbers.read_number(aside[0], "the epsilon set aside"),
            numbers.read_number(aside[1], "the delta set aside"),
        )
    fixed = Budget.of(numbers.read_number(epsilon, "epsilon"), numbers.read_number(delta, "delta"), accounting, own)
    with open_ledger(ledger, new=new_ledger) as book:
        warn_of(book)
        recover_ledger(book)
        if analyst is None:
            book.set_budget(dataset, fixed, reason)
        else:
            book.set_analyst_budget(dataset, analyst, fixed, reason)
        account, left = _account(book, dataset)
        made, place = book.is_new, book.url
    output.note_effect(f"the budget is fixed and recorded in {place}")
    if as_json:
        output.print_json(_fields(account, left))
    else:
        _print(account, left)
    _note_overspent(account, analyst)
    if made:
        output.note(f"a new ledger was begun, with nothing spent: {place}")


def open_existing(url: str | None) -> Ledger:
    """Open a ledger that is there; a path without one is refused, and nothing is made."""
    from shoal.ledger.ledger import Ledger
    from shoal.ledger.store import default_url, file_of

    path = file_of(url or default_url())
    if path is not None and not path.exists():
        raise UsageError(
            "there is no ledger here", came=path, fix="name the one that releases and questions were charged to"
        )
    found = Ledger(url)
    warn_of(found)
    recover_ledger(found)
    return found


def warn_of(book: Ledger) -> None:
    """Print what the custodian should know of a ledger's file."""
    for warning in book.warnings:
        output.warn(warning)


def _dataset_names(book: Ledger, dataset: str | None) -> list[str]:
    """The names of the datasets that are meant; one that the ledger does not know is refused."""
    names = book.datasets()
    if dataset is not None and dataset not in names:
        raise UsageError("the ledger knows no such dataset", came=dataset, allowed=", ".join(names[:12]) or "none yet")
    return names if dataset is None else [dataset]


def _account(book: Ledger, dataset: str) -> tuple[Account, Left]:
    """The state of a dataset, and what may still be spent: by all (None), and by each analyst."""
    account = book.account(dataset)
    names = [None, *(share.name for share in account.analysts)]
    return account, {name: book.left(dataset, name) for name in names}


def _fields(account: Account, lefts: Left) -> dict[str, object]:
    from shoal.guarantee.rounding import exact_text

    spent, left = account.spent, lefts[None]
    return {
        "dataset": account.dataset,
        "neighbours": account.neighbours,
        "budget": account.budget.to_saved() if account.budget else None,
        "spent": {"epsilon": exact_text(spent.epsilon), "delta": exact_text(spent.delta)},
        "left": _budget_fields(left),
        "accounting": "basic" if account.filter is None else account.filter.to_saved(),
        "room": None if account.room_for_questions is None else account.room_for_questions.to_json(),
        "composed_epsilon": account.total(),
        "entries": len(account.costs),
        "releases": account.releases,
        "unbounded_releases": account.unbounded,
        "questions": account.questions,
        "looks": account.looks,
        "looks_on_record": [
            {"kind": look.kind, "lock": look.lock, "times": times} for look, times in account.looks_on_record or ()
        ],
        "sample_used": account.sample_used,
        "sampled": None if account.rate is None else exact_text(account.rate),
        "ceiling": account.ceiling.to_saved() if account.ceiling else None,
        "analysts": [
            {
                "name": share.name,
                "budget": share.budget.to_saved(),
                "left": _budget_fields(lefts[share.name]),
                "room": share.room.to_json(),
            }
            for share in account.analysts
        ],
    }


def _of_sample(account: Account) -> list[tuple[str, str, str]]:
    """What questions to a sample may cost: more than the budget, which is the population's."""
    from shoal.guarantee.rounding import text_near

    if account.rate is None or account.ceiling is None:
        return []
    rate = text_near(account.rate)
    return [("ceiling", account.ceiling.words(), f"for questions: the table is a sample of {rate} of a population")]


def _budget_fields(left: Budget | None) -> dict[str, str] | None:
    return None if left is None else left.to_saved()


def _budget_text(left: Budget | None) -> str:
    return "-" if left is None else left.words()


def _origin(account: Account) -> str:
    """When and why the budget became what it is."""
    from shoal.ledger.event import Budget

    event = account.budget_event
    if event is None:
        return "the first charge fixes it, or the registration of the table"
    reason, before = event.payload.get("reason", "no reason is noted"), event.payload.get("before")
    if before is not None:
        return f"changed on {event.time[:10]}: {reason} (was {Budget.from_saved(before).words()})"
    by_itself = {"first charge": "fixed by the first charge", "registered": "fixed when the table was registered"}
    return by_itself.get(reason, f"fixed on {event.time[:10]}: {reason}")


def _note_overspent(account: Account, analyst: str | None) -> None:
    """Say that a budget is less than what has been spent; a sample's questions are held to their ceiling."""
    if analyst is None:
        spent, room, whose = account.spent, account.room_for_questions, ""
    else:
        share = next(each for each in account.analysts if each.name == analyst)
        spent, room, whose = share.spent, share.room, f" by '{analyst}'"
    if room is not None and room.is_overspent:
        output.note(
            f"{spent.words()} has been spent already{whose}; nothing more can be charged{whose and ' to this share'}"
        )


def _print(account: Account, lefts: Left) -> None:
    from shoal.guarantee.rounding import text_up

    composed = account.total()
    rows = [
        (
            "budget",
            account.budget.words() if account.budget else "none yet",
            _origin(account),
        ),
        *_of_sample(account),
        (
            "spent",
            account.spent.words(),
            f"the sum of {output.count_text(len(account.costs), 'charge')}; {_limit_words(account)}",
        ),
        (
            "composed",
            "0" if composed is None else text_up(composed),
            "epsilon of all charges together at the same delta; for information",
        ),
        ("left", _budget_text(lefts[None]), _left_words(account.room_for_questions)),
        ("releases", str(account.releases), f"{account.unbounded} more without a bound" if account.unbounded else ""),
    ]
    if account.questions:
        rows.append(("questions", str(account.questions), "asked with `shoal ask`; what they cost is in the sum"))
    rows += [
        (
            "  " + share.name,
            _budget_text(lefts[share.name]),
            f"left of {share.budget.words()}, or of the dataset{_of_share(share.room)}",
        )
        for share in account.analysts
    ]
    rows += [
        ("looks" if not place else "", str(times), _look_text(look))
        for place, (look, times) in enumerate(account.looks_on_record or ())
    ]
    output.print_line(account.dataset, bold=True)
    output.print_table(("", "", ""), rows)


def _limit_words(account: Account) -> str:
    """What holds the sum of all charges."""
    return "the budget limits it" if account.filter is None else "it may exceed the budget: accounting is Gaussian"


def _left_words(room: Room | None) -> str:
    """What is left under each way of adding up, where there is more than one."""
    return "" if room is None or room.filter is None else f"for questions: {room.words()}"


def _of_share(room: Room) -> str:
    return "" if room.filter is None else f"; {room.words()}"


def _look_text(look: Look) -> str:
    """What was seen of the real table, and with which plan."""
    words = {"init": "draft of the policy", "check": "`shoal check`", "dry-run": "dry run"}.get(
        look.kind, "of another kind"
    )
    return words if look.lock is None else f"{words}, with plan {look.lock[:16]}"
