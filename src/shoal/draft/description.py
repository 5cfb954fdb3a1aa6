"""What a codebook, a public table or an old hierarchy says of a column; it comes before what was read off the column itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.data.codebook import Codebook, ColumnDescription
from shoal.data.domain import Interval
from shoal.data.hierarchy.suggest import suggest
from shoal.data.type import Type, point, value_at
from shoal.draft.codes.scales import EDUCATION, SCALES
from shoal.draft.codes.table import Labels
from shoal.draft.profile import ColumnProfile
from shoal.draft.proposal import WRITTEN, Origin, Proposal, groups_of, propose
from shoal.draft.recognize.column import Recognition
from shoal.engine.read.storage import Storage
from shoal.errors import ShoalError

MOST_LABELS = 200
"""Values of a column whose meanings are written into the policy; a longer list is left to the codebook."""


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
    found = replace(found, type=_type(profile, found, column), format=column.format or found.format, other_format=None)
    if column.format is not None and found.type not in (Type.DATE, Type.DATETIME):
        found = replace(found, format=None)
    missing = tuple(each.value for each in column.missing)
    proposal: Proposal | None = None
    if column.values and found.type is not None and not _partly_labelled(profile, column):
        proposal, found = _listed(profile, found, said)
    elif column.interval is not None and found.type is not None and found.type.numeric:
        proposal = _bounded(profile, found, said)
    if proposal is None:
        proposal = propose(profile, found)
    kept = tuple(dict.fromkeys([*missing, *proposal.missing_values]))
    codes = tuple(code for code in proposal.codes if code not in kept)
    return found, replace(proposal, missing_values=kept, codes=codes)


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
    return {each.value: _line(each.label or "") for each in labelled} if len(labelled) <= MOST_LABELS else {}


def _line(text: str) -> str:
    """A label on one line, as long as a policy takes it."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())[:500]


def _declared(value: str, listed: set[str], proposal: Proposal, kind: Type) -> bool:
    if listed:
        return value in listed
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
        return Type.CATEGORY if _reads(profile, Type.CATEGORY) else Type.INTEGER
    return found.type


def _reads(profile: ColumnProfile, kind: Type) -> bool:
    """Whether the values of a column can be read as a type."""
    if not profile.looked_at and profile.storage is Storage.TEXT:
        return True
    words = (Type.CATEGORY, Type.ORDINAL, Type.TEXT)
    if kind in words:
        return profile.storage in (Storage.TEXT, Storage.INTEGER, Storage.BOOLEAN)
    if kind in (Type.INTEGER, Type.DECIMAL):
        return profile.numeric and (kind is Type.DECIMAL or profile.whole or not profile.looked_at)
    if kind is Type.BOOLEAN:
        return (
            profile.storage is Storage.BOOLEAN
            or "boolean" in profile.readings
            or set(profile.counts or ()) <= {"0", "1"}
        )
    return profile.storage in (Storage.DATE, Storage.MOMENT) or profile.years is not None


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
    listed = [each.value for each in said.column.values or ()]
    known = set(listed)
    extra = sorted(value for value in profile.counts or () if value not in known)
    values = [*listed, *extra]
    order = _order_by_labels(said.column) if not extra else None
    if order is not None and found.type is Type.CATEGORY:
        found = replace(found, type=Type.ORDINAL, order=order)
        values = list(order)
    groups, by_data = groups_of(profile, found, values)
    origin: Origin = "profiled" if extra else "declared"
    notes = [groups.words] if groups is not None and groups.words else []
    if extra:
        some = "1 value of the table is" if len(extra) == 1 else f"{len(extra)} values of the table are"
        notes.insert(0, f"{some} not in {said.source} and {'was' if len(extra) == 1 else 'were'} added to the domain")
    if found.type is Type.INTEGER:
        numbers = sorted({int(float(value)) for value in values})
        return Proposal({"values": numbers}, "auto", None, origin, tuple(notes)), found
    if groups is None:
        made = Proposal(values, "auto", None, origin, tuple(notes))
    elif len(values) > WRITTEN:
        made = Proposal(None, None, tuple(groups.rows), origin, tuple(notes))
    else:
        made = Proposal(values, {"groups": groups.levels()}, None, origin, tuple(notes))
    return (replace(made, hierarchy_provenance="profiled") if by_data else made), found


def _order_by_labels(column: ColumnDescription) -> tuple[str, ...] | None:
    """The values in the order of what they mean, where that is a scale; None where it is not."""
    labels = {each.label: each.value for each in column.values or () if each.label}
    if len(labels) < 3 or len(labels) < len(column.values or ()):
        return None
    for scale in (EDUCATION, *SCALES):
        order = scale.order(labels)
        if order is not None:
            return tuple(labels[label] for label in order)
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
    return Proposal(list(interval), suggest(kind, Interval(low, high)) or "auto", None, "declared")


def apply_rows(
    profile: ColumnProfile, found: Recognition, rows: Sequence[Labels], source: str
) -> tuple[Recognition, Proposal] | None:
    """The hierarchy of a file that somebody made before; None where a value of the table is not in it."""
    listed = {row[0] for row in rows}
    if profile.counts is None or not set(profile.counts) <= listed:
        inside = kind_of_rows(found) is Type.INTEGER and _inside(profile, listed)
        if not inside and profile.looked_at:
            return None
    kind = kind_of_rows(found)
    made = replace(found, type=kind, reason=f"{found.reason}; its hierarchy is that of {source}")
    depth = len(rows[0]) if rows else 1
    top = depth > 1 and len({row[-1] for row in rows}) == 1
    return made, Proposal(None, None, tuple(row[:-1] if top else row for row in rows), "declared")


def kind_of_rows(found: Recognition) -> Type:
    """The type under which a hierarchy file is read: numbers and dates as they are, everything else as categories."""
    if found.type in (Type.INTEGER, Type.DATE, Type.CATEGORY, Type.ORDINAL, Type.TEXT):
        return found.type
    return Type.CATEGORY


def _inside(profile: ColumnProfile, listed: set[str]) -> bool:
    """Whether all whole numbers of a column are listed, however they are spelled."""
    if profile.counts is None:
        return False
    known = {_canonical(value) for value in listed}
    return all(_canonical(value) in known for value in profile.counts)
