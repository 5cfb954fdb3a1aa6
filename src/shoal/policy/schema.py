"""From what a policy writes to what it means: attributes with their domains and hierarchies, and everything wrong in them.

Texts of the policy become numbers, dates and times by the type of their attribute.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import pathlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from pydantic_core import PydanticCustomError

from shoal.data.date_format import DateFormat
from shoal.data.domain import Domain, Interval, Pattern, Values
from shoal.data.hierarchy import build, suggest
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import MISSING, SUPPRESSED
from shoal.data.plain_file import LARGEST_HIERARCHY, LARGEST_POPULATION, read_plain_file
from shoal.data.schema import Attribute, Outside, Role, Type
from shoal.errors import PolicyError, ShoalError
from shoal.guarantee.rounding import exact_text
from shoal.policy.model.attribute import AttributeModel, DomainModel, HierarchyModel
from shoal.policy.model.base import exact_number, whole_number
from shoal.policy.model.release import ReleaseModel
from shoal.policy.text.problem import Path, Problem, excerpt

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?", re.ASCII)

MOST_LABELS_IN_ALL = 500_000
"""The most labels of all levels of all attributes: building them takes time and memory before a row is read."""
BOOLEAN = Values(("false", "true"))
"""The domain of every boolean."""


def domain_of(asked: DomainModel | None, kind: Type) -> Domain | None:
    """The domain that a policy declares, or None; PolicyError where type and domain do not fit."""
    if kind is Type.BOOLEAN:
        if asked is not None:
            raise PolicyError("a boolean is true or false", fix="leave the domain out")
        return BOOLEAN
    if asked is None:
        return None
    if asked.interval is not None:
        return _interval(asked.interval, kind)
    if asked.values is not None:
        return _values(asked.values, kind)
    if kind is not Type.TEXT:
        raise PolicyError(f"a pattern for type {kind.value}", allowed=_ALLOWED[kind], fix="patterns are for type: text")
    return Pattern(asked.pattern or "", asked.length)


def _interval(ends: tuple[str, ...], kind: Type) -> Interval:
    if kind not in _READERS:
        raise PolicyError(f"an interval for type {kind.value}", allowed=_ALLOWED[kind])
    if len(ends) != 2:
        fix = "for single values write {values: [...]}" if kind in _LISTED else None
        raise PolicyError("an interval has two ends", came=f"{len(ends)} values", allowed=_ALLOWED[kind], fix=fix)
    low, high = (value_of(end, kind) for end in ends)
    _refuse_last_day(high, kind)
    return Interval(low, high)


def _refuse_last_day(last: Any, kind: Type) -> None:
    """Intervals of days are named by the day after their last, and the calendar has none after this one."""
    if kind is Type.DATE and last == dt.date.max:
        raise PolicyError(
            "the last day that there is, which no interval can end with", came=last, allowed="up to 9999-12-30"
        )


def _values(values: tuple[str, ...], kind: Type) -> Values:
    if kind in _READERS and kind not in _LISTED:
        raise PolicyError(f"a list of values for type {kind.value}", allowed=_ALLOWED[kind])
    if kind in _LISTED:
        found = [value_of(value, kind) for value in values]
        _refuse_last_day(max(found, default=None), kind)
        values = tuple(map(str, found))
    if twice := [value for value, count in Counter(values).items() if count > 1]:
        raise PolicyError("a value is listed twice", came=excerpt(twice[0]), fix="list each value once")
    return Values(values)


def value_of(text: str, kind: Type) -> Any:
    """One number, date or time from its text; dates in the ISO form alone.

    >>> value_of("2025-03-01", Type.DATE)
    datetime.date(2025, 3, 1)
    """
    try:
        return _READERS[kind](text.strip())
    except (PydanticCustomError, ValueError, OverflowError):
        raise PolicyError(f"not a value of type {kind.value}", came=excerpt(text), allowed=_ALLOWED[kind]) from None


def canonical_value(text: str, kind: Type) -> str:
    """A number, date or time in its one spelling: `1_000` and `1e3` are `1000` for a decimal."""
    value = value_of(text, kind)
    if kind is Type.DECIMAL:
        return exact_text(exact_number(text))
    return value.isoformat(sep=" ") if kind is Type.DATETIME else str(value)


def canonical_domain(domain: Domain, asked: DomainModel | None, kind: Type) -> Any:
    """A domain in its one form: the same for the same set of values, however it was typed."""
    if isinstance(domain, Interval):
        ends = asked.interval if asked is not None and asked.interval is not None else (domain.low, domain.high)
        return [canonical_value(str(end), kind) for end in ends]
    if isinstance(domain, Values):
        return {"values": list(domain.values) if kind is Type.ORDINAL else sorted(domain.values)}
    if isinstance(domain, Pattern):
        return {"pattern": domain.pattern} | ({"length": str(domain.length)} if domain.length else {})
    raise PolicyError("a domain of an unknown kind", came=type(domain).__name__)


def canonical_labels(asked: AttributeModel, kind: Type) -> dict[str, str]:
    """What values mean, in one form: each value in its one spelling, in the order of the alphabet."""
    spelled = {
        value if value in asked.missing_values or kind not in _READERS else _canonical_or_text(value, kind): label
        for value, label in (asked.value_labels or {}).items()
    }
    return {value: spelled[value] for value in sorted(spelled)}


def is_declared(text: str, attribute: Attribute) -> bool:
    """Whether a text is a value that may occur in a column; where nothing is declared, a value of its type."""
    value: Any = text
    if attribute.type in _READERS:
        try:
            value = value_of(text, attribute.type)
        except PolicyError:
            return False
    if attribute.domain is None:
        return True
    if isinstance(attribute.domain, Interval):
        return bool(attribute.domain.low <= value <= attribute.domain.high)
    return bool(attribute.domain.inside(np.array([str(value)], dtype=object))[0])


def _canonical_or_text(text: str, kind: Type) -> str:
    """A value in its one spelling; a text that is none, which can only be a missing code of the file, as it is."""
    try:
        return canonical_value(text, kind)
    except PolicyError:
        return text


def _integer(text: str) -> int:
    number = whole_number(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(text)
    return number


def _decimal(text: str) -> float:
    number: Fraction = exact_number(text)
    return float(number)


def _date(text: str) -> dt.date:
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    return dt.date.fromisoformat(text)


def _datetime(text: str) -> dt.datetime:
    if not _TIME.fullmatch(text):
        raise ValueError(text)
    return dt.datetime.fromisoformat(text)


_READERS: dict[Type, Callable[[str], Any]] = {
    Type.INTEGER: _integer,
    Type.DECIMAL: _decimal,
    Type.DATE: _date,
    Type.DATETIME: _datetime,
}
_LISTED = (Type.INTEGER, Type.DATE)
"""Types with an order whose single values can be listed."""

_ALLOWED = {
    Type.INTEGER: "[low, high] or {values: [...]}, in whole numbers",
    Type.DECIMAL: "[low, high], in numbers",
    Type.DATE: "[first, last], in dates such as 2025-03-01",
    Type.DATETIME: "[first, last], in times such as 2025-03-01 14:00, without a zone",
    Type.CATEGORY: "a list of values",
    Type.ORDINAL: "a list of values in their order",
    Type.TEXT: "{pattern: ...} or a list of values",
}


T = TypeVar("T")

_UNREAD = (Role.IDENTIFIER, Role.DROP)


def attributes_of(
    asked: Mapping[str, AttributeModel], folder: pathlib.Path | None, problems: list[Problem]
) -> dict[str, Attribute]:
    """Each attribute that means something; what is wrong with the others goes into `problems`."""
    found: dict[str, Attribute] = {}
    labels = 0
    for name, one in asked.items():
        attribute = _attribute(name, one, folder, problems)
        if attribute is None:
            continue
        found[name] = attribute
        levels = attribute.hierarchy.levels if attribute.hierarchy is not None else ()
        labels += sum(len(level.labels or ()) for level in levels)
        if labels > MOST_LABELS_IN_ALL:
            wrong = "the hierarchies up to this one have too many labels"
            allowed = f"at most {MOST_LABELS_IN_ALL:,} in a policy"
            problems.append(
                Problem(("attributes", name, "hierarchy"), wrong, f"{labels:,}", allowed, "begin with coarser levels")
            )
            break
    return found


def _attribute(
    name: str, asked: AttributeModel, folder: pathlib.Path | None, problems: list[Problem]
) -> Attribute | None:
    path: Path = ("attributes", name)
    before = len(problems)
    kind = asked.type or (Type.TEXT if asked.role in _UNREAD else None)
    if kind is None:
        words = ", ".join(member.value for member in Type)
        problems.append(Problem(path, "the key 'type' is missing", allowed=words))
        return None
    if asked.outside is Outside.CLAMP and not kind.numeric:
        allowed = "outside: error or suppress"
        problems.append(Problem((*path, "outside"), "only numbers, dates and times can be clamped", "clamp", allowed))
    if asked.role is Role.WEIGHT and kind not in (Type.INTEGER, Type.DECIMAL):
        problems.append(Problem((*path, "type"), "a survey weight is a number", kind.value, "integer or decimal"))
    domain = _attempt((*path, "domain"), problems, lambda: domain_of(asked.domain, kind))
    if asked.domain is not None and domain is None:
        return None  # what the hierarchy covers is not known
    hierarchy = None
    if (wanted := asked.hierarchy) is not None:
        hierarchy = _attempt((*path, "hierarchy"), problems, lambda: _hierarchy(wanted, kind, domain, folder))
    if asked.is_published:
        problems.extend(_reserved_labels(path, domain, hierarchy))
    problems.extend(_spelling(path, asked, kind))
    if len(problems) > before:
        return None
    domain = hierarchy.domain if domain is None and hierarchy is not None else domain
    return Attribute(
        name,
        asked.role,
        kind,
        domain,
        hierarchy,
        asked.missing,
        asked.outside,
        missing_values=tuple(sorted(asked.missing_values)),
        format=None if asked.format is None else DateFormat(asked.format),
        decimal=asked.decimal,
    )


def _spelling(path: Path, asked: AttributeModel, kind: Type) -> Iterator[Problem]:
    """A date format belongs to dates and times, a decimal mark to decimals."""
    if asked.decimal is not None and kind is not Type.DECIMAL:
        yield Problem(
            (*path, "decimal"),
            "a decimal mark for a column without decimals",
            kind.value,
            "type: decimal",
            "leave it out",
        )
    if asked.format is None:
        return
    if kind not in (Type.DATE, Type.DATETIME):
        fix = "leave it out, or declare type: date or type: datetime"
        yield Problem((*path, "format"), "a date format for a column without dates", kind.value, None, fix)
    elif kind is Type.DATE and DateFormat(asked.format).has_time:
        fix = "declare type: datetime, or leave the time of day out of the form"
        yield Problem((*path, "format"), "dates have no time of day", asked.format, None, fix)


def _reserved_labels(path: Path, domain: Domain | None, hierarchy: Hierarchy | None) -> Iterator[Problem]:
    """No value and no label looks like the label of a missing value, and no value like the label of the whole domain."""
    fix = "spell it differently in the table; to count it as missing, leave it out and set outside: suppress"
    listed = domain if domain is not None else hierarchy.domain if hierarchy is not None else None
    for word, what in ((MISSING, "a missing value"), (SUPPRESSED, "the whole domain")):
        if isinstance(listed, Values) and word in listed.index:
            where = "domain" if domain is not None else "hierarchy"
            yield Problem((*path, where), f"a value that is the label of {what}", word, "any other text", fix)
    for number, level in enumerate(hierarchy.levels if hierarchy is not None else ()):
        if MISSING in (level.labels or ()):
            wrong = f"level {number} has a label that is the label of a missing value"
            yield Problem((*path, "hierarchy"), wrong, MISSING, "any other text")


def _hierarchy(asked: HierarchyModel, kind: Type, domain: Domain | None, folder: pathlib.Path | None) -> Hierarchy:
    """The hierarchy over its domain; one that lists every value gives the domain itself."""
    spec = spec_of(asked, kind, domain)
    covered = domain if domain is not None else build.domain_of(spec, kind, folder)
    if covered is None:
        raise PolicyError("no domain that the levels could cover", fix="declare the domain beside the hierarchy")
    return build.hierarchy(spec, kind, covered, folder)


def spec_of(asked: HierarchyModel, kind: Type, domain: Domain | None) -> dict[str, Any]:
    """The kind and its options, with numbers, dates and times in their one spelling."""
    spec = asked.spec()
    if asked.auto:
        found = suggest.suggest(kind, domain)
        if found is None:
            raise PolicyError("type and domain do not say what is near what", came="auto", fix="declare a hierarchy")
        spec = HierarchyModel.model_validate(_texts(found)).spec()
    if kind.numeric:
        for option in ("origin", "below", "above", "cuts"):
            if option in spec:
                spec[option] = _points(spec[option], kind)
    return spec


def _points(tree: Any, kind: Type) -> Any:
    if isinstance(tree, list):
        return [_points(item, kind) for item in tree]
    if isinstance(tree, str):
        return canonical_value(tree, kind)
    raise PolicyError("not a list of values", came=excerpt(tree), allowed="[a, b, c]")


def file_of(asked: HierarchyModel, folder: pathlib.Path | None) -> pathlib.Path | None:
    """The file that the hierarchy reads, if it reads one."""
    name = asked.file if asked.file is not None else asked.taxonomy
    return (folder or pathlib.Path()) / name if isinstance(name, str) else None


def hashes_of(asked: Mapping[str, AttributeModel], folder: pathlib.Path | None) -> dict[str, str]:
    """The hash of the file that each hierarchy was read from, by the attribute's name."""
    files = {name: file_of(one.hierarchy, folder) for name, one in asked.items() if one.hierarchy is not None}
    return {
        name: hashlib.sha256(read_plain_file(file, LARGEST_HIERARCHY)).hexdigest()
        for name, file in files.items()
        if file is not None
    }


def population_file(asked: ReleaseModel | None, folder: pathlib.Path | None) -> pathlib.Path | None:
    """The file that k-map is counted on, if k-map is asked for."""
    if asked is None or asked.criteria is None or asked.criteria.k_map is None:
        return None
    return (folder or pathlib.Path()) / asked.criteria.k_map.population


def hash_of_population(file: pathlib.Path) -> str:
    """The hash of the file that k-map is counted on."""
    return hashlib.sha256(read_plain_file(file, LARGEST_POPULATION)).hexdigest()


def _texts(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {key: _texts(item) for key, item in tree.items()}
    return [_texts(item) for item in tree] if isinstance(tree, list) else str(tree)


def _attempt(path: Path, problems: list[Problem], build_it: Callable[[], T]) -> T | None:
    """What is built, or None and a problem at the path; a file that misbehaves is a problem like any other."""
    try:
        return build_it()
    except ShoalError as error:
        problems.append(Problem.of(path, error))
    except (OSError, ValueError, ArithmeticError, RecursionError) as error:
        problems.append(Problem(path, "it cannot be built", f"{type(error).__name__}: {excerpt(error)}"))
    return None
