"""All columns of a table: their names are read together, because a prefix that all share says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shoal.data.schema import Role
from shoal.draft.profile import ColumnProfile, TableProfile
from shoal.draft.recognize.column import Recognition, recognize, recognize_type
from shoal.draft.recognize.names import common_prefix, words_of
from shoal.draft.recognize.subjects import subject_of, vocabulary


def recognize_table(
    profile: TableProfile, labels: Mapping[str, str] | None = None, roles: Mapping[str, Role] | None = None
) -> list[Recognition]:
    """Recognize every column by its name, and by its label where the name says nothing; a role that somebody gave stands.

    Arguments  what was read off the table; the labels of columns, and the roles that somebody gave, by the columns' names.
    """
    known = vocabulary()
    names = [column.name for column in profile.columns]
    prefix = common_prefix(names, known)
    words = {name: words_of(name, known, prefix) for name in names}
    by_label: set[str] = set()
    for name, label in (labels or {}).items():
        if subject_of(words[name]) is None:
            words[name] = words_of(label, known)
            by_label.add(name)
    subjects = {name: subject_of(spoken) for name, spoken in words.items()}
    found = []
    for column in profile.columns:
        others = frozenset(
            subject.key for name, subject in subjects.items() if name != column.name and subject is not None
        )
        given = (roles or {}).get(column.name)
        one = recognize(column, words[column.name], others)
        if column.name in by_label:
            one = replace(one, reason=one.reason.replace("its name", "its label", 1))
        found.append(_with_role(column, one, given))
    return found


def _with_role(profile: ColumnProfile, found: Recognition, role: Role | None) -> Recognition:
    """The role that somebody gave before; a column that would have been left out gets a type again."""
    if role is None or role is found.role:
        return found
    reason = "its role was taken over from the settings"
    if role in (Role.IDENTIFIER, Role.DROP):
        return replace(found, role=role, type=None, reason=reason)
    typed = found if found.type is not None else recognize_type(profile)
    return replace(typed, role=role, reason=reason)
