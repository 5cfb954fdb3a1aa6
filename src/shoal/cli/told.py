"""Answers, prices and accounts of `shoal query` in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import screen

if TYPE_CHECKING:
    from shoal.ledger.account import Account
    from shoal.ledger.entry import Budget
    from shoal.query.answer import Answer, Price
    from shoal.query.price import Error
    from shoal.query.session import Session

_NARROW = 60
_LONG = 16
_MANY = 12


def show_answer(answer: Answer, left: Budget | None) -> None:
    """The value, then what it is worth and what it cost."""
    _show_value(answer.value)
    screen.line()
    cost = "nothing: it is on record" if answer.free else _cost(answer)
    rows = [("question", words(answer.question)), ("mechanism", answer.mechanism)]
    rows += [("error", error_words(error)) for error in answer.errors]
    screen.table(("", ""), [*rows, ("cost", cost), *_left(left)])


def show_price(price: Price) -> None:
    """What it would cost, and how good it would be."""
    for question, offer in zip(price.questions, price.offers, strict=True):
        rows = [("question", words(question)), ("mechanism", offer.mechanism)]
        screen.table(("", ""), rows + [("error", error_words(error)) for error in offer.errors])
    cost = price.cost
    told = "nothing: it is on record" if cost is None else f"({_exact(cost.epsilon)}, {_exact(cost.delta)})"
    screen.table(("", ""), [("cost     ", told), *_left(price.left)])
    if not price.fits:
        screen.warn("the budget that is left does not cover it: it would be refused")


def show_batch(answers: Sequence[Answer], price: Price, left: Budget | None) -> None:
    """A line for each answer that is one value; tables below each other."""
    plain = [answer for answer in answers if not isinstance(answer.value, dict | list)]
    rows = [
        (words(answer.question)[:_NARROW], _value(answer.value), answer.mechanism, "free" if answer.free else "")
        for answer in plain
    ]
    if rows:
        screen.table(("question", "answer", "mechanism", ""), rows, right=(1,))
    for answer in answers:
        if isinstance(answer.value, dict | list):
            screen.line(click.style(words(answer.question), bold=True))
            _show_value(answer.value)
    screen.line()
    cost = price.cost
    told = (
        "nothing: all are on record"
        if cost is None
        else f"({_exact(cost.epsilon)}, {_exact(cost.delta)}), charged once"
    )
    screen.table(("", ""), [("cost", told), *_left(left)])


def show_account(session: Session) -> None:
    """Where the budget stands, and what may be asked about."""
    account, dataset = session.account, session.dataset
    rows = [
        ("hidden", dataset.unit.words()),
        ("budget", account.budget.words() if account.budget else "none yet"),
        *([("", _sampled(session))] if account.rate else []),
        ("spent", f"{account.spent.words()}   {account.questions} questions, {account.releases} releases"),
        ("composed", _composed(account)),
        *_left(session.left),
    ]
    if account.unbounded:
        rows.append(("beware", f"{account.unbounded} releases of this table have no bound, and no budget covers them"))
    rows += [(f"  {share.name}", f"{share.left.words()} left of {share.budget.words()}") for share in account.shares]
    screen.line(click.style(dataset.name, bold=True))
    screen.table(("", ""), rows)
    screen.line()
    attributes = [
        (each.name, each.type.value, each.domain.words() if each.domain else "no domain: not for questions")
        for each in dataset.schema.published
    ]
    screen.table(("attribute", "type", "domain"), attributes)


def words(question: str) -> str:
    """A question as a person would say it."""
    saved = json.loads(question)
    return _words(saved)


def error_words(error: Error) -> str:
    """What an error means."""
    parts = [] if error.expected is None else [f"{error.expected:.4g} on average"]
    parts += [] if error.within is None else [f"within {error.within:.4g} in 95 of 100 cases"]
    return f"{error.name}: {', '.join(parts)}"


def _words(saved: dict[str, Any]) -> str:
    kind = saved["kind"]
    if kind == "together":
        return "together: " + "; ".join(_words(each) for each in saved["questions"])
    if kind == "value_of":
        return f"{saved['attribute']} of {saved['person']}"
    if kind == "contingency":
        named = " by ".join(_cells(each) for each in saved["attributes"])
    else:
        named = _cells(saved) if "attribute" in saved else ""
    share = f" at {saved['q']}" if "q" in saved else ""
    where = f" where {saved['where']}" if "where" in saved else ""
    return f"{kind} {named}{share}{where}".replace("  ", " ").strip()


def _cells(saved: dict[str, Any]) -> str:
    level = f"@{saved['level']}" if saved.get("level") is not None else ""
    return f"{saved['attribute']}{level}"


def _show_value(value: Any) -> None:
    if isinstance(value, list):
        for each in value:
            _show_value(each)
    elif not isinstance(value, dict):
        screen.line(_value(value))
    elif "labels" in value:
        cells = [(label, str(count)) for label, count in zip(value["labels"], value["counts"], strict=True)]
        screen.table((value["attribute"], "count"), cells, right=(1,))
    else:
        screen.table((*value["attributes"], "count"), list(_rows(value)), right=(len(value["attributes"]),))


def _rows(value: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for labels, count in zip(product(*value["attributes"].values()), value["counts"], strict=True):
        yield (*labels, str(count))


def _value(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cost(answer: Answer) -> str:
    return f"({_exact(answer.epsilon)}, {_exact(answer.delta)}), charged"


def _exact(value: Fraction) -> str:
    from shoal.guarantee.rounding import exact_text

    return exact_text(value)


def _left(left: Budget | None) -> list[tuple[str, str]]:
    return [] if left is None else [("left", f"({_short(left.epsilon)}, {_short(left.delta)})")]


def _short(value: Fraction) -> str:
    """What is left, exactly where that is short, else rounded down."""
    from shoal.guarantee.rounding import exact_text, text_down

    written = exact_text(value)
    return written if len(written) <= _LONG else text_down(value)


def _composed(account: Account) -> str:
    """What all charges come to at the budget's delta; not worked out for very many different ones, which takes long."""
    from shoal.guarantee.rounding import text_up

    if len({part for cost in account.costs for part, _ in cost.parts}) > _MANY:
        return "-"
    composed = account.total(account.ceiling.delta if account.ceiling else None)
    return "0" if composed is None else f"{text_up(composed)}   epsilon at the budget's delta: for information"


def _sampled(session: Session) -> str:
    account = session.account
    if account.ceiling is None or account.rate is None:
        return ""
    most = f"({_short(account.ceiling.epsilon)}, {_short(account.ceiling.delta)})"
    return f"for the population; this table is a sample at rate {float(account.rate):g}, so questions may cost {most}"
