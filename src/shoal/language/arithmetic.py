"""Arithmetic on numeric attributes, never evaluated as code: `income / 12`, `income - tax`, `abs(x - 3)`, `min(a, b)`.

sum     :=  product, + or - product, …
product :=  factor, * or / factor, …
factor  :=  - factor | number | name | abs(sum) | min(sum, …) | max(sum, …) | ( sum )

An expression is reduced to a normal form, a constant plus multiples of terms, so that `age + age` and `2 * age` are one. The
interval of its values follows from the intervals of the attributes by exact interval arithmetic; a division by an interval that
contains 0 is refused. A row's value is computed in double precision; where every part is a whole number, exactly.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact_text, read_number
from shoal.language.condition.parse import LONGEST_NUMBER, quoted_name
from shoal.language.condition.ranks import attribute_of
from shoal.policy.text.problem import excerpt

Floats = npt.NDArray[np.float64]
Range = tuple[Fraction, Fraction]
Ranges = Mapping[str, Range]

MOST_LETTERS = 2000
DEEPEST = 30
MOST_PARTS = 200
"""Names and numbers of one expression."""
_EXACT = Fraction(2**53)
"""Whole numbers up to here are exact in double precision."""
_LARGEST = Fraction(10) ** 100
NUMBERS = (Type.INTEGER, Type.DECIMAL)
FUNCTIONS = ("abs", "min", "max")


class Term(ABC):
    """A part of an expression that is no constant and no sum."""

    parts: tuple[Expression, ...] = ()
    """The expressions that it is made of."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The term as it is written."""

    @property
    @abstractmethod
    def whole(self) -> bool:
        """Whether every value is a whole number, by the types alone."""

    @abstractmethod
    def interval(self, ranges: Ranges) -> Range:
        """The interval of its values, from those of the attributes."""

    @abstractmethod
    def evaluate(self, values: Mapping[str, Floats]) -> Floats:
        """Its value for each row."""

    @property
    def names(self) -> frozenset[str]:
        """The attributes that it reads."""
        return frozenset(name for part in self.parts for name in part.names)


