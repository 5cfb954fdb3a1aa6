"""What a codebook, a public table or an old hierarchy says of a column; it comes before what was read off the column itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.data.codebook import Codebook, ColumnDescription
from shoal.data.domain import Interval
from shoal.data.hierarchy.suggest import suggest
from shoal.data.schema import Role
from shoal.data.type import Type, point, value_at
from shoal.draft.codes.scales import EDUCATION, SCALES
from shoal.draft.codes.table import Labels
from shoal.draft.profile import GAPS, ColumnProfile
from shoal.draft.proposal import (
    RESERVED,
    Origin,
    Proposal,
    ValueGroups,
    goes_into_file,
    groups_of,
    is_writable,
    propose,
)
from shoal.draft.recognize.column import Recognition
from shoal.engine.read.storage import Storage
from shoal.errors import ShoalError

MOST_LABELS = 200
"""Values of a column whose meanings are written into the policy; a longer list is left to the codebook."""


_LISTED = (Type.CATEGORY, Type.ORDINAL, Type.TEXT, Type.INTEGER)
"""Types whose values can be listed; the values of dates are seldom."""


@dataclass(frozen=True)
class Description:
    """What is said of one column, and by whom: the sources in the order in which they are believed."""

    column: ColumnDescription
    source: str


def describe(name: str, books: Iterable[Codebook | None]) -> Description | None:
    """What several codebooks say of a column, each of them where those before are silent; None where none says anything."""
    found = [
        (described, book.source) for book in books if book is not None and (described := book.get(name)) is not None
    ]
    if not found:
        return None
    column, source = found[0]
    for other, _ in found[1:]:
        column = replace(
            column,
            label=column.label or other.label,
            type=column.type or other.type,
            values=column.values or other.values,
            missing=column.missing or tuple(each for each in other.missing if not _lists(column, each.value)),
            interval=column.interval or other.interval,
            format=column.format or other.format,
        )
    return Description(column, source)


def _lists(column: ColumnDescription, value: str) -> bool:
    return any(each.value == value for each in column.values or ())


def apply_description(profile: ColumnProfile, found: Recognition, said: Description) -> tuple[Recognition, Proposal]:
    """The type, the domain and the hierarchy of a published column as a codebook says them, as far as it does."""
    column = said.column
    kind = _type(profile, found, column)
    if found.role is Role.WEIGHT and kind not in (Type.INTEGER, Type.DECIMAL):
        kind = found.type
    dated = kind in (Type.DATE, Type.DATETIME) and profile.storage is Storage.TEXT
    found = replace(
        found,
        type=kind,
        format=(column.format or found.format) if dated else None,
        other_format=found.other_format if dated and column.format is None else None,
        decimal=found.decimal if kind is Type.DECIMAL else None,
    )
    missing = tuple(each.value for each in column.missing)
    proposal: Proposal | None = None
    if column.values and _lists_values(found.type, column) and not _partly_labelled(profile, column):
        proposal, found = _listed(profile, found, said)
    elif column.interval is not None and found.type is not None and found.type.numeric:
        proposal = _bounded(profile, found, said)
    if proposal is None:
        proposal = propose(profile, found)
    assumed = tuple(code for code in proposal.missing_values if code not in missing)
    codes = tuple(dict.fromkeys((*proposal.codes, *_meaning_nothing(column, proposal))))
    codes = tuple(code for code in codes if code not in (*missing, *assumed))
    return found, replace(proposal, missing_values=(*missing, *assumed), assumed=assumed, codes=codes)


_NOTHING = frozenset({"none", "nil", "null", "-", "--", "---"})
"""Labels of an answer: no child, no school."""


def _meaning_nothing(column: ColumnDescription, proposal: Proposal) -> tuple[str, ...]:
    """Declared values whose label says that an answer is missing: refused, unknown."""
    listed = {str(value) for value in _values_of(proposal)}
    return tuple(
        each.value
        for each in column.values or ()
        if each.value in listed and (each.label or "").strip().casefold() in GAPS - _NOTHING
    )


def value_labels(said: Description, proposal: Proposal, kind: Type | None) -> dict[str, str]:
    """What the values and the missing codes of a column mean, those alone that the policy declares."""
    if kind is Type.BOOLEAN or kind is None:
        return {}
    listed = {str(value) for value in _values_of(proposal)}
    codes = {each.value for each in said.column.missing}
    labelled = [
        each
        for each in (*(said.column.values or ()), *said.column.missing)
        if each.label
        and each.label != each.value
        and (each.value in codes or _declared(each.value, listed, proposal, kind))
    ]
    number = kind in (Type.INTEGER, Type.DECIMAL)
    found = {_canonical(each.value) if number and each.value not in codes else each.value: each for each in labelled}
    return {value: _line(each.label or "") for value, each in found.items()} if len(found) <= MOST_LABELS else {}


def _line(text: str) -> str:
    """A label on one line, as long as a policy takes it."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())[:500]


