"""Answers and prices of `shoal ask` as text: what was asked, how far the answer may be off, what it cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any

from shoal.cli.terminal import output

if TYPE_CHECKING:
    from shoal.language.result import Result
    from shoal.ledger.event import Budget
    from shoal.ledger.room import Room
    from shoal.query.answer import Answer, Price
    from shoal.query.price import Error, Offer
    from shoal.query.session import Session

_LONG = 16
"""Letters beyond which an exact number is rounded."""
_LARGE = 10.0**15
_GROUPED = ("count", "sum", "variance", "histogram", "contingency")
"""Questions whose answers are amounts, with digits in groups of three; the rest are values of an attribute."""


def print_answer(answer: Answer, session: Session) -> None:
    """Print the value, then its errors and what it cost."""
    _print_value(answer)
    output.print_line()
    cost = "nothing: it is on record" if answer.free else _cost(answer)
    rows = [("question", question_text(answer.question)), ("mechanism", answer.mechanism), *_parts(answer)]
    rows += [*_errors(answer), *_scope(answer)]
    rows += [("cost", cost), *left_rows(session.left, session.analyst, session.rooms), ("ledger", session.ledger)]
    output.print_facts(rows)


def print_result(result: Result, session: Session | None = None) -> None:
    """Print values with their intervals, by group or alone, then how they were computed and what they cost."""
    from shoal.language.result import interval_texts, level_text

    noted = any(row.note for row in result)
    rows = [(*row.labels, *interval_texts(row), *([row.note or ""] if noted else [])) for row in result]
    if result.by:
        many = len(result.by)
        heads = (*result.by, "value", "from", "to", *(["note"] if noted else []))
        output.print_table(heads, rows, right=tuple(range(many, many + 3)))
    else:
        output.print_line(rows[0][0] if result.note is None else result.note)
    output.print_line()
    facts = [("question", result.question)]
    if not result.by:
        facts.append(("interval", f"{rows[0][1]} to {rows[0][2]}"))
    facts += [
        ("level", f"{level_text(result.level)}: each interval contains the true value with this probability or more")
    ]
    facts += [("method", result.method), ("from", result.source), *(("about", each) for each in result.scope)]
    if session is None:
        facts.append(("cost", "nothing: a release was asked"))
    else:
        cost = f"({_exact(result.epsilon)}, {_exact(result.delta)})"
        facts.append(("cost", "nothing: it is on record" if result.free else f"{cost}, charged"))
        facts += [*left_rows(session.left, session.analyst), ("ledger", session.ledger)]
    output.print_facts(facts)


def print_record(found: Sequence[Result], session: Session) -> None:
    """Print every answer that is on record with its intervals, what was paid for it and where it stands in the ledger."""
    from shoal.language.result import interval_texts, level_text

    for result in found:
        price = f"({_exact(result.epsilon)}, {_exact(result.delta)})"
        output.print_line(f"{result.question}: {price}, {result.source}", bold=True)
        for row in result:
            value, low, high = interval_texts(row)
            name = f"{', '.join(row.labels)}: " if row.labels else ""
            shown = f"{value}, {low} to {high}" if row.value is not None else str(row.note)
            output.print_line(f"  {name}{shown}")
    if not found:
        output.print_line("no answer is on record")
    output.print_line()
    level = (
        f"{level_text(found[0].level)}: each interval contains the true value with this probability or more"
        if found
        else ""
    )
    left = left_rows(session.left, session.analyst, session.rooms)
    output.print_facts([*([("level", level)] if found else []), *left, ("ledger", session.ledger)])


def print_price(price: Price, analyst: str | None) -> None:
    """Print what the answer would cost, and its expected error."""
    for place, (question, offer) in enumerate(zip(price.questions, price.offers, strict=True), 1):
        name = "question " if len(price.questions) == 1 else f"question {place}"
        rows = [(name, question_text(question)), ("mechanism", offer.mechanism)]
        output.print_facts([*rows, *_errors(offer), *_scope(offer)])
    cost = price.cost
    text = "nothing: it is on record" if cost is None else f"({_exact(cost.epsilon)}, {_exact(cost.delta)})"
    uses = [] if cost is None or not price.fits else [("", price.words())]
    output.print_facts([("cost     ", text), *uses, *left_rows(price.left, analyst, price.rooms)])
    if not price.fits:
        output.warn("the budget that is left does not cover it: it would be refused")


def print_batch(answers: Sequence[Answer], price: Price, session: Session) -> None:
    """Print each question of a batch with its answer and its errors, then what all of them cost."""
    for place, answer in enumerate(answers, 1):
        output.print_line(f"{place}. {question_text(answer.question)}", bold=True)
        _print_value(answer, "  ")
        rows = [("mechanism", answer.mechanism + (", free: it is on record" if answer.free else "")), *_parts(answer)]
        output.print_facts([*rows, *_errors(answer), *_scope(answer)])
    output.print_line()
    cost = price.cost
    text = (
        "nothing: all are on record"
        if cost is None
        else f"({_exact(cost.epsilon)}, {_exact(cost.delta)}), charged once"
    )
    left = left_rows(session.left, session.analyst, session.rooms)
    output.print_facts([("cost", text), *left, ("ledger", session.ledger)])


def question_text(question: str) -> str:
    """The question as text: its kind, its attributes, its condition."""
    return _saved_text(json.loads(question))


def error_text(error: Error) -> str:
    """How far an answer may be off; figures that limit something are rounded up, or outwards."""
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


def _saved_text(saved: dict[str, Any]) -> str:
    kind = saved["kind"]
    if kind == "together":
        return "together: " + "; ".join(_saved_text(each) for each in saved["questions"])
    if kind == "ratio":
        sides = " / ".join(f"({_saved_text(saved[key])})" for key in ("numerator", "denominator"))
        return f"ratio {sides}{_by(saved)}"
    if kind == "value_of":
        return f"{saved['attribute']} of {saved['person']}"
    if kind == "contingency":
        named = " by ".join(_cells(each) for each in saved["attributes"])
    else:
        named = _cells(saved) if "attribute" in saved else ""
    share = f" at {saved['q']}" if "q" in saved else f" of {saved['share']}" if "share" in saved else ""
    where = f" where {saved['where']}" if "where" in saved else ""
    bounds = f" within {' to '.join(str(end) for end in saved['bounds'])}" if saved.get("bounds") else ""
    return f"{kind} {named}{bounds}{share}{where}{_by(saved)}".replace("  ", " ").strip()


def _by(saved: dict[str, Any]) -> str:
    return f" by {', '.join(_cells(each) for each in saved['by'])}" if saved.get("by") else ""


def _cells(saved: dict[str, Any]) -> str:
    level = f"@{saved['level']}" if saved.get("level") is not None else ""
    cells = "".join(f" ({key} {', '.join(saved[key])})" for key in ("edges", "values") if saved.get(key) is not None)
    return f"{saved['attribute']}{level}{cells}"


def _print_value(answer: Answer, indent: str = "") -> None:
    """Print the value, or the reason why there is none to use."""
    if answer.note is not None and not isinstance(answer.value, list):
        output.print_line(indent + answer.note)
        return
    saved = json.loads(answer.question)
    if saved["kind"] != "together":
        _print_one(answer.value, saved["kind"] in _GROUPED, indent)
        return
    for each, value in zip(saved["questions"], answer.value, strict=True):
        _print_one(value, each["kind"] in _GROUPED, indent)
    if answer.note is not None:
        output.print_line(f"{indent}among them: {answer.note}")


def _print_one(value: Any, grouped: bool, indent: str) -> None:
    if not isinstance(value, dict):
        output.print_line(indent + _value(value, grouped))
    elif "low" in value:
        output.print_line(f"{indent}{_value(value['low'], grouped)} to {_value(value['high'], grouped)}")
    elif "values" in value:
        _print_groups(value, grouped)
    elif "labels" in value:
        cells = [(label, f"{count:,}") for label, count in zip(value["labels"], value["counts"], strict=True)]
        output.print_table((value["attribute"], "count"), cells, right=(1,))
    else:
        output.print_table((*value["attributes"], "count"), list(_rows(value)), right=(len(value["attributes"]),))


def _print_groups(value: dict[str, Any], grouped: bool) -> None:
    """The value of each group, with its interval where there is one, rounded outwards."""
    names, many = [*value["attributes"], "value"], len(value["values"])
    stated = "low_95" in value
    lows, highs, usable = (value.get(key, [None] * many) for key in ("low_95", "high_95", "usable"))
    rows = []
    for labels, one, low, high, clear in zip(
        product(*value["attributes"].values()), value["values"], lows, highs, usable, strict=True
    ):
        shown = "-" if one is None or clear is False else _value(one, grouped)
        ends = ["" if end is None else _end(end, up=up) for end, up in ((low, False), (high, True))] if stated else []
        rows.append((*labels, shown, *ends))
    right = tuple(range(len(names) - 1, len(names) + 2 * stated))
    output.print_table((*names, *(("low", "high") if stated else ())), rows, right=right)
    if stated:
        output.print_line("each value lies between low and high in at least 95 of 100 cases; -: of no use")


def _parts(answer: Answer) -> list[tuple[str, str]]:
    """The noisy numbers that a mean or variance was computed from."""
    listed = answer.parts if isinstance(answer.parts, list) else [answer.parts]
    return [
        ("from", ", ".join(f"{name} {_value(value, True)}" for name, value in parts.items()))
        for parts in listed
        if parts
    ]


def _errors(result: Answer | Offer) -> list[tuple[str, str]]:
    return [("error", error_text(error)) for error in result.errors]


def _scope(result: Answer | Offer) -> list[tuple[str, str]]:
    """Which rows and values the answer and its errors are about."""
    return [("about", each) for each in result.scope]


def _rows(value: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for labels, count in zip(product(*value["attributes"].values()), value["counts"], strict=True):
        yield (*labels, f"{count:,}")


def _value(value: Any, grouped: bool) -> str:
    """A value with all digits before the point, in groups of three where it is an amount."""
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
    """An error that limits something, in four digits or to the unit, never below the value."""
    return _outwards(value, 4, up=True)


def _end(value: float | str, *, up: bool) -> str:
    """An end of an interval, rounded outwards; a date as it is."""
    return value if isinstance(value, str) else _outwards(value, 6, up=up)


def _outwards(value: float, digits: int, *, up: bool) -> str:
    """A number in so many digits, or to the unit, rounded up or down."""
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


def left_rows(left: Budget | None, analyst: str | None, rooms: Sequence[Room] = ()) -> list[tuple[str, str]]:
    """Lines that say what may still be spent; none where the dataset has no budget."""
    name = "left" if analyst is None else f"left to {analyst}"
    if any(room.filter is not None for room in rooms):
        whose = ["", "of the analyst's share: "]
        texts = [words + room.words() for words, room in zip(whose, rooms, strict=False)]
        return list(zip([name, ""], texts, strict=False))
    return [] if left is None else [(name, budget_text(left))]


def budget_text(budget: Budget) -> str:
    """(epsilon, delta), each exactly where that is short, else rounded down."""
    from shoal.guarantee.rounding import exact_text, text_down

    def short(value: Fraction) -> str:
        written = exact_text(value)
        return written if len(written) <= _LONG else text_down(value)

    return f"({short(budget.epsilon)}, {short(budget.delta)})"
