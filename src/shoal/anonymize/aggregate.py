"""Aggregation: what a cluster shows of each attribute, by its type. All its records show one value or one label.

    type                       centroid                 median           label
    integer, decimal           mean                     median           interval
    date, datetime             mean, rounded down       lower median     interval
    ordinal                    lower median             lower median     interval
    boolean                    mode                     mode             set
    category, text             concept (hierarchy)      the same         ancestor (hierarchy)
                               or mode                                   or set

Missing values are left out of a cluster's centroid; a cluster of which more than half is missing shows a missing value.
`shuffle` is the other way to treat a cluster: its records keep their values, in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import fsum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.columns import taxonomy_of
from shoal.chance.source import Source
from shoal.data.domain import Values
from shoal.data.schema import Attribute
from shoal.data.taxonomy import Taxonomy
from shoal.data.type import Type, texts
from shoal.errors import DataError, UsageError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.signedinteger[Any]]
"""The cluster of each record; clusters are numbered 0, 1, 2, … without gaps."""
Show = Literal["centroid", "median", "label"]
SHOWS: tuple[Show, ...] = ("centroid", "median", "label")
_NUMBERS = (Type.INTEGER, Type.DECIMAL)


def aggregation_rule(attribute: Attribute, show: Show) -> str:
    """The name of what a cluster shows of this attribute."""
    kind, ordered = attribute.type, attribute.type is Type.ORDINAL and isinstance(attribute.domain, Values)
    if kind.numeric or ordered:
        if show == "label":
            return "interval"
        return "mean" if show == "centroid" and kind.numeric else "median"
    if show == "label":
        return "ancestor" if attribute.hierarchy is not None else "set"
    return "concept" if attribute.hierarchy is not None and kind is not Type.BOOLEAN else "mode"


def aggregate(attribute: Attribute, values: Array, labels: Labels, show: Show) -> Array:
    """What every record shows of an attribute; masked where its cluster shows a missing value.

    Arguments  the attribute with its type, domain and hierarchy; values, one for each record; labels, the cluster of each
               record; show, one of centroid, median and label.

    >>> from shoal.data.schema import Role
    >>> age = Attribute("age", Role.QUASI, Type.INTEGER)
    >>> aggregate(age, np.array([20, 30, 70, 71]), np.array([0, 0, 1, 1]), "label").tolist()
    ['[20, 30]', '[20, 30]', '[70, 71]', '[70, 71]']
    """
    gone = np.ma.getmaskarray(values)
    data = np.ma.getdata(values)
    if not gone.any():
        return _representatives(attribute, data, labels, show)
    groups = int(labels.max()) + 1
    present = np.bincount(labels[~gone], minlength=groups)
    empty = 2 * present < np.bincount(labels, minlength=groups)
    held, compact = np.unique(labels[~gone], return_inverse=True)
    if not len(held):
        return values
    centres = _representatives(attribute, data[~gone], compact.astype(np.int32), show)
    first = np.unique(compact, return_index=True)[1]
    place = np.full(groups, 0)
    place[held] = np.arange(len(held))
    return np.ma.masked_array(centres[first][place[labels]], empty[labels])


def _representatives(attribute: Attribute, values: Array, labels: Labels, show: Show) -> Array:
    make: dict[str, Callable[[Attribute, Array, Labels], Array]] = {
        "mean": _typed_mean,
        "median": _typed_median,
        "interval": _typed_interval,
        "mode": lambda _, own, groups: mode(own, groups),
        "set": lambda _, own, groups: members(_truth_as_text(own), groups),
        "concept": lambda one, own, groups: concept(own, groups, taxonomy_of(one, own)),
        "ancestor": lambda one, own, groups: ancestor(own, groups, taxonomy_of(one, own)),
    }
    return make[aggregation_rule(attribute, show)](attribute, values, labels)


def _typed_mean(attribute: Attribute, values: Array, labels: Labels) -> Array:
    if attribute.type in _NUMBERS:
        return mean(values, labels)
    return np.floor(mean(values.astype(np.int64), labels)).astype(np.int64).astype(values.dtype)


def _typed_median(attribute: Attribute, values: Array, labels: Labels) -> Array:
    if attribute.type in _NUMBERS:
        return median(values, labels)
    if attribute.type is not Type.ORDINAL:
        return _lower(values.astype(np.int64), labels).astype(values.dtype)
    names = _names(attribute)
    rank_of = {name: rank for rank, name in enumerate(names)}
    ranks = _lower(np.fromiter((rank_of[value] for value in values.tolist()), np.int64, len(values)), labels)
    return np.array(names, dtype=object)[ranks]


def _lower(values: Array, labels: Labels) -> Array:
    """The lower of the two middle values of each cluster, so that it is one of them."""
    counts = cluster_sizes(values, labels)
    ranked = values[np.lexsort((values, labels))]
    return np.asarray(ranked[np.cumsum(counts) - counts + (counts - 1) // 2][labels])


def _typed_interval(attribute: Attribute, values: Array, labels: Labels) -> Array:
    if attribute.type in _NUMBERS:
        return interval(values, labels)
    if attribute.type is Type.ORDINAL:
        names = _names(attribute)
        rank_of = {name: rank for rank, name in enumerate(names)}
        codes = np.fromiter((rank_of[value] for value in values.tolist()), np.int64, len(values))
    else:
        known, codes = np.unique(values, return_inverse=True)
        names = tuple(texts(known))
    counts = cluster_sizes(codes, labels)
    ranked = codes[np.lexsort((codes, labels))]
    last = np.cumsum(counts)
    pairs = zip(ranked[last - counts].tolist(), ranked[last - 1].tolist(), strict=True)
    held = np.empty(len(counts), dtype=object)
    held[:] = [names[low] if low == high else f"[{names[low]}, {names[high]}]" for low, high in pairs]
    return np.asarray(held[labels])


def _names(attribute: Attribute) -> tuple[str, ...]:
    return attribute.domain.values if isinstance(attribute.domain, Values) else ()


def _truth_as_text(values: Array) -> Array:
    """Truth as `true` and `false`, everything else as it is."""
    if values.dtype.kind != "b":
        return values
    return np.array(texts(values), dtype=object)


# --- centroids --------------------------------------------------------------------------------------------------------

LARGE = 1e280
"""Sums of larger numbers may be beyond a float."""


def cluster_sizes(values: Array, labels: Labels) -> npt.NDArray[np.int64]:
    """The size of each cluster.

    Raises     UsageError where there is not one label for each value, or the clusters are not numbered without gaps.
    """
    if labels.ndim != 1 or labels.shape != values.shape:
        raise UsageError(
            "labels and values do not fit together",
            came=f"shapes {labels.shape} and {values.shape}",
            allowed="one label for each value of a column",
        )
    counts = np.bincount(labels) if not len(labels) or labels.min() >= 0 else np.zeros(1, dtype=np.int64)
    if not counts.all():
        raise UsageError("groups are not numbered 0, 1, 2, … without gaps", fix="number them as they are formed")
    return counts


def mean(values: Array, labels: Labels) -> Floats:
    """The mean of each cluster, from an exact sum that is rounded once, corrected by the exact sum of the remainders.

    Preserves the column's mean, up to the rounding of a float. Exact sums have no order, so the order of the rows does not
    show in the last digit.
    """
    counts = cluster_sizes(values, labels)
    numbers = _finite_numbers(values)
    if not len(numbers):
        return numbers
    down = 64 if np.abs(numbers).max() > LARGE else 0  # so that no sum is infinite
    small, order, ends = np.ldexp(numbers, -down), np.argsort(labels, kind="stable"), np.cumsum(counts).tolist()

    def means(column: Floats) -> Floats:
        held = column[order].tolist()
        return np.array([fsum(held[start:end]) for start, end in pairwise([0, *ends])]) / counts

    first = means(small)
    return np.asarray(np.ldexp(first + means(small - first[labels]), down)[labels])


def median(values: Array, labels: Labels) -> Floats:
    """The median of each cluster; between two middle values, halfway."""
    counts = cluster_sizes(values, labels)
    numbers = _finite_numbers(values)
    ranked = numbers[np.lexsort((numbers, labels))]
    first = np.cumsum(counts) - counts
    lower, upper = ranked[first + (counts - 1) // 2], ranked[first + counts // 2]
    return np.asarray((lower + (upper - lower) / 2)[labels])


def mode(values: Array, labels: Labels) -> Array:
    """The most frequent value of each cluster; of equally frequent ones the smallest."""
    counts = cluster_sizes(values, labels)
    if not len(values):
        return values
    known, codes = np.unique(values, return_inverse=True)
    pairs, often = np.unique(labels.astype(np.int64) * len(known) + codes, return_counts=True)
    order = np.lexsort((pairs % len(known), -often, pairs // len(known)))
    groups = pairs[order] // len(known)
    best = order[np.searchsorted(groups, np.arange(len(counts)))]
    return np.asarray(known[(pairs[best] % len(known))[labels]])


def concept(values: Array, labels: Labels, taxonomy: Taxonomy) -> Array:
    """The least marginal concept of each cluster (SC13 Eq 6.4), of its values and what lies between them in the taxonomy.

    It reads the group, so it promises nothing by itself. The alphabet breaks ties.
    """
    counts = cluster_sizes(values, labels)
    held: list[Counter[str]] = [Counter() for _ in counts]
    for label, value in zip(labels.tolist(), values.tolist(), strict=True):
        held[label][value] += 1
    known: dict[tuple[tuple[str, int], ...], str] = {}
    shown = np.empty(len(counts), dtype=object)
    for group, sample in enumerate(held):
        content = tuple(sorted(sample.items()))
        if content not in known:
            known[content] = taxonomy.centroid(dict(content))
        shown[group] = known[content]
    return np.asarray(shown[labels])


def _finite_numbers(values: Array) -> Floats:
    """A column of finite numbers."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the values are not numbers", allowed="numbers", fix="use the mode, or a taxonomy") from None
    if not np.isfinite(numbers).all():
        raise DataError("values are missing or infinite", allowed="finite numbers", fix="leave those records out")
    return numbers