def _declared(value: str, listed: set[str], proposal: Proposal, kind: Type) -> bool:
    if listed:
        return (_canonical(value) if kind is Type.INTEGER else value) in listed
    if isinstance(proposal.domain, list) and kind.numeric:
        try:
            low, at, high = (point(kind, each) for each in (proposal.domain[0], value, proposal.domain[1]))
        except ShoalError:
            return False
        return low <= at <= high
    return False


def _values_of(proposal: Proposal) -> Sequence[Any]:
    if proposal.rows is not None:
        return [row[0] for row in proposal.rows]
    if isinstance(proposal.domain, Mapping):
        return list(proposal.domain.get("values", ()))
    return proposal.domain if isinstance(proposal.domain, list) and isinstance(proposal.domain[0], str) else ()


def _type(profile: ColumnProfile, found: Recognition, column: ColumnDescription) -> Type | None:
    """The type that a codebook names, where the column can be read so; codes with meanings are categories."""
    if column.type is not None and _reads(profile, column.type):
        return column.type
    if column.values and not _partly_labelled(profile, column) and found.type is not Type.ORDINAL:
        if _reads(profile, Type.CATEGORY):
            return Type.CATEGORY
        return Type.INTEGER if _reads(profile, Type.INTEGER) else found.type
    return found.type


def _lists_values(kind: Type | None, column: ColumnDescription) -> bool:
    """Whether values of a type can be listed, and those of the codebook are of it."""
    if kind is Type.INTEGER:
        return all(_canonical(each.value).lstrip("-").isdigit() for each in column.values or ())
    return kind in _LISTED


def _reads(profile: ColumnProfile, kind: Type) -> bool:
    """Whether the values of a column can be read as a type."""
    if not profile.looked_at and profile.storage is Storage.TEXT:
        return True
    words = (Type.CATEGORY, Type.ORDINAL, Type.TEXT)
    if kind in words:
        return profile.storage in (Storage.TEXT, Storage.INTEGER, Storage.BOOLEAN)
    if kind is Type.DECIMAL:
        return profile.numeric
    if kind is Type.INTEGER:
        whole = "integer" in profile.readings if profile.storage is Storage.TEXT else profile.whole
        return profile.numeric and (whole or not profile.looked_at)
    if kind is Type.BOOLEAN:
        return (
            profile.storage is Storage.BOOLEAN
            or "boolean" in profile.readings
            or set(profile.counts or ()) <= {"0", "1"}
        )
    if profile.storage in (Storage.DATE, Storage.MOMENT):
        return kind is Type.DATETIME or profile.storage is Storage.DATE or profile.midnight
    return False  # texts are dates in the form that was found, or in the one that the codebook names


def _partly_labelled(profile: ColumnProfile, column: ColumnDescription) -> bool:
    """Whether only some of many numbers have a meaning of their own, such as 0 for none and 97 for refused."""
    if column.values is None or not profile.looked_at or not profile.numeric:
        return False
    if profile.counts is None:
        return True
    known = {_canonical(each.value) for each in column.values}
    return sum(_canonical(value) not in known for value in profile.counts) > len(known)


def _canonical(text: str) -> str:
    """A number in one spelling; other texts as they are."""
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number == int(number) else repr(number)


