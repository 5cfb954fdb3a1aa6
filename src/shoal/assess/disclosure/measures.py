"""The measures of disclosure: l-diversity, t-closeness, beta-likeness, delta-disclosure, over the classes of a table.

Each function gives one number for each class: the parameter for which the class satisfies the model. The table has the worst of
them. With m different values in the table, p the share of a value in the class and q its share in the table:

    distinct_l, entropy_l, recursive_l    l-diversity: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, TKDD 1(1), 2007
    alpha                                 (alpha, k)-anonymity: Wong, Li, Fu and Wang, KDD 2006
    t_equal                               t-closeness by the earth mover's distance (EMD) of Li, Li and Venkatasubramanian,
                                          ICDE 2007, section 4; any two values are 1 apart: Σ |p − q| / 2
    t_ordered                             values of rank i and j are |i − j| / (m − 1) apart:
                                          Σ_i |Σ_{j ≤ i} (p_j − q_j)| / (m − 1); ranks are those of the values that occur,
                                          and a missing value comes after the last
    t_hierarchical                        two values are h / H apart, h the height at which a tree of height H first joins them;
                                          a missing value is a branch of its own
    ratio_distance                        SC13, Definition 15: max over values of max(p/q, q/p); infinite where the class lacks
                                          a value that the table has
    basic_beta, enhanced_beta             beta-likeness: Cao and Karras, PVLDB 5(11), 2012
    delta_disclosure                      delta-disclosure: Brickell and Shmatikov, KDD 2008
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.assess.disclosure.classes import (
    Array,
    ClassDistributions,
    ClassTuples,
    CondensedClasses,
    EncodedColumn,
    Floats,
    Ints,
    by_class,
    classes_of,
    encode,
    has_order,
    hides,
    order_of,
    total,
)
from shoal.assess.disclosure.lenient_matching import MatchingRows
from shoal.assess.disclosure.report import ClassSizes, Confidential, DisclosureReport, Measures
from shoal.data.hierarchy.level import Level, ValueLevel
from shoal.data.schema import Attribute, Schema
from shoal.errors import DataError, ParameterError
from shoal.progress import Stage, each_of, silent

if TYPE_CHECKING:
    from shoal.engine.base import Counts


def distinct_l(shares: ClassDistributions) -> Ints:
    """Distinct l: the number of different values in the class."""
    return shares.width


def entropy_l(shares: ClassDistributions) -> Floats:
    """Entropy l: exp of the class's entropy −Σ p ln p; the class is entropy l-diverse for every l up to it."""
    p = shares.inside
    return np.exp(-total(p * np.log(p), shares.starts))


def recursive_l(shares: ClassDistributions, c: float) -> Ints:
    """The largest l for which the class is recursive (c, l)-diverse; 0 when there is none.

    With counts r1 ≥ r2 ≥ … ≥ rm: r1 < c (rl + … + rm). The right side falls with l, so the l that hold are 1, 2, …
    up to the answer.
    """
    order = np.lexsort((-shares.counts, shares.owner))
    counts = shares.counts[order]
    before = np.cumsum(counts) - counts
    tail = shares.sizes[shares.owner] - (before - before[shares.starts][shares.owner])
    most = counts[shares.starts][shares.owner]
    return total((most < c * tail).astype(np.int64), shares.starts)


def alpha(shares: ClassDistributions) -> Floats:
    """The largest share of one value in the class: (alpha, k)-anonymity holds for every alpha from it up."""
    return np.asarray(np.maximum.reduceat(shares.inside, shares.starts))


def t_equal(shares: ClassDistributions) -> Floats:
    """EMD with distance 1 between any two values, from the values that are more frequent in the class than in the table."""
    return np.asarray(total(np.maximum(shares.inside - shares.outside, 0.0), shares.starts))


