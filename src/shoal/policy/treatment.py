"""What the treatments of a policy mean: their files read, every value held against its domain, and their one form in a lock."""

from __future__ import annotations

import csv
import io
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

from pydantic_core import PydanticCustomError

from shoal.data.domain import Domain, Interval, Line, Values, shorten
from shoal.data.hierarchy.level import MISSING
from shoal.data.plain_file import LARGEST_HIERARCHY, read_plain_file
from shoal.data.schema import Attribute, Missing, Role
from shoal.data.type import Type, number, point
from shoal.errors import PolicyError, ShoalError
from shoal.guarantee.rounding import exact_text
from shoal.policy.model.attribute import AttributeModel
from shoal.policy.model.base import exact_number, whole_number
from shoal.policy.model.method import Method, no_attribute
from shoal.policy.model.release import ReleaseModel
from shoal.policy.model.treatment import PramModel, TreatmentModel
from shoal.policy.schema import canonical_value
from shoal.policy.text.problem import Path, Problem, excerpt

MOST_CATEGORIES = 1000
"""Values of an attribute whose matrix is given cell by cell."""
CODED = (Type.INTEGER, Type.DECIMAL, Type.DATE, Type.DATETIME, Type.ORDINAL)
"""Types whose values have an order, so that there is an above and a below."""
LISTED = (Type.CATEGORY, Type.ORDINAL, Type.TEXT, Type.BOOLEAN)
"""Types whose values are words, and can be listed one by one."""


def settle_treatments(
    asked: Sequence[TreatmentModel],
    models: Mapping[str, AttributeModel],
    attributes: Mapping[str, Attribute],
    folder: pathlib.Path | None,
    problems: list[Problem],
) -> tuple[TreatmentModel, ...]:
    """The treatments with their files read and their values in one spelling; what is wrong goes into `problems`."""
    found: dict[int, TreatmentModel] = {}
    for place, one in enumerate(asked):
        path: Path = ("treatments", place, one.kind)
        wrong = [*_names(path, one, models)]
        if not wrong and all(name in attributes for name in one.attributes):
            settled = _settled(path, one, attributes, folder, wrong)
            found |= {} if wrong else {place: settled}
        problems += wrong
    problems += _crossed(found, attributes)
    return tuple(found.values())


def refuse_dependence(asked: Sequence[TreatmentModel], method: Method) -> Iterator[Problem]:
    """Before a method that pays for differential privacy every step looks at one record alone."""
    if method.plan != "differential":
        return
    for place, one in enumerate(asked):
        if one.depends_on_others:
            fix = "leave it out, or take a method without a differential promise"
            if one.population_threshold is not None:
                fix = f"name a public population file in counts; or {fix}"
            yield Problem(
                ("treatments", place, one.kind),
                f"what becomes of a record depends on other records, and theorem record-wise-treatment, by which method "
                f"{method.name} keeps its promise for the table before this step, needs steps that look at one record alone",
                None,
                "top, bottom, round, random_round, pram, or population_threshold with counts",
                fix,
            )


def refuse_population(
    asked: Sequence[TreatmentModel], release: ReleaseModel, models: Mapping[str, AttributeModel]
) -> Iterator[Problem]:
    """Classes are not counted on a table of the population by values that a step has changed in one of the two tables alone."""
    if release.criteria is None or release.criteria.k_map is None:
        return
    for place, one in enumerate(asked):
        names = [name for name in one.attributes if name in models and models[name].role is Role.QUASI]
        if names:
            yield Problem(
                ("treatments", place, one.kind),
                "not together with release.criteria.k_map: treated values would be counted on a population that is not treated",
                ", ".join(names),
                "steps that change no quasi-identifier",
                "leave out the step or k_map",
            )


def lock_treatments(asked: Sequence[TreatmentModel]) -> list[dict[str, Any]]:
    """The steps in their order as a lock holds them, everything in it: nothing is left in a file."""
    return [one.model_dump(mode="json", exclude_none=True) for one in asked]


