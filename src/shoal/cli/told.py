"""Answers, prices and accounts of `shoal query` in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import screen

if TYPE_CHECKING:
    from shoal.ledger.account import Account, Share
    from shoal.ledger.event import Budget
    from shoal.query.answer import Answer, Price
    from shoal.query.error import Error
    from shoal.query.price import Offer
    from shoal.query.session import Session

_LONG = 16
_MANY = 12
_LARGE = 10.0**15
_GROUPED = ("count", "sum", "variance", "histogram", "contingency")
"""Questions whose answers are amounts, with digits in groups of three; the rest are values of an attribute."""


def show_answer(answer: Answer, session: Session) -> None:
    """The value, then what it is worth and what it cost."""
    _show_given(answer)
    screen.line()
    cost = "nothing: it is on record" if answer.free else _cost(answer)
    rows = [("question", words(answer.question)), ("mechanism", answer.mechanism), *_behind(answer)]
    rows += [*_errors(answer), *_scope(answer)]
    screen.table(("", ""), [*rows, ("cost", cost), *_left(session.left, session.analyst), ("ledger", session.ledger)])


def show_price(price: Price, analyst: str | None) -> None:
    """What it would cost, and how good it would be."""
    for place, (question, offer) in enumerate(zip(price.questions, price.offers, strict=True), 1):
        name = "question " if len(price.questions) == 1 else f"question {place}"
        rows = [(name, words(question)), ("mechanism", offer.mechanism)]
        screen.table(("", ""), [*rows, *_errors(offer), *_scope(offer)])
    cost = price.cost
    told = "nothing: it is on record" if cost is None else f"({_exact(cost.epsilon)}, {_exact(cost.delta)})"
    screen.table(("", ""), [("cost     ", told), *_left(price.left, analyst)])
    if not price.fits:
        screen.warn("the budget that is left does not cover it: it would be refused")


def show_batch(answers: Sequence[Answer], price: Price, session: Session) -> None:
    """Every question with its number in the file, its answer and its errors; then what all cost."""
    for place, answer in enumerate(answers, 1):
        screen.line(click.style(f"{place}. {words(answer.question)}", bold=True))
        _show_given(answer, "  ")
        rows = [("mechanism", answer.mechanism + (", free: it is on record" if answer.free else "")), *_behind(answer)]
        screen.table(("", ""), [*rows, *_errors(answer), *_scope(answer)])
    screen.line()
    cost = price.cost
    told = (
        "nothing: all are on record"
        if cost is None
        else f"({_exact(cost.epsilon)}, {_exact(cost.delta)}), charged once"
    )
    screen.table(("", ""), [("cost", told), *_left(session.left, session.analyst), ("ledger", session.ledger)])


def show_account(session: Session) -> None:
    """Where the budget stands, and what may be asked about."""
    account, dataset = session.account, session.dataset
    everybody = "" if session.analyst is None else " of all"
    spent = f"{account.spent.words()}   {account.questions} questions, {account.releases} releases"
    rows = [
        ("ledger", session.ledger),
        ("hidden", dataset.unit.words()),
        (f"budget{everybody}", account.budget.words() if account.budget else "none yet"),
        *([("", _sampled(session))] if account.rate else []),
        (f"spent{everybody.replace('of', 'by')}", spent),
        ("composed", _composed(account)),
        *([] if session.analyst is None else [(f"spent by {session.analyst}", session.spent.words())]),
        *_left(session.left, session.analyst or ("all" if account.shares else None)),
    ]
    if account.unbounded:
        rows.append(("beware", f"{account.unbounded} releases of this table have no bound, and no budget covers them"))
    rows += [
        (f"  {share.name}", f"({_short(left.epsilon)}, {_short(left.delta)}) left; the share is {share.budget.words()}")
        for share, left in shares_left(account)
    ]
    screen.line(click.style(dataset.name, bold=True))
    screen.table(("", ""), rows)
    screen.line()
    attributes = [(each.name, each.type, each.levels_words(), each.words()) for each in dataset.attributes]
    screen.table(("attribute", "type", "levels and their labels", "domain"), attributes)


def shares_left(account: Account) -> list[tuple[Share, Budget]]:
    """What each analyst may still spend: no more than what is left of the dataset for all."""
    from shoal.ledger.account import difference
    from shoal.ledger.event import Budget

    def least(share: Share) -> Budget:
        own = share.left
        if account.ceiling is None:
            return own
        rest = difference(account.ceiling, account.spent)
        return Budget(min(own.epsilon, rest.epsilon), min(own.delta, rest.delta))

    return [(share, least(share)) for share in account.shares]


def composed(account: Account) -> float | None:
    """What all charges come to at the budget's delta; None for very many different ones, which would take long."""
    if len({part for cost in account.costs for part, _ in cost.parts}) > _MANY:
        return None
    return account.total(account.ceiling.delta if account.ceiling else None) or 0.0


def words(question: str) -> str:
    """A question as a person would say it."""
    saved = json.loads(question)
    return _words(saved)