def t_ordered(shares: ClassDistributions) -> Floats:
    """EMD along the order, in time that depends on what the classes hold and not on classes times values.

    The distribution function of a class is flat between its values, so the sum of |a − Q(i)| over a flat stretch comes
    from prefix sums of Q, cut at the place where Q passes a.
    """
    m = len(shares.overall)
    if m == 1:
        return np.zeros(len(shares.starts))
    table = np.cumsum(shares.overall / shares.overall.sum())
    prefix = np.append(0.0, np.cumsum(table))

    def stretch(level: Floats, start: Ints, stop: Ints) -> Floats:
        cut = np.clip(np.searchsorted(table, level, side="right"), start, stop)
        below = level * (cut - start) - (prefix[cut] - prefix[start])
        return np.asarray(below + (prefix[stop] - prefix[cut]) - level * (stop - cut))

    running = np.cumsum(shares.counts)
    ahead = (running - shares.counts)[shares.starts]
    level = (running - ahead[shares.owner]) / shares.sizes[shares.owner]
    following = np.append(shares.values[1:], m)
    following[np.append(shares.starts[1:], len(shares.values)) - 1] = m
    flat = total(stretch(level, shares.values, following), shares.starts)
    lead = prefix[shares.values[shares.starts]]  # before the class's first value, a = 0
    return np.asarray(np.maximum(flat + lead, 0.0) / (m - 1))


def t_hierarchical(shares: ClassDistributions, levels: Sequence[Ints]) -> Floats:
    """EMD in a tree; `levels[h][v]` is the node of value v at height h, from the leaves (0) to below the root.

    Equal to Li et al.'s cost of moving extras through each node: the mean over heights 0 … H − 1 of the equal distance
    between the distributions of nodes at that height (a tree metric whose edges are all 1 / 2H long).
    """
    return np.asarray(sum(t_equal(shares.merge_values(level)) for level in levels) / len(levels))


def ratio_distance(shares: ClassDistributions) -> Floats:
    """The ratio distance; 1 when the class looks like the table."""
    odds = shares.inside / shares.outside
    worst = np.maximum.reduceat(np.maximum(odds, 1.0 / odds), shares.starts)
    return np.where(shares.width < len(shares.overall), np.inf, worst)


def basic_beta(shares: ClassDistributions) -> Floats:
    """Basic beta-likeness: (p − q) / q ≤ beta for every value that is more frequent in the class."""
    return np.asarray(np.maximum.reduceat(_gain(shares), shares.starts))


def enhanced_beta(shares: ClassDistributions) -> Floats:
    """Enhanced beta-likeness: (p − q) / q ≤ min(beta, −ln q); infinite where p exceeds q (1 − ln q), whatever beta.

    The gain and −ln q are compared with a tolerance of rounding.
    """
    growth = _gain(shares)
    room = -np.log(shares.outside)
    return np.asarray(np.maximum.reduceat(np.where(growth > room + 1e-12, np.inf, growth), shares.starts))


def delta_disclosure(shares: ClassDistributions) -> Floats:
    """delta-disclosure over all values of the table: |ln(p / q)| < delta; infinite where the class lacks a value."""
    return np.asarray(np.log(ratio_distance(shares)))


def delta_disclosure_present(shares: ClassDistributions) -> Floats:
    """delta-disclosure over the values that the class has alone: as pyCANON and ARX compute it (ARX to base 2)."""
    return np.asarray(np.maximum.reduceat(np.abs(np.log(shares.inside / shares.outside)), shares.starts))


def _gain(shares: ClassDistributions) -> Floats:
    return np.maximum(shares.inside / shares.outside - 1.0, 0.0)


RECURSIVE_C = 4.0
"""The c of recursive (c, l)-diversity unless another is given."""