def _names(path: Path, one: TreatmentModel, models: Mapping[str, AttributeModel]) -> Iterator[Problem]:
    """Steps name published attributes, each once; the column that names people is never one of them."""
    seen: set[str] = set()
    for name in one.attributes:
        if name not in models:
            yield no_attribute(path, name, models)
        elif not models[name].is_published:
            yield Problem(path, f"attribute '{name}' is never published", models[name].role.value, fix="leave it out")
        elif name in seen:
            yield Problem(path, "an attribute is named twice", name, fix="name it once")
        seen.add(name)
    for name in one.swap.within if one.swap is not None else ():
        if name not in models:
            yield no_attribute((*path, "within"), name, models)
        elif not models[name].is_published:
            role = models[name].role.value
            yield Problem((*path, "within"), f"attribute '{name}' is never published", role, fix="leave it out")
        elif name in seen:
            yield Problem((*path, "within"), "an attribute is named twice", name, fix="name it once")
        seen.add(name)


def _settled(
    path: Path,
    one: TreatmentModel,
    attributes: Mapping[str, Attribute],
    folder: pathlib.Path | None,
    problems: list[Problem],
) -> TreatmentModel:
    """One step in its one form; as it is where something is wrong."""
    settlers: dict[str, Callable[[Attribute, Any], Any]] = {
        "top": _coded,
        "bottom": _coded,
        "round": _rounded,
        "random_round": _randomly_rounded,
    }
    asked = getattr(one, one.kind)
    if isinstance(asked, dict):
        values: dict[str, Any] = {}
        for name in sorted(asked):
            values[name] = asked[name]
            try:
                values[name] = settlers[one.kind](attributes[name], asked[name])
            except ShoalError as error:
                problems.append(Problem.of((*path, name), error))
        return one.model_copy(update={one.kind: values})
    try:
        if one.population_threshold is not None:
            threshold = one.population_threshold
            counts = _counts(threshold.counts, attributes[threshold.attribute], folder)
            _check_threshold(attributes[threshold.attribute], threshold.other, counts, threshold.least)
            return one.model_copy(update={"population_threshold": threshold.model_copy(update={"counts": counts})})
        if one.pram is not None:
            return one.model_copy(update={"pram": _pram(one.pram, attributes[one.pram.attribute], folder)})
    except (ShoalError, PydanticCustomError, OSError, UnicodeDecodeError, csv.Error) as error:
        problems.append(_file_problem(path, error))
    return one


def _file_problem(path: Path, error: Exception) -> Problem:
    if isinstance(error, ShoalError):
        return Problem.of(path, error)
    if isinstance(error, PydanticCustomError):
        said = error.context or {}
        return Problem(path, f"a cell of its file: {said.get('wrong')}", None, said.get("allowed"), said.get("fix"))
    why = getattr(error, "strerror", None) or "it is no UTF-8 text"
    return Problem(path, "a file cannot be read", excerpt(f"{getattr(error, 'filename', None) or ''} ({why})"))


def _crossed(found: Mapping[int, TreatmentModel], attributes: Mapping[str, Attribute]) -> Iterator[Problem]:
    """A bottom code above a top code would make one value of all."""
    tops: dict[str, Fraction] = {}
    for one in found.values():
        for name, code in (one.top or {}).items():
            tops[name] = min(rank(attributes[name], code), tops.get(name, rank(attributes[name], code)))
    for place, one in found.items():
        for name, code in (one.bottom or {}).items():
            if name in tops and rank(attributes[name], code) >= tops[name]:
                yield Problem(
                    ("treatments", place, "bottom", name),
                    "the bottom code is not below the top code, so that one value is left",
                    code,
                    "below the top code",
                )


# --- numbers, dates, and values in an order ----------------------------------------------------------------------------


def _refuse_type(attribute: Attribute, allowed: Sequence[Type], fix: str | None = None) -> None:
    if attribute.type not in allowed:
        raise PolicyError(
            f"attribute '{attribute.name}': not for values of this type",
            came=attribute.type.value,
            allowed=", ".join(kind.value for kind in allowed),
            fix=fix,
        )


def rank(attribute: Attribute, text: str) -> Fraction:
    """Where a declared value lies in the order of its attribute."""
    domain = attribute.domain
    if attribute.type is Type.ORDINAL and isinstance(domain, Values):
        return Fraction(domain.index[text])
    return point(attribute.type, text)


