"""One event of the ledger: what happened to a dataset, with a hash chained to the event before."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from shoal.errors import ParameterError, UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.claim import load_guarantee
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import Number, exact_text, text_up
from shoal.guarantee.safe_k.curve import check_delta, check_epsilon
from shoal.ledger.filter import EventCost

VERSION = 2
"""The version of an event's form; a form once written keeps its meaning for ever. Form 1 knew no columns and no key."""

KINDS = ("budget", "look", "charge", "release", "answer", "sample_used", "unbounded", "registered", "session")
"""What can happen: the closed list."""

_DIGITS, _HASH = 18, 64

LONGEST, ASKED = 4000, 1000
"""Digits above and below the line of a number that is written down: of any, and of what questions and budgets may have."""


def genesis(secret: bytes) -> str:
    """What the first event is chained to: the key of the fingerprints, told by nothing but itself."""
    return hmac.new(secret, f"shoal ledger {VERSION}".encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Cost:
    """What one entry costs: the (epsilon, delta) that basic composition adds up, and the parts behind it."""

    epsilon: Fraction
    delta: Fraction
    parts: tuple[tuple[Guarantee, int], ...]
    filtered: EventCost | None = None
    """What it costs in a privacy filter, where more is known than (epsilon, delta): Gaussian noise by its curve."""

    @classmethod
    def of(
        cls,
        epsilon: Number,
        delta: Number,
        parts: list[tuple[Guarantee, int]],
        filtered: EventCost | None = None,
    ) -> Cost:
        """The cost of numbers as a person writes them."""
        return cls(told_from_zero(epsilon), check_delta(delta), tuple(parts), filtered)

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            refuse_unwritable(name, value, LONGEST)
        if not self.parts or not all(isinstance(part, DifferentialPrivacy) for part, _ in self.parts):
            raise UsageError("a cost needs differential guarantees", fix="record a syntactic release as unbounded")
        if self.filtered is not None and (self.filtered.epsilon, self.filtered.delta) != (self.epsilon, self.delta):
            raise UsageError("the two costs of one entry are not of the same (epsilon, delta)")

    @property
    def event(self) -> EventCost:
        """What it costs in a privacy filter; as the pair (epsilon, delta) where nothing more is known."""
        return self.filtered or EventCost.pair(self.epsilon, self.delta)

    def words(self) -> str:
        """The cost as (epsilon, delta), rounded up."""
        return f"({text_up(self.epsilon)}, {text_up(self.delta)})"

    def to_saved(self) -> dict[str, Any]:
        """The cost as plain values with exact text."""
        return {
            "epsilon": exact_text(self.epsilon),
            "delta": exact_text(self.delta),
            "parts": [{"guarantee": part.to_saved(), "times": times} for part, times in self.parts],
        }

    @classmethod
    def from_saved(cls, saved: dict[str, Any], filtered: dict[str, Any] | None = None) -> Cost:
        """The cost that `to_saved` wrote, with what its filtered cost's own `to_saved` wrote."""
        parts = [(load_guarantee(part["guarantee"]), part["times"]) for part in saved["parts"]]
        found = cls.of(saved["epsilon"], saved["delta"], parts)
        if filtered is None:
            return found
        return replace(found, filtered=EventCost.from_saved(found.epsilon, found.delta, filtered))


Accounting = Literal["basic", "gaussian"]
"""How costs add up against a budget: epsilons alone, or epsilons and, beside them, the mu^2 of a Gaussian filter."""
ACCOUNTINGS: tuple[Accounting, ...] = ("basic", "gaussian")


@dataclass(frozen=True)
class Budget:
    """A ceiling on what all entries of a dataset may cost together.

    >>> Budget.of(3, "1e-5").words()
    '(3, 0.00001)'
    """

    epsilon: Fraction
    delta: Fraction
    accounting: Accounting | None = field(default=None, compare=False)
    """How costs are to add up, where somebody says it; two budgets of the same numbers are the same budget."""
    aside: tuple[Fraction, Fraction] | None = field(default=None, compare=False)
    """The (epsilon, delta) of it that Gaussian accounting sets aside for releases, where somebody says it."""

    @classmethod
    def of(
        cls,
        epsilon: Number,
        delta: Number,
        accounting: str | None = None,
        aside: tuple[Number, Number] | None = None,
    ) -> Budget:
        """The budget of numbers as a person writes them."""
        known = next((word for word in ACCOUNTINGS if word == accounting), None)
        if known != accounting:
            raise ParameterError("no such accounting", came=accounting, allowed=", ".join(ACCOUNTINGS))
        own = None if aside is None else (told_from_zero(aside[0]), check_delta(aside[1]))
        budget = cls(told_from_zero(epsilon), check_delta(delta), known, own)
        if own is not None and known != "gaussian":
            raise ParameterError(
                "only Gaussian accounting sets something aside", came=accounting or "no accounting", allowed="gaussian"
            )
        if known == "gaussian" and not budget.delta:
            raise ParameterError(
                "Gaussian accounting needs a delta", came="delta = 0", allowed="0 < delta < 1", fix="say basic"
            )
        if budget.delta >= 1:
            raise ParameterError("a budget with delta = 1 allows everything", came=delta, allowed="0 <= delta < 1")
        for name, value in (("epsilon", budget.epsilon), ("delta", budget.delta)):
            refuse_unwritable(name, value)
        return budget

    def words(self) -> str:
        """The budget as (epsilon, delta), exactly."""
        return f"({exact_text(self.epsilon)}, {exact_text(self.delta)})"

    def to_saved(self) -> dict[str, Any]:
        """The budget as plain values with exact text."""
        return {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta)}

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Budget:
        """The budget that `to_saved` wrote."""
        return cls.of(saved["epsilon"], saved["delta"])


