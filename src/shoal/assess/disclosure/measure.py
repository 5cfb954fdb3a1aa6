"""Every measure of the distinct tuples of a table, over its classes or, leniently, over crowds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.assess.disclosure import closeness, diversity, gain
from shoal.assess.disclosure.classes import Ints, Shares, by_class, classes_of, total
from shoal.assess.disclosure.encode import Array, Coded, encode, has_order, hides, order_of
from shoal.assess.disclosure.report import Confidential, Measures, Observed, Sizes
from shoal.assess.disclosure.wildcard import Crowds
from shoal.data.hierarchy.level import Level, ValueLevel
from shoal.data.schema import Attribute, Schema
from shoal.errors import DataError, ParameterError

if TYPE_CHECKING:
    from shoal.engine.base import Counts

RECURSIVE_C = 4.0
"""The c of recursive (c, l)-diversity unless another is given."""


def observe(
    counts: Counts, schema: Schema, *, lenient: bool = False, recursive_c: float = RECURSIVE_C,
    levels: Mapping[str, int] | None = None, labels: Sequence[str] = (),
) -> Observed:  # fmt: skip
    """Everything that the distinct tuples of the quasi-identifiers and confidential attributes show.

    `counts` holds the quasi-identifiers first, then the confidential attributes, sorted.
    """
    if not recursive_c > 0:
        raise ParameterError("c of recursive diversity is not positive", came=recursive_c, allowed="c > 0")
    if len(counts) == 0:
        raise DataError("the table has no rows", fix="give a table with at least one row")
    columns = {name: (counts.values[i], counts.codes[i]) for i, name in enumerate(counts.columns)}
    quasi = [columns[attribute.name] for attribute in schema.quasi]
    owner = classes_of([codes for _, codes in quasi], len(counts))
    starts = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    rows = total(counts.counts, starts)
    crowds = None
    if lenient:
        hidden = [hides(values, codes[starts]) for values, codes in quasi]
        crowds = Crowds(np.column_stack([codes[starts] for _, codes in quasi]), np.column_stack(hidden), rows)
    sizes = rows if crowds is None else crowds.sizes
    k = int(sizes.min())
    return Observed(
        rows=counts.rows,
        quasi=tuple(attribute.name for attribute in schema.quasi),
        levels=dict(levels or {}),
        labels=tuple(labels),
        matching="strict" if crowds is None else "lenient",
        classes=len(starts),
        k=k,
        smallest_classes=int(np.count_nonzero(sizes == k)),
        uniques=int(rows[sizes == 1].sum()),
        sizes=Sizes.of(sizes, rows),
        recursive_c=recursive_c,
        confidential=tuple(
            _attribute(
                attribute,
                encode(values, codes, order_of(attribute, values)),
                owner,
                counts.counts,
                rows,
                crowds,
                recursive_c,
            )
            for attribute in schema.confidential
            for values, codes in [columns[attribute.name]]
        ),
    )


def _attribute(
    attribute: Attribute, coded: Coded, owner: Ints, counts: Ints, rows: Ints, crowds: Crowds | None, c: float
) -> Confidential:
    """One confidential attribute, over classes or over crowds."""
    shares = by_class(owner, coded, counts)
    levels = _heights(attribute, coded)
    is_ordered = has_order(coded.values) or order_of(attribute, coded.values) is not None
    blocks: Iterable[tuple[Ints, Shares]]
    blocks = [(np.arange(len(rows)), shares)] if crowds is None else crowds.blocks(shares)
    found: list[Measures] = []
    single = single_rows = 0
    name = "ordered" if is_ordered else "hierarchical" if levels is not None else "equal"
    for members, whole in blocks:
        homogeneous = diversity.distinct(whole) == 1
        single += int(np.count_nonzero(homogeneous))
        single_rows += int(rows[members[homogeneous]].sum())
        block = whole.condensed()
        equal = float(closeness.equal(block).max())
        ordered = float(closeness.ordered(block).max()) if is_ordered else None
        tree = float(closeness.hierarchical(block, levels).max()) if levels is not None else None
        found.append(
            Measures(
                l=int(diversity.distinct(block).min()),
                entropy_l=float(diversity.entropy(block).min()),
                recursive_l=int(diversity.recursive(block, c).min()),
                alpha=float(diversity.alpha(block).max()),
                t={"equal": equal, "ordered": ordered, "hierarchical": tree}[name] or 0.0,
                t_equal=equal,
                t_ordered=ordered,
                t_hierarchical=tree,
                ratio=float(closeness.ratio(block).max()),
                basic_beta=float(gain.basic_beta(block).max()),
                enhanced_beta=float(gain.enhanced_beta(block).max()),
                delta_disclosure=float(gain.delta_disclosure(block).max()),
                delta_disclosure_present=float(gain.delta_disclosure_present(block).max()),
            )
        )
    return Confidential(attribute.name, coded.count, name, Measures.worst(found), single, single_rows)


def _heights(attribute: Attribute, coded: Coded) -> list[Ints] | None:
    """The node of each value at every height of its hierarchy below the root; None where there is no tree over these values."""
    hierarchy = attribute.hierarchy
    if hierarchy is None or len(coded.values) == 0 or attribute.type.numeric != has_order(coded.values):
        return None
    if not bool(hierarchy.domain.inside(coded.values).all()):
        return None  # labels already, not the leaves of the tree
    below_root = [level for level in hierarchy.levels if level.labels is None or len(level.labels) > 1]
    if len(below_root) < 2:
        return None  # the root joins the values themselves: that is the equal distance
    return [_nodes(level, coded) for level in below_root]


def _nodes(level: Level, coded: Coded) -> Ints:
    nodes = _node(level, coded.values)
    return np.append(nodes, int(nodes.max()) + 1) if coded.has_missing else nodes


def _node(level: Level, values: Array) -> Ints:
    if isinstance(level, ValueLevel):
        return np.arange(len(values))
    if level.labels is not None:
        return level.encode(values).astype(np.int64)
    return np.unique(level.apply(values), return_inverse=True)[1].astype(np.int64).ravel()