def _coded(attribute: Attribute, text: str) -> str:
    """The code of the extremes: a value of the domain, in its one spelling."""
    _refuse_type(attribute, CODED)
    domain = attribute.domain
    if attribute.type is Type.ORDINAL:
        if not isinstance(domain, Values):
            raise PolicyError(f"attribute '{attribute.name}': its order is not declared", fix="list its values")
        inside = text in domain.index
    else:
        text = canonical_value(text, attribute.type)
        at, line = point(attribute.type, text), None if domain is None else Line.of(attribute.type, domain)
        inside = line is None or (line.low <= at <= line.high and (line.listed is None or at in line.listed))
    if not inside:
        words = "a declared value" if domain is None else domain.words()
        raise PolicyError("a code outside the domain", came=excerpt(text), allowed=words)
    return text


def multiples(domain: Domain | None, base: Fraction) -> tuple[int | None, int | None]:
    """The first and the last k for which k times the base lies in a domain of numbers; None where it has no end."""
    if not isinstance(domain, Interval):
        return None, None
    return ceil(number(domain.low) / base), floor(number(domain.high) / base)


def _rounded(attribute: Attribute, base: Fraction) -> Fraction:
    _refuse_type(attribute, (Type.INTEGER, Type.DECIMAL), "dates are made coarser by a hierarchy")
    if attribute.type is Type.INTEGER and base.denominator != 1:
        raise PolicyError("whole numbers are rounded to a whole base", came=exact_text(base), allowed="a whole number")
    _refuse_listed(attribute)
    if attribute.type is Type.INTEGER and base >= 2**62:
        raise PolicyError("a base that no value reaches", came=exact_text(base), allowed="below 2^62")
    first, last = multiples(attribute.domain, base)
    if first is not None and last is not None and first > last:
        raise PolicyError(
            "no multiple of the base lies in the domain",
            came=exact_text(base),
            allowed=attribute.domain.words() if attribute.domain is not None else None,
        )
    return base


def _randomly_rounded(attribute: Attribute, base: int) -> int:
    _refuse_type(attribute, (Type.INTEGER,), "count in whole units, such as cents, or use round")
    _refuse_listed(attribute)
    if not isinstance(attribute.domain, Interval):
        raise PolicyError(
            f"attribute '{attribute.name}': no domain with two ends, inside which the rounded value has to stay",
            fix="declare domain: [low, high]",
        )
    if attribute.domain.low == attribute.domain.high or base >= 2**62:
        raise PolicyError("nothing to round", came=str(base), allowed=attribute.domain.words())
    return base


def _refuse_listed(attribute: Attribute) -> None:
    if isinstance(attribute.domain, Values):
        raise PolicyError(
            f"attribute '{attribute.name}': its domain lists single values, and a multiple may not be among them",
            came=attribute.domain.words(),
            allowed="domain: [low, high]",
        )


# --- values that are words ----------------------------------------------------------------------------------------------


def categories(attribute: Attribute) -> tuple[str, ...]:
    """The values that a matrix is about: those of the domain, and `(missing)` where a value may be missing."""
    domain = attribute.domain
    own = domain.values if isinstance(domain, Values) else ()
    return (*own, MISSING) if attribute.missing is Missing.VALUE else own


def _refuse_unlisted(attribute: Attribute) -> None:
    _refuse_type(attribute, LISTED, "declare it as a category whose values are listed")
    if not isinstance(attribute.domain, Values):
        raise PolicyError(f"attribute '{attribute.name}': its values are not listed", fix="declare domain: [a, b, c]")


def _counts(asked: Any, attribute: Attribute, folder: pathlib.Path | None) -> dict[str, int] | None:
    """The population of every value of the domain, in the order of the alphabet."""
    _refuse_unlisted(attribute)
    if asked is None:
        return None
    if isinstance(asked, str):
        rows = _read_cells(asked, folder)
        asked = {}
        for row in rows[1:]:
            if len(row) != 2 or row[0] in asked:
                raise PolicyError(
                    "a population file has two columns, a value and its population, and each value once",
                    came=f"line {len(asked) + 2}",
                )
            asked[row[0]] = whole_number(row[1])
    domain = attribute.domain
    values = domain.values if isinstance(domain, Values) else ()
    lacking = [value for value in values if value not in asked]
    if lacking:
        raise PolicyError(
            f"no population for {len(lacking)} of the {len(values)} declared values",
            came=shorten(lacking),
            fix="add them; what `other` names may have any",
        )
    return {value: asked[value] for value in sorted(values)}