@dataclass(frozen=True)
class Event:
    """One line of the ledger; `hash` covers everything in it and the hash before it."""

    number: int
    time: str
    dataset: str
    kind: str
    payload: dict[str, Any]
    previous: str
    hash: str

    @classmethod
    def after(cls, last: Event | str, time: str, dataset: str, kind: str, payload: dict[str, Any]) -> Event:
        """The next event of the chain; the first is chained to its genesis."""
        if kind not in KINDS:
            raise UsageError("unknown kind of event", came=kind, allowed=", ".join(KINDS))
        number, previous = (1, last) if isinstance(last, str) else (last.number + 1, last.hash)
        return cls(
            number, time, dataset, kind, payload, previous, digest(number, time, dataset, kind, payload, previous)
        )

    @property
    def intact(self) -> bool:
        """Whether the hash of the event is that of its content."""
        try:
            return self.hash == digest(self.number, self.time, self.dataset, self.kind, self.payload, self.previous)
        except (UsageError, ValueError, RecursionError):
            return False  # no event that was written holds a float, or nests without end

    def to_saved(self) -> dict[str, Any]:
        """The event as plain values, for export."""
        return {
            "version": VERSION,
            "number": self.number,
            "time": self.time,
            "dataset": self.dataset,
            "kind": self.kind,
            "payload": self.payload,
            "previous": self.previous,
            "hash": self.hash,
        }


@dataclass(frozen=True)
class Head:
    """The number and the hash of the last event, written with it: what a chain whose end is cut off no longer fits."""

    number: int
    hash: str

    def to_text(self) -> str:
        """The head as it is kept."""
        return f"{self.number} {self.hash}"

    @classmethod
    def from_text(cls, text: str) -> Head:
        """The head that `to_text` wrote; ValueError for anything else."""
        number, hash_ = text.split(" ")
        if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS and len(hash_) == _HASH):
            raise ValueError("no head")
        return cls(int(number), hash_)


@dataclass(frozen=True)
class Excerpt:
    """Events in order, and the head of the ledger at the moment when they were read; None where it has none yet."""

    events: list[Event]
    head: Head | None = None


def told_from_zero(epsilon: Number) -> Fraction:
    """An epsilon that is zero or large enough to be meant."""
    value = check_epsilon(epsilon)
    if 0 < value < Fraction(1, 10**300):
        raise ParameterError("epsilon is too small to be told from zero", came=epsilon, allowed="0, or 1e-300 and more")
    return value


def writable(value: Fraction, digits: int = ASKED) -> bool:
    """Whether a number is short enough to be written exactly."""
    most: int = 10**digits
    return max(abs(value.numerator), value.denominator) <= most


def refuse_unwritable(name: str, value: Fraction, digits: int = ASKED) -> None:
    """Raise ParameterError for a number that is too long to be written exactly."""
    if not writable(value, digits):
        raise ParameterError(
            f"{name} is too long to be written exactly",
            came=f"a fraction near {text_up(value)}",
            allowed=f"{digits:,} digits above and below the line",
        )


def digest(number: int, time: str, dataset: str, kind: str, payload: dict[str, Any], previous: str) -> str:
    """SHA-256 over the canonical text of an event and the hash before it."""
    content = [VERSION, number, time, dataset, kind, payload, previous]
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def canonical(content: object) -> str:
    """One text for one meaning: sorted keys, no spaces, no floats."""
    _refuse_floats(content)
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _refuse_floats(content: object) -> None:
    if isinstance(content, float):
        raise UsageError("the ledger holds exact text, not floats")
    if isinstance(content, dict):
        for value in content.values():
            _refuse_floats(value)
    elif isinstance(content, list | tuple):
        for value in content:
            _refuse_floats(value)
