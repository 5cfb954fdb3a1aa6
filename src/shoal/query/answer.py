"""An answer and its price, and what the ledger keeps of it: the value that was given, its cost and its error."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

from shoal.errors import LedgerError, ShoalError, UsageError
from shoal.guarantee.rounding import Number, exact, exact_text, text_up
from shoal.ledger.event import Budget, Cost
from shoal.ledger.room import Room
from shoal.mechanism.base import check_confidence
from shoal.mechanism.gaussian import Gaussian
from shoal.query.price import Error, NoiseOffer, Offer, Outcome, gaussian_of_scale, offer, premises_met
from shoal.query.questions.base import CellEstimate, Query, VectorQuery

if TYPE_CHECKING:
    from shoal.query.prior import AnalystPrior

VERSION = 3
"""The version of a recorded answer. Version 1 had no scope, and some of its errors were wrong; version 2 had no noisy steps."""
_RANK = "rank"
_LARGEST_SCALE = 1e300
_HOW = ("exact", "bound", "digits", "later")


@dataclass(frozen=True)
class Answer:
    """An answer, with what it cost when it was first given; `free` when it was given again from the record."""

    question: str
    value: Any
    mechanism: str
    epsilon: Fraction
    delta: Fraction
    errors: tuple[Error, ...]
    theorems: tuple[str, ...]
    charge: int
    """The number of the charge in the ledger."""
    free: bool = False
    parts: Any = None
    """The noisy count and sums from which a mean or a variance was computed; a list for a workload."""
    note: str | None = None
    """Why the answer is of no use; None where it is usable."""
    scope: tuple[str, ...] = ()
    """What the answer and its errors are about, where that is not every row and value as it is."""
    noisy: tuple[int, ...] | None = None
    """The noisy numbers in steps, from which the value was computed; None where the value holds them."""
    scale: float | None = None
    """The scale of Gaussian noise, which its epsilon, rounded up, does not tell exactly; None for other mechanisms."""
    offer: Callable[[], Offer] | None = field(default=None, repr=False, compare=False)
    """Makes the mechanism that drew the answer, as the session knows it; it is not recorded."""

    def __repr__(self) -> str:
        cost = "free: it is on record" if self.free else f"for ({exact_text(self.epsilon)}, {exact_text(self.delta)})"
        return f"<Answer {_shorten(str(self.value))} to {_shorten(self.question)}, {self.mechanism}, {cost}>"

    @property
    def premises(self) -> list[dict[str, str]]:
        """Each premise of the theorems that the answer cites, with how it is met."""
        return premises_met(self.theorems)

    def estimates(self, level: Number = "0.95") -> tuple[CellEstimate, ...]:
        """Every number of the answer with its interval at a level between 0 and 1, by question and by group.

        The intervals are computed from the noisy numbers on record: no row is read and nothing is charged. The true
        value lies in an interval with at least that probability. An end is None where nothing limits it: for a prior,
        beyond 95 % for a quantile, and at other levels than 95 % for an answer that was recorded before noisy numbers were.

        Raises     ParameterError where the level is not between 0 and 1; UsageError for an answer that no session gave.
        """
        wanted = check_confidence(level)
        if self.offer is None:
            raise UsageError(
                "an answer without its session has no intervals", fix="ask the question in a session: it is free"
            )
        return tuple(
            self.offer().estimates(Outcome(self.value, self.errors, self.parts, self.note, self.noisy), wanted)
        )

    def to_json(self) -> dict[str, Any]:
        """The answer as plain values, numbers of the guarantee as exact text."""
        return {**self._record(), "premises": self.premises, "charge": self.charge, "free": self.free}

    def _record(self) -> dict[str, Any]:
        """What the ledger keeps of the answer."""
        return {
            "question": json.loads(self.question),
            "value": self.value,
            "parts": self.parts,
            "note": self.note,
            "scope": list(self.scope),
            "mechanism": self.mechanism,
            "epsilon": exact_text(self.epsilon),
            "delta": exact_text(self.delta),
            "errors": [error.to_json() for error in self.errors],
            "theorems": list(self.theorems),
            **({} if self.noisy is None else {"noisy": list(self.noisy)}),
            **({} if self.scale is None else {"scale": self.scale}),
        }

    def content(self) -> bytes:
        """The answer as the ledger records it."""
        return json.dumps({"version": VERSION, **self._record()}, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_content(cls, content: bytes, charge: int) -> Answer:
        """The answer from its record in the ledger; it is free."""
        try:
            saved = json.loads(content)
            _check_record(saved)
            json.dumps(saved, ensure_ascii=False).encode()  # half of a surrogate pair could not be written again
            question = json.dumps(saved["question"], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            old = saved.get("version") == 1
            errors = tuple(Error.from_json(each) for each in saved["errors"] if not (old and _is_wrong(each)))
            terms = (
                saved["mechanism"],
                exact(saved["epsilon"]),
                exact(saved["delta"]),
                errors,
                tuple(saved["theorems"]),
            )
            premises_met(terms[-1])
        except (ShoalError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            raise LedgerError("a recorded answer cannot be read", fix="restore the ledger from a backup") from None
        noisy = saved.get("noisy")
        more = {"parts": saved.get("parts"), "note": saved.get("note"), "scope": tuple(saved.get("scope", ()))}
        more |= {"noisy": None if noisy is None else tuple(noisy), "scale": saved.get("scale")}
        return cls(question, saved["value"], *terms, charge, free=True, **more)

    @classmethod
    def from_outcome(cls, question: str, offer: Offer, drawn: Outcome, charge: int) -> Answer:
        """The answer that was just drawn; its value goes through its record, so that it is the same whenever it is given."""
        cost = offer.cost
        value, parts = json.loads(json.dumps([drawn.value, drawn.parts], allow_nan=False))
        terms = (offer.mechanism, cost.epsilon, cost.delta, drawn.errors, offer.theorems, charge)
        noise = offer.noise if isinstance(offer, NoiseOffer) else None
        scale = noise.scale if isinstance(noise, Gaussian) else None
        more = {"parts": parts, "note": drawn.note, "scope": offer.scope, "noisy": drawn.noisy, "scale": scale}
        return cls(question, value, *terms, **more, offer=lambda: offer)


def recorded_offer(answer: Answer, query: Query, prior: AnalystPrior | None = None) -> Offer:
    """The mechanism that drew an answer which is on record."""
    if answer.scale is not None and isinstance(query, VectorQuery):
        return gaussian_of_scale(query, answer.scale, answer.delta)
    return offer(query, answer.epsilon, answer.delta, answer.mechanism, prior)


def _is_wrong(error: dict[str, Any]) -> bool:
    """Whether an error of version 1 said too much: `about`, and a quantile's rank where only its excess is known."""
    return error.get("how") in ("about", "bound") or error.get("of") == _RANK


