"""Singling out: from the released table alone, an intruder writes conditions that exactly one original record meets.

A condition is taken from a released record: on a few of its attributes the value lies in the parts that the record's label
covers. The intruder prefers conditions that single out one record of the release, and without such ones those that fewest records
meet. The baseline combines labels of different records, each from its column, so that nothing but the columns is used.

A condition that one person of a small table meets is met by several of a large one. So the control group has to be as large as
the table; of a larger one, as many records are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.assess.disclosure.classes import Floats, Ints, Mask, row_numbers
from shoal.assess.quantity import Quantity
from shoal.assess.risk.attack import AttackRisk, Originals, Released, check_names, check_released, parts_of
from shoal.chance.source import Source
from shoal.errors import DataError, ParameterError

TRIES = 3
"""Conditions that are looked at for each that is used."""


@dataclass(frozen=True, eq=False)
class _Conditions:
    """Conditions: for each the chosen attributes and the labels that they were taken from; −1 where none was chosen."""

    labels: Ints  # conditions × attributes

    def distinct(self) -> _Conditions:
        return _Conditions(np.unique(self.labels, axis=0))


def singling_out(
    released: Released, originals: Originals, *, source: Source, names: Sequence[str] | None = None, attributes: int = 3,
    attempts: int = 500, control: Originals | None = None,
) -> AttackRisk:  # fmt: skip
    """Measure how often a condition from the release is met by exactly one original record.

    Arguments  `released`: attributes with the distributions of their labels; `originals`: all records that took part; `source`:
               draws conditions; `names`: the attributes that conditions may use, all unless given; `attributes`: how many each
               condition uses; `attempts`: how many conditions; `control`: as many records, or more, that took no part
    Raises     DataError for tables that do not fit or a control group that is too small, ParameterError for other numbers

    >>> import numpy as np
    >>> from shoal.assess.risk.attack import ReleasedAttribute
    >>> release = {"zip": ReleasedAttribute(np.arange(20), np.eye(20))}
    >>> found = singling_out(release, {"zip": np.arange(20)}, source=Source.seeded(1), attributes=1, attempts=5)
    >>> found.success.value
    1.0
    """
    used = check_names(names if names is not None else [*released], "attributes of conditions")
    rows = check_released(released, used)
    if not 1 <= attributes <= len(used) or attempts < 1:
        raise ParameterError(
            "no such conditions", came=f"{attempts} of {attributes} attributes", allowed=f"1 or more of 1 to {len(used)}"
        )  # fmt: skip
    codes = np.column_stack([released[name].codes for name in used]).astype(np.int64)
    table = parts_of(originals, used, released, "the originals")
    others = (
        None
        if control is None
        else _as_many(parts_of(control, used, released, "the control group"), len(table), source)
    )
    covers = [released[name].shares > 0 for name in used]
    chosen = _choose(released, used, codes, attributes, attempts, source)
    mixed = np.column_stack(
        [codes[source.stream("labels").integers(rows, len(chosen.labels)), i] for i in range(len(used))]
    )
    guessed = _Conditions(np.where(chosen.labels >= 0, mixed.astype(np.int64), -1))
    naive = _single(guessed, covers, table)
    hits = _single(chosen, covers, table)
    among = None if others is None else _single(chosen, covers, others)
    what = f"a condition on at most {attributes} attributes is met by exactly one of {len(table):,} records"
    baseline = Quantity.of_rate(
        int(naive.sum()), len(naive), f"share of conditions of labels drawn from columns: {what}"
    )
    return AttackRisk.of("singling out", hits, among, baseline, what)


def _as_many(control: Ints, size: int, source: Source) -> Ints:
    """Draw as many records of the control group as there are originals."""
    if len(control) < size:
        raise DataError(
            "the control group is smaller than the table, so that conditions single out more easily there",
            came=f"{len(control):,} records beside {size:,}",
            allowed="a control group that is as large",
            fix="release one half of the records and keep the other as the control group",
        )
    return control[source.stream("control group").permutation(len(control))[:size]]


def _choose(
    released: Released, used: Sequence[str], codes: Ints, attributes: int, attempts: int, source: Source
) -> _Conditions:
    """Draw conditions from released records, and keep those that fewest released records meet."""
    rows, width = codes.shape
    tries = TRIES * attempts
    vague = np.column_stack(
        [np.atleast_1d(np.all(released[name].shares > 0, axis=1))[codes[:, i]] for i, name in enumerate(used)]
    )
    taken = source.stream("released record").integers(rows, tries).astype(np.int64)
    keys = source.stream("attributes").words(tries * width).reshape(tries, width) / 2.0**64
    keys[vague[taken]] += 1  # a label that covers the whole domain says nothing: others are taken first
    rank = keys.argsort(axis=1).argsort(axis=1)
    conditions = _Conditions(np.where((rank < attributes) & ~vague[taken], codes[taken], -1)).distinct()
    expected = _expected(conditions, [released[name].shares for name in used], codes)
    order = np.lexsort((source.stream("order").permutation(len(expected)), np.maximum(np.rint(expected), 1)))
    return _Conditions(conditions.labels[np.sort(order[:attempts])])


def _expected(conditions: _Conditions, shares: Sequence[Floats], codes: Ints) -> Floats:
    """Give how many released records are expected to meet each condition."""
    _, first, counts = np.unique(row_numbers(codes), return_index=True, return_counts=True)
    distinct = codes[first]
    inside = [
        each @ (each > 0).T.astype(np.float64) for each in shares
    ]  # label × label: mass within what the other covers
    found = np.empty(len(conditions.labels))
    for i, labels in enumerate(conditions.labels):
        mass = counts.astype(np.float64)
        for column in np.flatnonzero(labels >= 0).tolist():
            mass *= inside[column][distinct[:, column], labels[column]]
        found[i] = mass.sum()
    return found


def _single(conditions: _Conditions, covers: Sequence[Mask], records: Ints) -> Mask:
    """Say which conditions exactly one record meets; a value that is not known meets none but the empty condition."""
    single = np.empty(len(conditions.labels), dtype=np.bool_)
    for i, labels in enumerate(conditions.labels):
        left = np.arange(len(records))
        for column in np.flatnonzero(labels >= 0).tolist():
            part = records[left, column]
            left = left[np.append(covers[column][labels[column]], False)[part]]
        single[i] = len(left) == 1
    return single