def error_words(error: Error) -> str:
    """What an error means; figures that limit something are rounded against us."""
    if error.how == "later":
        return f"{error.name}: depends on how many rows there are; its interval comes with the answer"
    parts = []
    if error.low is not None:
        parts.append(f"between {_end(error.low, up=False)} and {_end(error.high, up=True)} in at least 95 of 100 cases")
    if error.expected is not None:
        most = {"bound": "at most ", "digits": "to three digits "}.get(error.how, "")
        parts.append(f"{most}{_figure(error.expected, 3 if error.how == 'digits' else 4)} on average")
    if error.within is not None:
        parts.append(f"within {_figure_up(error.within)} in 95 of 100 cases")
    if error.at_once is not None:
        parts.append(f"all at once within {_figure_up(error.at_once)}")
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
    cells = "".join(f" ({key} {', '.join(saved[key])})" for key in ("edges", "values") if saved.get(key) is not None)
    return f"{saved['attribute']}{level}{cells}"


def _show_given(answer: Answer, indent: str = "") -> None:
    """The value, or what keeps it from being of use."""
    if answer.note is not None and not isinstance(answer.value, list):
        screen.line(indent + answer.note)
        return
    saved = json.loads(answer.question)
    if saved["kind"] != "together":
        _show_value(answer.value, saved["kind"] in _GROUPED, indent)
        return
    for each, value in zip(saved["questions"], answer.value, strict=True):
        _show_value(value, each["kind"] in _GROUPED, indent)
    if answer.note is not None:
        screen.line(f"{indent}among them: {answer.note}")


def _show_value(value: Any, grouped: bool, indent: str) -> None:
    if not isinstance(value, dict):
        screen.line(indent + _value(value, grouped))
    elif "labels" in value:
        cells = [(label, f"{count:,}") for label, count in zip(value["labels"], value["counts"], strict=True)]
        screen.table((value["attribute"], "count"), cells, right=(1,))
    else:
        screen.table((*value["attributes"], "count"), list(_rows(value)), right=(len(value["attributes"]),))


def _behind(answer: Answer) -> list[tuple[str, str]]:
    """The noisy numbers that a mean or variance was computed from."""
    listed = answer.parts if isinstance(answer.parts, list) else [answer.parts]
    return [
        ("from", ", ".join(f"{name} {_value(value, True)}" for name, value in parts.items()))
        for parts in listed
        if parts
    ]


def _errors(told: Answer | Offer) -> list[tuple[str, str]]:
    return [("error", error_words(error)) for error in told.errors]


def _scope(told: Answer | Offer) -> list[tuple[str, str]]:
    """What the answer and its errors are about."""
    return [("about", each) for each in told.scope]


def _rows(value: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for labels, count in zip(product(*value["attributes"].values()), value["counts"], strict=True):
        yield (*labels, f"{count:,}")


def _value(value: Any, grouped: bool) -> str:
    """All digits before the point, with commas where it is an amount."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if grouped else str(value)
    if not isinstance(value, float):
        return str(value)
    if not 1000 <= abs(value) < _LARGE:
        return f"{value:.6g}"
    written = f"{value:,.2f}" if grouped else f"{value:.2f}"
    return written.rstrip("0").rstrip(".")


def _figure(value: float, digits: int = 4) -> str:
    """An error in four digits, or to the unit."""
    return f"{value:,.0f}" if 1000 <= abs(value) < _LARGE else f"{value:.{digits}g}"


def _figure_up(value: float) -> str:
    """The same, never below the value."""
    return _outwards(value, 4, up=True)


def _end(value: float | str, *, up: bool) -> str:
    """An end of an interval, rounded outwards; a date as it is."""
    return value if isinstance(value, str) else _outwards(value, 6, up=up)


def _outwards(value: float, digits: int, *, up: bool) -> str:
    """So many digits, or to the unit, rounded up or down."""
    if not value or not isfinite(value):
        return f"{value:g}"
    exact = Decimal(repr(value))
    place = digits - 1 - exact.adjusted()
    whole = 1000 <= abs(value) < _LARGE and place < digits - 4
    unit = Decimal(1).scaleb(-(0 if whole else place))
    rounded = exact.quantize(unit, ROUND_CEILING if up else ROUND_FLOOR, Context(prec=400))
    if 1000 <= abs(value) < _LARGE:
        written = f"{rounded:,f}"
        return written.rstrip("0").rstrip(".") if "." in written else written
    return f"{float(rounded):.{digits}g}"


def _cost(answer: Answer) -> str:
    return f"({_exact(answer.epsilon)}, {_exact(answer.delta)}), charged"


def _exact(value: Fraction) -> str:
    from shoal.guarantee.rounding import exact_text

    return exact_text(value)


def _left(left: Budget | None, analyst: str | None) -> list[tuple[str, str]]:
    name = "left" if analyst is None else f"left to {analyst}"
    return [] if left is None else [(name, f"({_short(left.epsilon)}, {_short(left.delta)})")]


def _short(value: Fraction) -> str:
    """What is left, exactly where that is short, else rounded down."""
    from shoal.guarantee.rounding import exact_text, text_down

    written = exact_text(value)
    return written if len(written) <= _LONG else text_down(value)


def _composed(account: Account) -> str:
    from shoal.guarantee.rounding import text_up

    found = composed(account)
    if found is None:
        return "-"
    return "0" if not found else f"{text_up(found)}   epsilon at the budget's delta: for information"


def _sampled(session: Session) -> str:
    account = session.account
    if account.ceiling is None or account.rate is None:
        return ""
    most = f"({_short(account.ceiling.epsilon)}, {_short(account.ceiling.delta)})"
    return f"for the population; this table is a sample at rate {float(account.rate):g}, so questions may cost {most}"