@dataclass(frozen=True)
class Expression:
    """A constant plus multiples of terms, each term once, sorted by their text."""

    constant: Fraction
    terms: tuple[tuple[Fraction, Term], ...] = ()

    @cached_property
    def text(self) -> str:
        """The expression in its one spelling, which reads back as the same."""
        signed = sorted(self.terms, key=lambda one: one[0] < 0)
        found = [_multiple(factor, term) for factor, term in signed]
        if self.constant or not found:
            found.append(exact_text(self.constant))
        return reduce(lambda one, other: f"{one} - {other[1:]}" if other[0] == "-" else f"{one} + {other}", found)

    @property
    def names(self) -> frozenset[str]:
        """The attributes that it reads."""
        return frozenset(name for _, term in self.terms for name in term.names)

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number, by the types alone."""
        numbers = (self.constant, *(factor for factor, _ in self.terms))
        return all(each.denominator == 1 for each in numbers) and all(term.whole for _, term in self.terms)

    def interval(self, ranges: Ranges) -> Range:
        """The interval of its values, from those of the attributes; UsageError where it is too wide to compute in doubles."""
        low = high = self.constant
        for factor, term in self.terms:
            ends = [factor * end for end in term.interval(ranges)]
            low, high = low + min(ends), high + max(ends)
        limit = _EXACT if self.whole else _LARGEST
        if max(abs(low), abs(high)) > limit:
            raise UsageError(
                "arithmetic on an attribute whose domain is too wide for it",
                came=excerpt(self.text),
                allowed=f"values up to {exact_text(limit)}",
                fix="narrow the domain in the policy, or the rows by a condition",
            )
        return low, high

    def evaluate(self, values: Mapping[str, Floats]) -> Floats:
        """Its value for each row."""
        found: Floats = np.full(len(next(iter(values.values()))), float(self.constant))
        for factor, term in self.terms:
            found = found + _scaled(factor, term.evaluate(values))
        return found


def _scaled(factor: Fraction, values: Floats) -> Floats:
    """A multiple of values; a numerator and a denominator apart, so that a third of 3 is 1."""
    return np.asarray(values * float(factor.numerator) / float(factor.denominator))


def _multiple(factor: Fraction, term: Term) -> str:
    sign, size = "-" if factor < 0 else "", abs(factor)
    if size == 1:
        return sign + term.text
    if size.numerator == 1:
        return f"{sign}{term.text} / {exact_text(Fraction(size.denominator))}"
    if size.denominator != 1 and "/" in exact_text(size):
        top, bottom = exact_text(Fraction(size.numerator)), exact_text(Fraction(size.denominator))
        return f"{sign}{top} * {term.text} / {bottom}"
    return f"{sign}{exact_text(size)} * {term.text}"


@dataclass(frozen=True)
class AttributeTerm(Term):
    """The value of an attribute."""

    name: str
    kind: Type

    @property
    def text(self) -> str:
        return f"`{self.name.replace('`', '``')}`" if not _BARE.fullmatch(self.name) else quoted_name(self.name)

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.name})

    @property
    def whole(self) -> bool:
        return self.kind is Type.INTEGER

    def interval(self, ranges: Ranges) -> Range:
        return ranges[self.name]

    def evaluate(self, values: Mapping[str, Floats]) -> Floats:
        return values[self.name]


@dataclass(frozen=True)
class Product(Term):
    """The product of two expressions, sorted by their text."""

    parts: tuple[Expression, Expression]

    @property
    def text(self) -> str:
        return " * ".join(_inside(part) for part in self.parts)

    @property
    def whole(self) -> bool:
        return all(part.whole for part in self.parts)

    def interval(self, ranges: Ranges) -> Range:
        one, other = (part.interval(ranges) for part in self.parts)
        if self.parts[0] == self.parts[1]:
            squares = [end**2 for end in one]
            return Fraction(0) if one[0] <= 0 <= one[1] else min(squares), max(squares)
        ends = [a * b for a in one for b in other]
        return min(ends), max(ends)

    def evaluate(self, values: Mapping[str, Floats]) -> Floats:
        return self.parts[0].evaluate(values) * self.parts[1].evaluate(values)


@dataclass(frozen=True)
class Quotient(Term):
    """One expression divided by another that is never 0."""

    parts: tuple[Expression, Expression]

    @property
    def whole(self) -> bool:
        return False

    @property
    def text(self) -> str:
        return " / ".join(_inside(part) for part in self.parts)

    def interval(self, ranges: Ranges) -> Range:
        one, other = (part.interval(ranges) for part in self.parts)
        if other[0] <= 0 <= other[1]:
            raise UsageError(
                "a division by what may be 0",
                came=excerpt(self.parts[1].text),
                allowed=f"a divisor without 0; this one lies in {exact_text(other[0])}..{exact_text(other[1])}",
                fix="leave the rows out by a condition, such as one that it is above 0; or ask for a ratio of two sums",
            )
        ends = [a / b for a in one for b in other]
        return min(ends), max(ends)

    def evaluate(self, values: Mapping[str, Floats]) -> Floats:
        return self.parts[0].evaluate(values) / self.parts[1].evaluate(values)


@dataclass(frozen=True)
class Call(Term):
    """The absolute value of an expression, or the least or largest of several."""

    function: str
    parts: tuple[Expression, ...]

    @property
    def text(self) -> str:
        return f"{self.function}({', '.join(part.text for part in self.parts)})"

    @property
    def whole(self) -> bool:
        return all(part.whole for part in self.parts)

    def interval(self, ranges: Ranges) -> Range:
        found = [part.interval(ranges) for part in self.parts]
        if self.function == "abs":
            low, high = found[0]
            return Fraction(0) if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
        take = min if self.function == "min" else max
        return take(low for low, _ in found), take(high for _, high in found)

    def evaluate(self, values: Mapping[str, Floats]) -> Floats:
        found = [part.evaluate(values) for part in self.parts]
        if self.function == "abs":
            return np.abs(found[0])
        return reduce(np.minimum if self.function == "min" else np.maximum, found)


def _inside(part: Expression) -> str:
    """An expression as a factor: in parentheses, unless it is one name or function."""
    single = not part.constant and len(part.terms) == 1 and part.terms[0][0] == 1
    number = not part.terms and part.constant >= 0 and "/" not in part.text
    return part.text if number or (single and isinstance(part.terms[0][1], AttributeTerm | Call)) else f"({part.text})"


# --- arithmetic on expressions ----------------------------------------------------------------------------------------


def _sum(parts: Iterable[tuple[Fraction, Expression]]) -> Expression:
    """The sum of multiples of expressions, each term once."""
    constant = Fraction(0)
    factors: dict[str, Fraction] = {}
    terms: dict[str, Term] = {}
    for factor, part in parts:
        constant += factor * part.constant
        for own, term in part.terms:
            factors[term.text] = factors.get(term.text, Fraction(0)) + factor * own
            terms[term.text] = term
    return Expression(constant, tuple((factors[text], terms[text]) for text in sorted(factors) if factors[text]))


def _product(left: Expression, right: Expression) -> Expression:
    for one, other in ((left, right), (right, left)):
        if not one.terms:
            return _sum([(one.constant, other)])
    (twice, first), (thrice, second) = _factored(left), _factored(right)
    ranked = sorted((first, second), key=lambda part: part.text)
    return Expression(Fraction(0), ((twice * thrice, Product((ranked[0], ranked[1]))),))


def _factored(part: Expression) -> tuple[Fraction, Expression]:
    """An expression as a multiple of another, where it is one: `2 * age` as twice `age`."""
    if part.constant or len(part.terms) != 1:
        return Fraction(1), part
    factor, term = part.terms[0]
    return factor, Expression(Fraction(0), ((Fraction(1), term),))


def _quotient(left: Expression, right: Expression) -> Expression:
    if not right.terms:
        if not right.constant:
            raise UsageError("a division by 0", came=excerpt(f"{left.text} / 0"))
        return _sum([(1 / right.constant, left)])
    (one, first), (other, second) = _factored(left), _factored(right)
    return Expression(Fraction(0), ((one / other, Quotient((first, second))),))


def _call(function: str, parts: list[Expression]) -> Expression:
    if function == "abs":
        if len(parts) != 1:
            raise UsageError("abs is of one number", came=f"{len(parts)} of them")
        if not parts[0].terms:
            return Expression(abs(parts[0].constant))
    else:
        parts = sorted({part.text: part for part in parts}.values(), key=lambda part: part.text)
        if len(parts) == 1:
            return parts[0]
        if not any(part.terms for part in parts):
            return Expression((min if function == "min" else max)(part.constant for part in parts))
    return Expression(Fraction(0), ((Fraction(1), Call(function, tuple(parts))),))


# --- reading --------------------------------------------------------------------------------------------------------------

_BARE = re.compile(r"[^\W\d][\w.]*")
_PATTERN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![\w.]))
    | (?P<operator>[-+*/(),])
    | (?P<name>[^\W\d][\w.]*)
    | "(?P<double>(?:[^"]|"")+)"
    | `(?P<backtick>(?:[^`]|``)+)`
    """,
    re.VERBOSE,
)
_ALLOWED = "names of numeric attributes, numbers, + - * /, abs(…), min(…), max(…) and parentheses"