# --- labels -----------------------------------------------------------------------------------------------------------


def interval(values: Array, labels: Labels) -> Array:
    """`[least, largest]` of each cluster of numbers, both included, or the value itself where there is one."""
    counts = cluster_sizes(values, labels)
    if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise DataError("an interval is of finite numbers", came=f"type {values.dtype}", fix="use a set, or a taxonomy")
    ranked = values[np.lexsort((values, labels))]
    last = np.cumsum(counts)
    lows, highs = ranked[last - counts].tolist(), ranked[last - 1].tolist()
    return _spread(
        [
            _number_text(a) if a == b else f"[{_number_text(a)}, {_number_text(b)}]"
            for a, b in zip(lows, highs, strict=True)
        ],
        labels,
    )


def members(values: Array, labels: Labels) -> Array:
    """`{a, b}`, the different values of each cluster, sorted as text, or the value itself where there is one."""
    held = _values_by_cluster(values, labels)
    return _spread([min(group) if len(group) == 1 else "{" + ", ".join(sorted(group)) + "}" for group in held], labels)


def ancestor(values: Array, labels: Labels, taxonomy: Taxonomy) -> Array:
    """The lowest concept that lies above all values of each cluster, or the value itself where there is one."""
    above: dict[frozenset[str], str] = {}
    names = []
    for group in map(frozenset, _values_by_cluster(values, labels)):
        if group not in above:
            common = set.intersection(*(set(taxonomy.ancestors(value)) for value in group))
            above[group] = max(common, key=taxonomy.depth)
        names.append(above[group])
    return _spread(names, labels)


