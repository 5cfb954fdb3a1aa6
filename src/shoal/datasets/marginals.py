"""What is publicly known about single attributes: shares of values, of coarser labels, or of ranges, checked and exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Interval, Line, Pattern, Values
from shoal.data.hierarchy.level import MISSING, GroupLevel
from shoal.data.plain_file import LARGEST_YAML, read_plain_file
from shoal.data.schema import Attribute, Missing, Schema
from shoal.data.type import point, spell
from shoal.errors import DomainError, ParameterError, PolicyError, UsageError
from shoal.guarantee.rounding import exact

Marginals = Mapping[str, Mapping[Any, Any] | Sequence[Sequence[Any]]]
"""For each attribute that is named: {value: share}, or [[low, high, share], ...] for numbers, dates and times."""

_FORMS = "{value: share, ...} or, for numbers, dates and times, [[low, high, share], ...]"


@dataclass(frozen=True)
class PublicMarginal:
    """Shares that add up to one with the share missing; what they are shares of is told in one of three ways."""

    shares: npt.NDArray[np.float64]
    missing: float
    texts: tuple[str, ...] = ()
    """Values, or labels of the level."""
    level: int = 0
    """The level of the hierarchy whose labels are named; 0 for values."""
    ranges: tuple[tuple[Fraction, Fraction], ...] = ()
    """Ends of ranges, both included, in rising order."""


def load(path: Path | str) -> dict[str, Any]:
    """Read a file of marginals, YAML or JSON; every scalar stays the text that was typed."""
    from shoal.policy.text.reading import read_yaml

    where = Path(path)
    try:
        text = read_plain_file(where, LARGEST_YAML, UsageError).decode("utf-8-sig")
    except OSError as error:
        raise UsageError("the marginals cannot be read", came=f"{where} ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UsageError("the marginals are not UTF-8 text", came=where) from None
    tree = read_yaml(text, str(where)).tree if text.strip() else None
    if not isinstance(tree, dict):
        raise UsageError("the marginals name no attribute", came=where, allowed=f"attribute: {_FORMS}")
    return tree


def check_marginals(schema: Schema, marginals: Marginals | None) -> dict[str, PublicMarginal]:
    """Each marginal held against the schema; an error that names the attribute where one does not fit."""
    names = [attribute.name for attribute in schema.published]
    found: dict[str, PublicMarginal] = {}
    for name, asked in (marginals or {}).items():
        if name not in names:
            raise UsageError("marginals of no published attribute", came=name, allowed=", ".join(names))
        found[name] = _marginal(schema[name], asked)
    return found


def _marginal(attribute: Attribute, asked: object) -> PublicMarginal:
    where = f"marginals of '{attribute.name}'"
    if isinstance(asked, Mapping) and asked:
        return _of_values(attribute, asked, where)
    if isinstance(asked, Sequence) and not isinstance(asked, str) and asked:
        return _of_ranges(attribute, asked, where)
    raise UsageError(f"{where}: no shares", came=spell(asked), allowed=_FORMS)


def _of_values(attribute: Attribute, asked: Mapping[Any, Any], where: str) -> PublicMarginal:
    texts = [MISSING if key is None else spell(key) for key in asked]
    if len(set(texts)) != len(texts):
        raise UsageError(f"{where}: a value is named twice", fix="name each value once")
    shares = dict(zip(texts, _shares(list(asked.values()), where), strict=True))
    missing = shares.pop(MISSING, 0.0)
    if missing > 0 and attribute.missing is Missing.REFUSE:
        raise UsageError(f"{where}: a share for missing values", came=MISSING, fix="the policy refuses missing values")
    named, given = tuple(shares), np.array(list(shares.values()))
    domain = attribute.domain
    if isinstance(domain, Interval):
        at = [_point(attribute, text, where) for text in named]
        order = sorted(range(len(at)), key=lambda i: at[i])
        return PublicMarginal(given[order], missing, ranges=tuple((at[i], at[i]) for i in order))
    if isinstance(domain, Pattern):
        inside = domain.inside(np.array(named, dtype=object)) if named else np.ones(0, bool)
        _refuse_strange([text for text, fits in zip(named, inside, strict=True) if not fits], attribute, where)
        return PublicMarginal(given, missing, named)
    return PublicMarginal(given, missing, named, _level(attribute, named, where))


def _level(attribute: Attribute, named: tuple[str, ...], where: str) -> int:
    """The finest level whose labels all of them are; 0 for values."""
    known = attribute.domain.index if isinstance(attribute.domain, Values) else {"false": 0, "true": 1}
    strange = [text for text in named if text not in known]
    if strange and attribute.hierarchy is not None:
        for at, level in enumerate(attribute.hierarchy.levels):
            if isinstance(level, GroupLevel) and set(named) <= {level.table.get(value) for value in known}:
                return at
    _refuse_strange(strange, attribute, where)
    return 0


def _of_ranges(attribute: Attribute, asked: Sequence[Any], where: str) -> PublicMarginal:
    if not attribute.type.numeric or not isinstance(attribute.domain, Interval):
        raise UsageError(
            f"{where}: ranges need numbers, dates or times between two ends",
            came=f"type {attribute.type.value}",
            allowed="{value: share, ...}",
        )
    if any(not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 3 for row in asked):
        raise UsageError(f"{where}: a range cannot be read", allowed="[low, high, share], both ends included")
    rows = [(_point(attribute, low, where), _point(attribute, high, where), share) for low, high, share in asked]
    shares = _shares([share for *_, share in rows], where)
    order = sorted(range(len(rows)), key=lambda i: rows[i][:2])
    ranges = tuple(rows[i][:2] for i in order)
    apart = 1 if attribute.type.discrete else 0
    backwards = any(low > high for low, high in ranges)
    if backwards or any(after[0] < before[1] + apart for before, after in pairwise(ranges)):
        both = "both ends are included" if apart else "one may begin where the last ends"
        raise UsageError(f"{where}: ranges run backwards or into each other", fix=f"low <= high; {both}")
    return PublicMarginal(np.array([shares[i] for i in order]), 0.0, ranges=ranges)


def _point(attribute: Attribute, value: object, where: str) -> Fraction:
    domain = attribute.domain
    assert domain is not None  # noqa: S101 - both callers have asked
    try:
        at = point(attribute.type, value)
    except PolicyError as error:
        raise UsageError(f"{where}: {error.wrong}", came=error.came, allowed=error.allowed) from None
    line = Line.of(attribute.type, domain)
    if not line.low <= at <= line.high:
        _refuse_strange([spell(value)], attribute, where)
    return at


def _refuse_strange(strange: Sequence[str], attribute: Attribute, where: str) -> None:
    if strange:
        allowed = attribute.domain.words() if attribute.domain is not None else "false, true"
        fix = "name values of the domain, or labels of one level of its hierarchy"
        raise DomainError(f"{where}: outside its domain", came=strange[0], allowed=allowed, fix=fix)


def _shares(given: Sequence[object], where: str) -> list[float]:
    """Shares as numbers that add up to one."""
    found: list[Fraction] = []
    for value in given:
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float | Fraction):
                raise TypeError  # noqa: TRY301 - one message for every way of being none
            found.append(exact(value.strip() if isinstance(value, str) else value))
        except (ValueError, TypeError, ArithmeticError):
            allowed = "a number from 0 up"
            raise ParameterError(f"{where}: a share is not a number", came=spell(value), allowed=allowed) from None
    if any(share < 0 for share in found):
        raise ParameterError(f"{where}: a negative share", came=float(min(found)), allowed="a number from 0 up")
    total = sum(found, Fraction(0))
    if not total:
        raise ParameterError(f"{where}: all shares are zero", fix="at least one must be above 0")
    return [float(share / total) for share in found]