def _listed(profile: ColumnProfile, found: Recognition, said: Description) -> tuple[Proposal, Recognition]:
    """The values that a codebook lists, and what else occurs."""
    listed = [each.value for each in said.column.values or () if is_writable(each.value) and each.value not in RESERVED]
    known = set(listed)
    other = [value for value in profile.counts or () if value not in known]
    words = [value for value in other if value in RESERVED or (found.type is Type.INTEGER and value in profile.gaps)]
    extra = sorted(value for value in other if is_writable(value) and value not in words)
    outside = "suppress" if len(words) + len(extra) < len(other) else None
    values = [*listed, *extra]
    ordered = _order_by_labels(said.column) if not extra and len(listed) == len(said.column.values or ()) else None
    if ordered is not None and found.type is Type.CATEGORY:
        found = replace(found, type=Type.ORDINAL, order=ordered[0])
        values = list(ordered[0])
    groups, by_data = groups_of(profile, found, values)
    if ordered is not None and ordered[1] is not None:
        groups = ValueGroups(ordered[1])
    origin: Origin = "profiled" if extra else "declared"
    notes = [f"its values are those of {said.source}", *([groups.words] if groups is not None and groups.words else [])]
    if extra:
        some = "1 value of the table is" if len(extra) == 1 else f"{len(extra)} values of the table are"
        notes[0] = f"{some} not in {said.source} and {'was' if len(extra) == 1 else 'were'} added to the domain"
    made = Proposal(values, "auto", None, origin, tuple(notes), (), None, tuple(sorted(words)), outside=outside)
    if found.type is Type.INTEGER:
        return replace(made, domain={"values": sorted({int(float(value)) for value in values})}), found
    if groups is not None and goes_into_file(values):
        made = replace(made, domain=None, hierarchy=None, rows=tuple(groups.rows))
    elif groups is not None:
        made = replace(made, hierarchy={"groups": groups.levels()})
    return (replace(made, hierarchy_provenance="profiled") if by_data else made), found


def _order_by_labels(column: ColumnDescription) -> tuple[tuple[str, ...], tuple[Labels, ...] | None] | None:
    """The values in the order of what they mean, where that is a scale, and its groups; None where it is not."""
    labels = {each.label: each.value for each in column.values or () if each.label}
    if len(labels) < 3 or len(labels) < len(column.values or ()):
        return None
    for scale in (EDUCATION, *SCALES):
        order = scale.order(labels)
        if order is not None:
            rows = (
                tuple((labels[label], *scale.labels[scale.place(label) or 0]) for label in order)
                if scale.labels
                else None
            )
            return tuple(labels[label] for label in order), rows
    return None


def _bounded(profile: ColumnProfile, found: Recognition, said: Description) -> Proposal | None:
    """The ends that a codebook names; None where a value of the table lies outside, so that they cannot be true."""
    kind = found.type
    interval = said.column.interval
    if kind is None or interval is None:
        return None
    try:
        low, high = (value_at(kind, point(kind, end)) for end in interval)
    except ShoalError:
        return None
    if (
        profile.lowest is not None
        and profile.highest is not None
        and not (low <= profile.lowest and profile.highest <= high)
    ):
        return None
    if profile.years is not None and not (low.year <= profile.years[0] and profile.years[1] <= high.year):
        return None
    notes = (f"its bounds are those of {said.source}",)
    active = tuple(sorted(profile.gaps))
    return Proposal(
        list(interval), suggest(kind, Interval(low, high)) or "auto", None, "declared", notes, (), None, active
    )


def apply_rows(
    profile: ColumnProfile, found: Recognition, rows: Sequence[Labels], source: str
) -> tuple[Recognition, Proposal] | None:
    """The hierarchy of a file that somebody made before; None where a value of the table is not in it, or not of its type."""
    listed = {row[0] for row in rows}
    kind = _kind_of_rows(profile, found, listed)
    if kind is None or (profile.looked_at and not _covers(profile, listed, kind)):
        return None
    reason = f"{found.reason}; its hierarchy is that of {source}"
    made = replace(found, type=kind, reason=reason, decimal=None, format=None, other_format=None)
    top = len(rows[0]) > 1 and len({row[-1] for row in rows}) == 1
    return made, Proposal(None, None, tuple(row[:-1] if top else row for row in rows), "declared")


def _kind_of_rows(profile: ColumnProfile, found: Recognition, listed: set[str]) -> Type | None:
    """The type under which a hierarchy file is read: whole numbers as they are, else categories; None where neither does."""
    if any(sign in value for value in listed for sign in "\r\n") or listed & {*RESERVED}:
        return None
    whole = all(_canonical(value).lstrip("-").isdigit() for value in listed)
    if whole and found.type is Type.INTEGER:
        return Type.INTEGER
    words = found.type if found.type in (Type.ORDINAL, Type.TEXT) else Type.CATEGORY
    return words if found.role is not Role.WEIGHT and _reads(profile, words) else None


def _covers(profile: ColumnProfile, listed: set[str], kind: Type) -> bool:
    """Whether all values of a column are listed; whole numbers however they are spelled."""
    if profile.counts is None:
        return False
    return set(profile.counts) <= listed or (kind is Type.INTEGER and _inside(profile, listed))


def _inside(profile: ColumnProfile, listed: set[str]) -> bool:
    """Whether all whole numbers of a column are listed, however they are spelled."""
    if profile.counts is None:
        return False
    known = {_canonical(value) for value in listed}
    return all(_canonical(value) in known for value in profile.counts)