def parse_arithmetic(text: str, schema: Schema, purpose: str) -> Expression:
    """The expression that a text means over the numeric attributes of a schema; UsageError where it cannot be read."""
    return _Reader(text, schema, purpose).whole()


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    if len(text) > MOST_LETTERS:
        raise UsageError("arithmetic too long to read", came=f"{len(text):,} letters", allowed=f"{MOST_LETTERS:,}")
    place = 0
    while place < len(text):
        found = _PATTERN.match(text, place)
        if found is None:
            raise UsageError(f"arithmetic cannot be read at letter {place + 1}", came=excerpt(text), allowed=_ALLOWED)
        kind = found.lastgroup or ""
        body = found[kind]
        if kind == "number" and len(body) > LONGEST_NUMBER:
            raise UsageError(f"a number with too many digits, at letter {place + 1}", came=excerpt(body))
        if kind in ("double", "backtick"):
            quote = found[0][0]
            yield "quoted", body.replace(quote * 2, quote), place + 1
        elif kind != "space":
            yield kind, body, place + 1
        place = found.end()
    yield "end", "", len(text) + 1


class _Reader:
    """A recursive-descent parser that looks one token ahead."""

    def __init__(self, text: str, schema: Schema, purpose: str) -> None:
        self._words = _tokens(text)
        self._next = next(self._words)
        self._schema, self._purpose = schema, purpose
        self._parts = 0

    def whole(self) -> Expression:
        found = self._sum(0)
        if self._next[0] != "end":
            raise self._unexpected("an operator, or the end")
        return found

    def _sum(self, depth: int) -> Expression:
        return self._chain(
            {"+": lambda a, b: _sum([(Fraction(1), a), (Fraction(1), b)]),
             "-": lambda a, b: _sum([(Fraction(1), a), (Fraction(-1), b)])},
            lambda: self._chain({"*": _product, "/": _quotient}, lambda: self._factor(depth)),
        )  # fmt: skip

    def _chain(
        self, operators: Mapping[str, Callable[[Expression, Expression], Expression]], part: Callable[[], Expression]
    ) -> Expression:
        found = part()
        while self._next[0] == "operator" and self._next[1] in operators:
            found = operators[self._step()](found, part())
        return found

    def _factor(self, depth: int) -> Expression:
        if depth > DEEPEST:
            raise UsageError("arithmetic nested too deep", came=f"more than {DEEPEST} levels", fix="write it flatter")
        kind, body, _ = self._next
        if (kind, body) == ("operator", "-"):
            self._step()
            return _sum([(Fraction(-1), self._factor(depth + 1))])
        if (kind, body) == ("operator", "("):
            self._step()
            found = self._sum(depth + 1)
            self._expect(")")
            return found
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise UsageError("arithmetic with too many parts", came=f"over {MOST_PARTS}", fix="ask several questions")
        if kind == "number":
            return Expression(read_number(self._step()))
        if kind not in ("name", "quoted"):
            raise self._unexpected(_ALLOWED)
        self._step()
        if kind == "name" and body.lower() in FUNCTIONS and self._next[:2] == ("operator", "("):
            return self._function(body.lower(), depth)
        return self._attribute(body)

    def _function(self, name: str, depth: int) -> Expression:
        self._step()
        parts = [self._sum(depth + 1)]
        while self._next[:2] == ("operator", ","):
            self._step()
            parts.append(self._sum(depth + 1))
        self._expect(")")
        return _call(name, parts)

    def _attribute(self, name: str) -> Expression:
        attribute = attribute_of(self._schema, name, self._purpose)
        if attribute.type not in NUMBERS:
            raise UsageError(
                f"attribute '{name}' has the wrong type for arithmetic",
                came=attribute.type.value,
                allowed=", ".join(kind.value for kind in NUMBERS),
            )
        return Expression(Fraction(0), ((Fraction(1), AttributeTerm(name, attribute.type)),))

    def _step(self) -> str:
        body = self._next[1]
        self._next = next(self._words)
        return body

    def _expect(self, text: str) -> None:
        if self._next[:2] != ("operator", text):
            raise self._unexpected(text)
        self._step()

    def _unexpected(self, allowed: str) -> UsageError:
        kind, body, place = self._next
        came = "the end" if kind == "end" else excerpt(body)
        return UsageError(f"arithmetic cannot be read at letter {place}", came=came, allowed=allowed)
