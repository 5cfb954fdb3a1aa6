"""Attribute disclosure by homogeneity: classes that show one confidential value, or nearly, tell it of everybody in them.

No record has to be re-identified for it. The distributions by class are those of `shoal check`; a missing confidential value is
a value like any other. A label that stands for several values tells none of them, however many records of a class show it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shoal.assess.disclosure.classes import Array, ClassDistributions, Ints, Mask, gather
from shoal.assess.disclosure.measures import alpha, distinct_l
from shoal.assess.quantity import Quantity
from shoal.assess.risk.class_sizes import HIDDEN, STRICT, KeyClasses, Keys, matching_words, plain
from shoal.assess.risk.reidentification import check_threshold
from shoal.errors import DataError

DOMINANT = 0.8
"""A value dominates a class above this share unless another is given."""


@dataclass(frozen=True)
class HomogeneityRisk:
    """What the classes give away about one confidential attribute.

    `homogeneous` is the share of records whose class shows one value; `dominated` of those whose class has one value with a
    share above `threshold`; `largest` the largest share of one value in a class; `guessing` the success of an intruder who
    guesses for everybody the most frequent value of their class, and `baseline` that of the table's most frequent value.
    """

    matching: str
    rows: int
    threshold: float
    homogeneous: Quantity
    dominated: Quantity
    largest: Quantity
    guessing: Quantity
    baseline: Quantity

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def words(self) -> str:
        """Give the result in a sentence."""
        return (
            f"{self.homogeneous.value:.2%} of {self.rows:,} records are in classes that show one value, "
            f"{self.dominated.value:.2%} in classes with one value above {self.threshold:.0%}; the most frequent value of the "
            f"class is right for {self.guessing.value:.2%}, that of the table for {self.baseline.value:.2%} "
            f"({matching_words(self.matching)})."
        )


def homogeneity(
    keys: Keys,
    confidential: ArrayLike,
    *,
    matching: str = STRICT,
    threshold: float = DOMINANT,
    valued: ArrayLike | None = None,
) -> HomogeneityRisk:
    """Measure what classes disclose about a confidential attribute.

    Arguments  `keys`: codes, records × quasi-identifiers, −1 for hidden cells; `confidential`: one code for each record, −1 for
               a missing value; `matching`: 'strict' or 'lenient'; `threshold`: the share above which a value dominates;
               `valued`: for each record whether its cell is a value, and no label of several; left out, all are
    Raises     DataError for codes that do not fit, ParameterError for another matching or threshold

    >>> homogeneity([[0], [0], [1], [1]], [7, 7, 7, 8]).homogeneous.value
    0.5
    >>> homogeneity([[0], [0], [1], [1]], [7, 7, 7, 8], valued=[False, False, True, True]).homogeneous.value
    0.0
    """
    limit = check_threshold(threshold)
    classes = KeyClasses.of(keys, matching)
    values = _values(confidential, classes.rows)
    overall = np.bincount(values).astype(np.int64)
    told_of = np.ones(len(overall), dtype=np.bool_)  # whether a code is a value
    if valued is not None:
        told_of[values[~_as_mask(valued, classes.rows)]] = False
    shares = gather(classes.place, values, np.ones(classes.rows, dtype=np.int64), overall)
    blocks: Iterable[tuple[Ints, ClassDistributions]]
    blocks = [(np.arange(len(classes.tuples)), shares)] if classes.matches is None else classes.matches.blocks(shares)
    alone = dominated = 0
    largest = 0.0
    top = np.zeros(len(classes.tuples), dtype=np.int64)
    for members, block in blocks:
        top[members] = _most_frequent(block)
        fine = told_of[top[members]]
        rows, most = classes.counts[members][fine], alpha(block)[fine]
        alone += int(rows[distinct_l(block)[fine] == 1].sum())
        dominated += int(rows[most > limit].sum())
        largest = max(largest, float(most.max(initial=0.0)))
    told = matching_words(matching)
    right = np.count_nonzero((values == top[classes.place]) & told_of[values])
    return HomogeneityRisk(
        matching=matching,
        rows=classes.rows,
        threshold=limit,
        homogeneous=Quantity.fact(alone / classes.rows, f"share of records whose class shows one value; {told}"),
        dominated=Quantity.fact(
            dominated / classes.rows, f"share of records whose class has one value above {limit:g}; {told}"
        ),
        largest=Quantity.fact(largest, f"largest share of one value in a class; {told}"),
        guessing=Quantity.fact(
            right / classes.rows,
            f"share of records with the most frequent value of their class, ties to the first; {told}",
        ),
        baseline=Quantity.fact(
            float(overall[told_of].max(initial=0)) / classes.rows, "share of the most frequent value in the table"
        ),
    )


def _as_mask(valued: ArrayLike, rows: int) -> Mask:
    found: Array = np.asarray(valued)
    if found.shape != (rows,) or found.dtype != np.bool_:
        raise DataError(
            "what says whether cells are values does not fit the keys",
            came=f"an array of shape {found.shape} and type {found.dtype}", allowed=f"{rows} truth values",
        )  # fmt: skip
    return found


def _values(confidential: ArrayLike, rows: int) -> Ints:
    """Give the codes of the confidential attribute without gaps; a missing value is one of them."""
    found: Array = np.asarray(confidential)
    if found.shape != (rows,) or found.dtype.kind not in "iu" or int(found.min()) < HIDDEN:
        raise DataError(
            "the confidential codes do not fit the keys",
            came=f"an array of shape {found.shape} and type {found.dtype}",
            allowed=f"{rows} whole numbers from −1 up",
        )
    return np.unique(found, return_inverse=True)[1].ravel().astype(np.int64)


def _most_frequent(shares: ClassDistributions) -> Ints:
    """Give the most frequent value of each class, the first of several."""
    order = np.lexsort((shares.values, -shares.counts, shares.owner))
    return shares.values[order][shares.starts]