def _check_threshold(attribute: Attribute, other: str | None, counts: Mapping[str, int] | None, least: int) -> None:
    domain = attribute.domain
    if other is None and attribute.missing is not Missing.VALUE:
        raise PolicyError(
            f"attribute '{attribute.name}': values below the threshold become missing, which the policy refuses",
            fix="name a declared value in other, or set missing: value",
        )
    if other is not None and isinstance(domain, Values) and other not in domain.index:
        raise PolicyError(
            "what stands for small populations is no declared value",
            came=excerpt(other),
            allowed=domain.words(),
            fix="list it in the domain",
        )
    if counts is not None and all(count < least for value, count in counts.items() if value != other):
        raise PolicyError("every value is below the threshold, so that none is left", came=f"least: {least}")


def _pram(asked: PramModel, attribute: Attribute, folder: pathlib.Path | None) -> PramModel:
    _refuse_unlisted(attribute)
    values = categories(attribute)
    if asked.keep is not None:
        draws = asked.missing == "draw"
        if draws and MISSING not in values:
            raise PolicyError(
                f"attribute '{attribute.name}': no value is missing, so none can be drawn", fix="leave `missing` out"
            )
        if len(values) - (MISSING in values and not draws) < 2:
            raise PolicyError("there is no other value that a value could become", came=shorten(values))
        return asked.model_copy(update={"missing": asked.missing or "stay"})
    table: Any = _read_matrix(asked.matrix, folder) if isinstance(asked.matrix, str) else asked.matrix
    return asked.model_copy(update={"matrix": _checked_matrix(table, values)})


def _checked_matrix(
    table: Mapping[str, Mapping[str, Fraction]], values: tuple[str, ...]
) -> dict[str, dict[str, Fraction]]:
    """The matrix over exactly these values, its noughts left out; PolicyError where a row is missing or does not sum to 1."""
    if len(values) > MOST_CATEGORIES:
        raise PolicyError(
            "a matrix of too many values",
            came=f"{len(values):,}",
            allowed=f"at most {MOST_CATEGORIES:,}",
            fix="use keep",
        )
    known = set(values)
    strange = sorted({*table, *(to for row in table.values() for to in row)} - known)
    if strange:
        raise PolicyError("the matrix names what is not in the domain", came=shorten(strange), allowed=shorten(values))
    lacking = [value for value in values if value not in table]
    if lacking:
        raise PolicyError(
            f"the matrix has no row for {len(lacking)} of {len(values)} values",
            came=shorten(lacking),
            fix=f"add a row for each value, and one for {MISSING} where values may be missing",
        )
    for value, row in table.items():
        total = sum(row.values(), start=Fraction(0))
        if total != 1:
            raise PolicyError(
                f"the row of '{excerpt(value)}' does not sum to 1", came=exact_text(total), fix="write thirds as 1/3"
            )
    return {value: {to: table[value][to] for to in sorted(table[value]) if table[value][to]} for value in sorted(table)}


def _read_matrix(name: str, folder: pathlib.Path | None) -> dict[str, dict[str, Fraction]]:
    rows = _read_cells(name, folder)
    targets = rows[0][1:]
    found: dict[str, dict[str, Fraction]] = {}
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]) or row[0] in found or len(set(targets)) != len(targets):
            raise PolicyError(
                "a matrix has a header line of values and a row for each value, each once", came=f"line {line}"
            )
        cells = [exact_number(cell, "a probability, such as 0.8 or 1/3") for cell in row[1:]]
        if any(not 0 <= cell <= 1 for cell in cells):
            raise PolicyError("not a probability", came=f"line {line}", allowed="0 to 1")
        found[row[0]] = dict(zip(targets, cells, strict=True))
    return found


def _read_cells(name: str, folder: pathlib.Path | None) -> list[list[str]]:
    """The lines of a small CSV file with comma or semicolon, by what its header line has."""
    text = read_plain_file((folder or pathlib.Path()) / name, LARGEST_HIERARCHY).decode("utf-8-sig")
    first = text.partition("\n")[0]
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=";" if ";" in first else ",") if row]
    if len(rows) < 2:
        raise PolicyError("a file without rows", came=name, fix="a header line, and a line for each value")
    return rows