# A record is taken from a file that somebody may have written anew, so its shape is checked before it is given out.


def _check_record(saved: dict[str, Any]) -> None:
    """Raise ValueError for what is no record of an answer."""
    question, value, parts = saved["question"], saved["value"], saved.get("parts")
    several = question["kind"] == "together"
    values = value if several else [value]
    fits = (
        (not several or (isinstance(value, list) and len(value) == len(question["questions"])))
        and all(_is_scalar(each) or _is_ends(each) or _is_groups(each) or _is_table(each) for each in values)
        and (saved.get("noisy") is None or _are_whole(saved["noisy"]))
        and all(part is None or _is_parts(part) for part in (parts if isinstance(parts, list) else [parts]))
        and all(isinstance(saved[name], str) for name in ("mechanism", "epsilon", "delta"))
        and (saved.get("note") is None or isinstance(saved["note"], str))
        and (saved.get("scale") is None or (_is_number(saved["scale"]) and 0 < saved["scale"] < _LARGEST_SCALE))
        and all(_are_texts(saved.get(name, [])) for name in ("theorems", "scope"))
        and isinstance(saved["errors"], list)
        and all(_is_error(each) for each in saved["errors"])
    )
    if not fits:
        raise ValueError("no record of an answer")


def _is_number(value: Any) -> bool:
    return type(value) is int or (isinstance(value, float) and isfinite(value))


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bool) or _is_number(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_whole(value: Any) -> bool:
    return isinstance(value, list) and all(type(each) is int for each in value)


def _is_ends(value: Any) -> bool:
    """Whether it is a lower and an upper end."""
    return (
        isinstance(value, dict) and set(value) == {"low", "high"} and all(_is_scalar(each) for each in value.values())
    )


def _is_groups(value: Any) -> bool:
    """Whether it is a list of values by the labels of attributes, each with its interval, or without."""
    if not isinstance(value, dict) or "values" not in value:
        return False
    labels, listed = value["attributes"].values(), [value[key] for key in set(value) - {"attributes"}]
    known = {"attributes", "values", "low_95", "high_95", "usable"}
    return (
        set(value) <= known
        and all(_are_texts(each) for each in labels)
        and all(isinstance(each, list) and all(_is_scalar(one) for one in each) for each in listed)
        and {len(each) for each in listed} == {prod(len(each) for each in labels)}
    )


def _is_table(value: Any) -> bool:
    """Whether it is a list of counts by the labels of one attribute, or of several together."""
    counts = value["counts"]
    if not isinstance(counts, list) or not all(_is_number(count) for count in counts):
        return False
    if "labels" in value:
        return (
            isinstance(value["attribute"], str) and _are_texts(value["labels"]) and len(value["labels"]) == len(counts)
        )
    labels = value["attributes"].values()
    return all(_are_texts(each) for each in labels) and prod(len(each) for each in labels) == len(counts)


def _is_parts(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_scalar(each) for each in value.values())


def _is_error(value: Any) -> bool:
    numbers = [value[name] for name in ("expected", "within_95")] + [value.get("all_within_95")]
    ends = (value.get("low_95"), value.get("high_95"))
    return (
        isinstance(value["of"], str)
        and value.get("how", "exact") in (*_HOW, "about")
        and all(each is None or _is_number(each) for each in numbers)
        and all(each is None or isinstance(each, str) or _is_number(each) for each in ends)
        and (ends[0] is None) == (ends[1] is None)
    )


@dataclass(frozen=True)
class Price:
    """What a question would cost, and how good its answer would be; nothing was charged and no row was read."""

    questions: tuple[str, ...]
    offers: tuple[Offer | Answer, ...]
    """For each question how it would be answered, or the answer that is on record."""
    cost: Cost | None
    """What would be charged; None where every answer is on record, which is free."""
    left: Budget | None
    unanswered: tuple[int, ...] = ()
    """Earlier charges of these questions to which no answer was recorded; they stand, and nothing is taken off for them."""
    rooms: tuple[Room, ...] = ()
    """What is left: of the dataset's budget, and of the analyst's share."""

    def __repr__(self) -> str:
        cost = "nothing: on record" if self.cost is None else self.cost.words()
        named = _shorten(self.questions[0]) if len(self.questions) == 1 else f"{len(self.questions)} questions"
        return f"<Price {cost} of {named}>"

    @property
    def free(self) -> bool:
        """Whether the answer is on record."""
        return self.cost is None

    @property
    def fits(self) -> bool:
        """Whether the budget that is left allows the cost."""
        if self.cost is None or self.left is None:
            return True
        if self.rooms:
            return all(room.fits(self.cost) for room in self.rooms)
        return self.cost.epsilon <= self.left.epsilon and self.cost.delta <= self.left.delta

    @property
    def share(self) -> Fraction | None:
        """The part of the whole budget that the cost uses, of the tightest one; None where that cannot be said."""
        if self.cost is None:
            return Fraction(0)
        parts = [room.part_used(self.cost) for room in self.rooms]
        return max((part for part in parts if part is not None), default=None) if None not in parts else None

    @property
    def more(self) -> int | None:
        """How many more of this cost fit after this one; None where nothing limits them."""
        if self.cost is None:
            return None
        fits = [many for room in self.rooms if (many := room.more(self.cost)) is not None]
        return max(0, min(fits) - 1) if fits else None

    def words(self) -> str:
        """The price in words: what part of the budget it uses, and how many more like it fit.

        >>> Price((), (), None, None).words()
        'free: the answer is on record'
        """
        if self.cost is None:
            return "free: the answer is on record"
        share, more = self.share, self.more
        if not self.fits:
            return "does not fit into what is left of the budget"
        if share is None or more is None:
            return f"costs {self.cost.words()}"
        after = "none like it fits after it" if more == 0 else f"about {more:,} more like it"
        return f"uses {text_up(100 * share, 2)} % of the budget; {after}"

    @property
    def mechanism(self) -> str:
        """The mechanism of the first question."""
        return self.offers[0].mechanism

    @property
    def errors(self) -> tuple[Error, ...]:
        """The errors of the first question."""
        return self.offers[0].errors

    @property
    def scope(self) -> tuple[str, ...]:
        """What the answer to the first question and its errors are about."""
        return self.offers[0].scope

    def to_json(self) -> dict[str, Any]:
        """The price as plain values, numbers of the guarantee as exact text."""
        cost = self.cost
        return {
            "questions": [
                {
                    "question": json.loads(question),
                    "mechanism": offer.mechanism,
                    "errors": [error.to_json() for error in offer.errors],
                    "scope": list(offer.scope),
                    "theorems": list(offer.theorems),
                    "premises": premises_met(offer.theorems),
                    "free": isinstance(offer, Answer),
                }
                for question, offer in zip(self.questions, self.offers, strict=True)
            ],
            "epsilon": "0" if cost is None else exact_text(cost.epsilon),
            "delta": "0" if cost is None else exact_text(cost.delta),
            "free": self.free,
            "fits": self.fits,
            "left": None if self.left is None else self.left.to_saved(),
            "share": None if self.share is None else float(self.share),
            "more": self.more,
            "rooms": [room.to_json() for room in self.rooms],
            "unanswered": list(self.unanswered),
        }


def _shorten(text: str, most: int = 100) -> str:
    """A text that fits into a line."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
