"""Linkability: two sets of attributes of the same person, held by two sources, are linked through the released table.

The intruder looks for the released record that is nearest to the one half and for that nearest to the other, and links the halves
if both searches end at the same record. Where several records are nearest, one of them is drawn. For a masked table whose rows
correspond to the original's, `record_linkage` measures how many records are matched to their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.assess.disclosure.classes import Floats, Ints, Mask
from shoal.assess.distortion.linkage import linkage
from shoal.assess.quantity import Quantity
from shoal.assess.risk.attack import (
    BASELINE,
    AttackRisk,
    NearestSearch,
    Originals,
    Released,
    check_names,
    check_released,
    parts_of,
)
from shoal.chance.source import Source
from shoal.data.taxonomy import Taxonomy
from shoal.errors import DataError, ParameterError


def linkability(
    released: Released, targets: Originals, *, left: Sequence[str], right: Sequence[str], source: Source,
    control: Originals | None = None,
) -> AttackRisk:  # fmt: skip
    """Measure how often an intruder links two halves of a person's attributes through the release.

    Arguments  `released`: attributes with the distributions of their labels; `targets`: originals that took part; `left`,
               `right`: the attributes of the two halves; `source`: draws one of several nearest records; `control`: originals
               that took no part
    Raises     DataError for tables that do not fit, ParameterError for names that do not

    >>> import numpy as np
    >>> from shoal.assess.risk.attack import ReleasedAttribute
    >>> a, b = (ReleasedAttribute([0, 1, 2], np.eye(3)) for _ in range(2))
    >>> linkability(
    ...     {"a": a, "b": b}, {"a": [0, 1], "b": [0, 1]}, left=["a"], right=["b"], source=Source.seeded(1)
    ... ).success.value
    1.0
    """
    one, other = check_names(left, "attributes of the left half"), check_names(right, "attributes of the right half")
    both = sorted({*one} & {*other})
    if both:
        raise ParameterError("attributes are in both halves", came=", ".join(both), allowed="each in one half")
    rows = check_released(released, [*one, *other])
    halves = [(names, _RowSearch(released, names)) for names in (one, other)]

    def linked(records: Originals, whose: str) -> Mask:
        found = [search.draw(parts_of(records, names, released, whose), source) for names, search in halves]
        return np.asarray(found[0] == found[1])

    hits = linked(targets, "the targets")
    others = None if control is None else linked(control, "the control group")
    what = f"{len(one)} and {len(other)} attributes lead to the same released record"
    baseline = Quantity.fact(1 / rows, "two records that are drawn at random are the same")
    return AttackRisk.of("linkability", hits, others, baseline, what)


def own_record_linkage(
    released: Released, targets: Originals, *, rows: Ints, known: Sequence[str], source: Source
) -> AttackRisk:
    """Measure how often the released record that is nearest to what is known of a person is that person's own.

    There is no control group: a record that took no part has no released record of its own.

    Arguments  `released`: attributes with the distributions of their labels, row i made of original i; `targets`: originals that
               took part; `rows`: which original each target is; `known`: what the intruder knows of them; `source`: draws one
               of several nearest records
    Raises     DataError for tables that do not fit, ParameterError for names that do not

    >>> import numpy as np
    >>> from shoal.assess.risk.attack import ReleasedAttribute
    >>> age = ReleasedAttribute([0, 1, 2], np.eye(3))
    >>> own_record_linkage(
    ...     {"age": age}, {"age": [2, 0]}, rows=np.array([2, 0]), known=["age"], source=Source.seeded(1)
    ... ).success.value
    1.0
    """
    names = check_names(known, "known attributes")
    many = check_released(released, names)
    aims = parts_of(targets, names, released, "the targets")
    if np.shape(rows) != (len(aims),):
        raise DataError(
            "the rows do not fit the targets", came=f"{np.size(rows)}", allowed=f"{len(aims)}, one for each"
        )
    found = _RowSearch(released, names).draw(aims, source)
    what = f"the record that is nearest by {len(names)} known attributes is the person's own"
    baseline = Quantity.fact(1 / many, "a record that is drawn at random is the person's own")
    return AttackRisk.of("record linkage", np.asarray(found == rows), None, baseline, what)


class _RowSearch:
    """Draws one of the released records that are nearest to what is known."""

    def __init__(self, released: Released, names: Sequence[str]) -> None:
        self.search = NearestSearch(released, names)
        self.order: Ints = np.argsort(self.search.place, kind="stable")
        self.starts: Ints = np.cumsum(self.search.counts) - self.search.counts

    def draw(self, known: Ints, source: Source) -> Ints:
        """Give for each target a record, each of the nearest with the same probability."""
        at: Floats = source.stream("nearest record").words(len(known)) / 2.0**64
        rows = np.empty(len(known), dtype=np.int64)
        for block, near in self.search.blocks(known):
            for i, mask in enumerate(near, block.start):
                tuples = np.flatnonzero(mask)
                running = np.cumsum(self.search.counts[tuples])
                chosen = min(int(at[i] * running[-1]), int(running[-1]) - 1)
                which = int(np.searchsorted(running, chosen, side="right"))
                before = int(running[which]) - int(self.search.counts[tuples[which]])
                rows[i] = self.order[self.starts[tuples[which]] + chosen - before]
        return rows


def record_linkage(
    original: Any, masked: Any, *, scale: str = "deviation", units: Sequence[float] | None = None,
    taxonomies: Mapping[str, Taxonomy] | None = None,
) -> AttackRisk:  # fmt: skip
    """Measure record linkage of a masked table whose rows correspond to the original's, beside guessing; exact.

    There is no control group: a record that took no part has no masked record to be matched with.

    Arguments  as for `shoal.assess.distortion.linkage.linkage`: the attributes that the intruder holds, original and masked
    Raises     UsageError for tables or units that do not fit, ParameterError for another scale

    >>> round(record_linkage({"x": [1.0, 2.0, 9.0]}, {"x": [1.5, 1.5, 9.0]}).risk.value, 4)
    0.5
    """
    found = linkage(original, masked, scale=scale, units=units, taxonomies=taxonomies)
    success, guessing = found.expected / found.rows, 1 / found.rows
    excess = (success - guessing) / (1 - guessing) if found.rows > 1 else 0.0
    held = f"{len(found.attributes)} attributes"
    return AttackRisk(
        attack="record linkage",
        attempts=found.rows,
        success=Quantity.fact(success, f"expected share of masked records that {held} match to their own original"),
        control=None,
        baseline=Quantity.fact(guessing, "an original that is drawn at random is a record's own"),
        risk=Quantity.fact(excess, "excess over the baseline; a record that took no part has none to be matched with"),
        measured_against=BASELINE,
    )