def _values_by_cluster(values: Array, labels: Labels) -> list[set[str]]:
    """The different values of each cluster, as text."""
    held: list[set[str]] = [set() for _ in cluster_sizes(values, labels)]
    for label, value in zip(labels.tolist(), values.tolist(), strict=True):
        held[label].add(str(value))
    return held


def _number_text(number: float) -> str:
    """A number without a needless decimal point."""
    return f"{int(number)}" if number == int(number) and abs(number) < 1e15 else repr(number)


def _spread(names: list[str], labels: Labels) -> Array:
    shown = np.empty(len(names), dtype=object)
    shown[:] = names
    return np.asarray(shown[labels])


# --- permutation ------------------------------------------------------------------------------------------------------


def shuffle(values: Array, labels: npt.NDArray[np.signedinteger[Any]], source: Source) -> Array:
    """The rows of a column, or of a table, in a uniform order inside each cluster (SC13 §3.3: probabilistic k-anonymity).

    The columns of a table move together: quasi-identifiers keep their relations to each other and lose those to the rest.
    Columns that are to lose each other are shuffled one by one, each with its own clusters. The values of every cluster,
    and so of every column, stay the same to the last bit; one stream of the source is used for each call.
    """
    if labels.ndim != 1 or len(labels) != len(values):
        raise UsageError(
            "labels and values do not fit together",
            came=f"shapes {labels.shape} and {values.shape}",
            allowed="one label for each row",
        )
    return np.asarray(values[source.stream("shuffle").shuffle_within(labels)])