def observe(
    counts: Counts, schema: Schema, *, lenient: bool = False, recursive_c: float = RECURSIVE_C,
    levels: Mapping[str, int] | None = None, labels: Sequence[str] = (), stage: Stage = silent,
) -> DisclosureReport:  # fmt: skip
    """Measure the disclosure of a table from the counts of its distinct tuples.

    `counts` holds the quasi-identifiers first, then the confidential attributes, sorted. `stage` is told what is
    done.
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
    matching = None
    if lenient:
        hidden = [hides(values, codes[starts]) for values, codes in quasi]
        matching = MatchingRows(np.column_stack([codes[starts] for _, codes in quasi]), np.column_stack(hidden), rows)
    sizes = rows if matching is None else matching.sizes
    k = int(sizes.min())
    tuples = ClassTuples(starts, counts.counts, rows)
    return DisclosureReport(
        rows=counts.rows,
        quasi=tuple(attribute.name for attribute in schema.quasi),
        levels=dict(levels or {}),
        labels=tuple(labels),
        matching="strict" if matching is None else "lenient",
        classes=len(starts),
        k=k,
        smallest_classes=int(np.count_nonzero(sizes == k)),
        uniques=int(rows[sizes == 1].sum()),
        sizes=ClassSizes.of(sizes, rows),
        recursive_c=recursive_c,
        confidential=tuple(
            _attribute(
                attribute,
                encode(values, codes, order_of(attribute, values)),
                owner,
                tuples,
                matching,
                recursive_c,
            )
            for attribute in each_of(schema.confidential, stage, "measuring confidential attributes")
            for values, codes in [columns[attribute.name]]
        ),
    )


def _attribute(
    attribute: Attribute,
    coded: EncodedColumn,
    owner: Ints,
    tuples: ClassTuples,
    matching: MatchingRows | None,
    c: float,
) -> Confidential:
    """Measure one confidential attribute, over classes or, under lenient matching, over the rows that match each tuple."""
    levels = _heights(attribute, coded)
    is_ordered = has_order(coded.values) or order_of(attribute, coded.values) is not None
    found: list[Measures] = []
    single = single_rows = 0
    name = "ordered" if is_ordered else "hierarchical" if levels is not None else "equal"
    blocks: Iterable[CondensedClasses] = (
        [tuples.condense(coded, levels or ())]
        if matching is None
        else (
            _condensed_block(whole, tuples.rows[members], levels or ())
            for members, whole in matching.blocks(by_class(owner, coded, tuples.counts))
        )
    )
    for condensed in blocks:
        block = condensed.distributions
        single += condensed.homogeneous
        single_rows += condensed.homogeneous_rows
        equal = float(t_equal(block).max())
        ordered = float(t_ordered(block).max()) if is_ordered else None
        tree = float(t_hierarchical(block, levels).max()) if levels is not None else None
        found.append(
            Measures(
                l=int(distinct_l(block).min()),
                entropy_l=float(entropy_l(block).min()),
                recursive_l=int(recursive_l(block, c).min()),
                alpha=float(alpha(block).max()),
                t={"equal": equal, "ordered": ordered, "hierarchical": tree}[name] or 0.0,
                t_equal=equal,
                t_ordered=ordered,
                t_hierarchical=tree,
                ratio=float(ratio_distance(block).max()),
                basic_beta=float(basic_beta(block).max()),
                enhanced_beta=float(enhanced_beta(block).max()),
                delta_disclosure=float(delta_disclosure(block).max()),
                delta_disclosure_present=float(delta_disclosure_present(block).max()),
            )
        )
    return Confidential(attribute.name, coded.count, name, Measures.worst(found), single, single_rows)


def _condensed_block(whole: ClassDistributions, rows: Ints, levels: Sequence[Ints]) -> CondensedClasses:
    """Condense distributions whose classes have so many rows of their own."""
    homogeneous = distinct_l(whole) == 1
    return CondensedClasses(
        whole.condense(None, levels), int(np.count_nonzero(homogeneous)), int(rows[homogeneous].sum())
    )


def _heights(attribute: Attribute, coded: EncodedColumn) -> list[Ints] | None:
    """Give the node of each value at every height of its hierarchy below the root; None where no tree is declared."""
    hierarchy = attribute.hierarchy
    if hierarchy is None or len(coded.values) == 0 or attribute.type.numeric != has_order(coded.values):
        return None
    if not bool(hierarchy.domain.inside(coded.values).all()):
        return None  # labels already, not the leaves of the tree
    below_root = [level for level in hierarchy.levels if level.labels is None or len(level.labels) > 1]
    if len(below_root) < 2:
        return None  # the root joins the values themselves: that is the equal distance
    return [_nodes(level, coded) for level in below_root]


def _nodes(level: Level, coded: EncodedColumn) -> Ints:
    nodes = _node(level, coded.values)
    return np.append(nodes, int(nodes.max()) + 1) if coded.has_missing else nodes


def _node(level: Level, values: Array) -> Ints:
    if isinstance(level, ValueLevel):
        return np.arange(len(values))
    if level.labels is not None:
        return level.encode(values).astype(np.int64)
    return np.unique(level.apply(values), return_inverse=True)[1].astype(np.int64).ravel()
