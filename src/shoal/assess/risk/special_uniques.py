"""Special uniques: minimal sample uniques (MSUs), SUDA scores and DIS-SUDA, as SUDA2 finds them.

A set of attributes is an MSU of a record if no other record matches it there, and some other record matches it on every smaller
set. The fewer attributes tell a record apart, and the more such sets it has, the more likely it is a population unique. With q
attributes and sets of at most M of them, an MSU of size k has the score (Elliot, Manning, Mayes, Gurd and Bane 2005)

    (q − k) (q − k − 1) … (q − M), M at most q − 1

and a record the sum over its MSUs. The scoring `ihsn`, that of sdcMicro up to version 5.0.2, gives an MSU
(2^(q − k) − 1) k! (q − k)! / q!.

DIS is the probability that a unique match is correct: with U uniques, D records in pairs and the sampling fraction p it is
U p / (U p + D (1 − p)) (Skinner and Elliot 2002). DIS-SUDA spreads it over the records by their scores s as sdcMicro does:

    1 / (1 + (U / DIS − U) / (s^Q Σ s^−Q)),  Q = 1 + (8 − q) / 20, the sum over all records that have a score

The search is exact. It goes from small sets to large ones; a record that is unique on a subset is unique on the whole set,
matches nobody there and is left out, and of equal records two are looked at. Manning, Haglin and Keane 2008 search
otherwise and find the same sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial, prod
from typing import Any

import numpy as np

from shoal.assess.disclosure.classes import Floats, Ints, Mask, row_numbers
from shoal.assess.quantity import MODEL, Quantity
from shoal.assess.risk.class_sizes import (
    HIDDEN,
    LENIENT,
    STRICT,
    KeyClasses,
    Keys,
    matching_rows,
    matching_words,
    plain,
)
from shoal.errors import InfeasibleError, ParameterError

MOST_ATTRIBUTES = 27
"""With more attributes the exponent of DIS-SUDA is not positive."""
MOST_SETS = 200_000
"""The most sets of attributes that are looked at."""
ELLIOT, IHSN = "elliot", "ihsn"
DENSE = 4
"""Classes are counted in a table while it has at most so many places for each record, and by sorting beyond."""


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """The minimal sample uniques of a table, and what they say of each record.

    MSU i is the set of attributes with the bits of `sets[i]`, of the record `records[i]`. `scores` and `dis_scores` have one
    number for each record, 0 for those without an MSU; without a sampling fraction there is no DIS. `contributions` has the share
    of the total score in MSUs with each attribute.
    """

    matching: str
    rows: int
    attributes: int
    largest_size: int
    scoring: str
    records: Ints
    sets: Ints
    scores: Floats
    dis_scores: Floats | None
    contributions: tuple[float, ...]
    found: Quantity
    special: Quantity
    dis: Quantity | None
    largest_dis_score: Quantity | None

    @property
    def sizes(self) -> Ints:
        """How many attributes each MSU has."""
        return np.bitwise_count(self.sets).astype(np.int64)

    @property
    def by_size(self) -> dict[int, int]:
        """How many MSUs have each size."""
        counts = np.bincount(self.sizes, minlength=self.largest_size + 1)
        return {size: int(counts[size]) for size in range(1, self.largest_size + 1)}

    def to_json(self) -> dict[str, Any]:
        """Give the summary as plain values for JSON, without the records."""
        return {
            "matching": self.matching,
            "rows": self.rows,
            "attributes": self.attributes,
            "largest_size": self.largest_size,
            "scoring": self.scoring,
            "by_size": {str(size): count for size, count in self.by_size.items()},
            "contributions": list(self.contributions),
            "found": self.found.to_json(),
            "special": self.special.to_json(),
            "dis": plain(self.dis),
            "largest_dis_score": plain(self.largest_dis_score),
        }

    def words(self) -> str:
        """Give the result in sentences."""
        if not len(self.records):
            return f"No record is unique on {self.largest_size} attributes or fewer ({matching_words(self.matching)})."
        least = min(size for size, count in self.by_size.items() if count)
        said = (
            f"{self.found.value:,.0f} of {self.rows:,} records are unique on {self.largest_size} attributes or fewer, "
            f"{self.special.value:,.0f} of them on fewer than all {self.attributes}; the fewest that tell a record apart are "
            f"{least} ({matching_words(self.matching)})."
        )
        if self.dis is None:
            return said
        return f"{said} A unique match is correct with probability {self.dis.value:.3g}, if the table is a simple random sample."


def special_uniques(
    keys: Keys,
    *,
    largest_size: int | None = None,
    fraction: float | None = None,
    matching: str = STRICT,
    scoring: str = ELLIOT,
) -> SpecialUniques:
    """Find all minimal sample uniques up to a size, with SUDA and DIS-SUDA scores.

    Arguments  `keys`: codes, records × quasi-identifiers, −1 for hidden cells; `largest_size`: the most attributes of an MSU, all
               unless given; `fraction`: the share of the population that was sampled, for DIS; `matching`:
               'strict' (a hidden cell is a value like any other) or 'lenient' (it matches anything, so no MSU needs it);
               `scoring`: 'elliot', or 'ihsn' as in earlier versions of sdcMicro
    Raises     DataError for keys that are no table of codes, ParameterError for another size, fraction, matching or scoring,
               InfeasibleError for too many attributes or sets

    >>> found = special_uniques([[2, 0, 0], [1, 3, 6], [1, 0, 0]])
    >>> found.scores.tolist(), found.contributions
    ([2.0, 4.0, 2.0], (0.5, 0.375, 0.375))
    """
    if fraction is not None and not 0 < fraction < 1:
        raise ParameterError(
            "the sampling fraction is not between 0 and 1", came=fraction, allowed="above 0 and below 1"
        )
    classes = KeyClasses.of(keys, matching)
    attributes = classes.tuples.shape[1]
    most = attributes if largest_size is None else largest_size
    worth = _scores_by_size(attributes, most, scoring)
    _refuse_many(attributes, most)
    tuples, sets = minimal_uniques(classes, most)
    sizes = np.bitwise_count(sets).astype(np.int64)
    record_of = np.zeros(len(classes.tuples), dtype=np.int64)
    record_of[classes.place] = np.arange(classes.rows)
    records = record_of[tuples]
    scores = np.bincount(records, weights=worth[sizes], minlength=classes.rows).astype(np.float64)
    total = float(scores.sum())
    shares = [float(worth[sizes][(sets >> i) & 1 == 1].sum()) for i in range(attributes)]
    dis = None if fraction is None else _dis(classes, fraction)
    dis_scores = None if dis is None else _dis_scores(classes, scores, dis.value, attributes)
    told = matching_words(matching)
    with_some = np.unique(records)
    return SpecialUniques(
        matching=matching,
        rows=classes.rows,
        attributes=attributes,
        largest_size=most,
        scoring=scoring,
        records=records,
        sets=sets,
        scores=scores,
        dis_scores=dis_scores,
        contributions=tuple(share / total if total else 0.0 for share in shares),
        found=Quantity.fact(
            len(with_some), f"records with a minimal sample unique of at most {most} attributes; {told}"
        ),
        special=Quantity.fact(
            len(np.unique(records[sizes < attributes])), f"records that are unique on fewer than all attributes; {told}"
        ),
        dis=dis,
        largest_dis_score=None if dis_scores is None else _largest(dis_scores, told),
    )


def minimal_uniques(classes: KeyClasses, largest_size: int) -> tuple[Ints, Ints]:
    """Find the minimal sample uniques of all tuples: the tuple of each, and its attributes as bits.

    Arguments  `classes`: the distinct tuples of a table; `largest_size`: the most attributes of a set. Raises InfeasibleError
               where lenient matching meets too many patterns of hidden cells.
    """
    codes, weights = classes.tuples, np.minimum(classes.counts, 2)
    attributes, columns = codes.shape[1], np.ascontiguousarray(codes.T)
    lenient = classes.matching == LENIENT and bool(np.any(codes == HIDDEN))
    before: dict[tuple[int, ...], Any] = {}
    found: list[tuple[Ints, int]] = []
    for size in range(1, largest_size + 1):
        here: dict[tuple[int, ...], Any] = {}
        for chosen in combinations(range(attributes), size):
            known = np.zeros(-(-len(codes) // 8), dtype=np.uint8)
            for i in range(size if size > 1 else 0):
                known |= before[chosen[:i] + chosen[i + 1 :]]
            unique = np.unpackbits(known, count=len(codes)).view(np.bool_)
            open_rows = np.flatnonzero(~unique)
            if len(open_rows):
                part = np.stack([columns[i][open_rows] for i in chosen]).T
                alone = _alone(part, weights[open_rows], lenient=lenient)
                if alone.any():
                    new = open_rows[alone]
                    found.append((new, sum(1 << i for i in chosen)))
                    unique[new] = True
            if size < largest_size:
                here[chosen] = np.packbits(unique)
        before = here
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return (
        np.concatenate([rows for rows, _ in found]),
        np.concatenate([np.full(len(rows), bits, dtype=np.int64) for rows, bits in found]),
    )


def _alone(codes: Ints, weights: Ints, *, lenient: bool) -> Mask:
    """Say which rows no other row matches, where a row stands for one record or for more."""
    if lenient:
        return np.asarray(matching_rows(codes, weights).sizes == 1)
    numbers = row_numbers(codes)
    if int(numbers.max()) < DENSE * len(numbers):
        return np.asarray(np.bincount(numbers, weights=weights)[numbers] == 1)
    order = np.argsort(numbers)
    changes = np.diff(numbers[order]) != 0
    single = np.append(True, changes) & np.append(changes, True)
    alone = np.empty(len(numbers), dtype=np.bool_)
    alone[order] = single
    return np.asarray(alone & (weights == 1))


def _scores_by_size(attributes: int, largest: int, scoring: str) -> Floats:
    """Give the score of an MSU by its size."""
    if not 1 <= largest <= attributes or int(largest) != largest:
        raise ParameterError("no such largest size of a set", came=largest, allowed=f"1 to {attributes} attributes")
    sizes = range(1, largest + 1)
    if scoring == ELLIOT:
        stop = min(largest, attributes - 1)
        return np.array([0.0] + [float(prod(attributes - i for i in range(size, stop + 1))) for size in sizes])
    if scoring == IHSN:
        q = attributes
        return np.array([0.0] + [(2 ** (q - k) - 1) * factorial(k) * factorial(q - k) / factorial(q) for k in sizes])
    raise ParameterError("no such scoring", came=repr(scoring), allowed=f"{ELLIOT}, {IHSN}")


def _refuse_many(attributes: int, largest: int) -> None:
    sets = sum(comb(attributes, size) for size in range(1, largest + 1))
    if attributes > MOST_ATTRIBUTES or sets > MOST_SETS:
        raise InfeasibleError(
            "too many sets of attributes to look at",
            came=f"{attributes} attributes, {sets:,} sets of at most {largest}",
            allowed=f"at most {MOST_ATTRIBUTES} attributes and {MOST_SETS:,} sets",
            fix="give a smaller largest_size, or fewer attributes",
        )


def _largest(dis_scores: Floats, told: str) -> Quantity:
    how = f"largest DIS-SUDA score, as sdcMicro spreads DIS over records; {told}"
    return Quantity(float(dis_scores.max()), None, None, MODEL, how)


def _dis(classes: KeyClasses, fraction: float) -> Quantity:
    """Estimate the probability that a unique match is correct."""
    sizes = classes.tuple_sizes
    uniques = fraction * float(classes.counts[sizes == 1].sum())
    pairs = (1 - fraction) * float(classes.counts[sizes == 2].sum())
    return Quantity(
        uniques / (uniques + pairs) if uniques else 0.0,
        None,
        None,
        MODEL,
        f"DIS (Skinner and Elliot 2002): probability that a unique match is correct, if the table is a simple random sample of "
        f"{fraction:g} of the population; {matching_words(classes.matching)}",
    )


def _dis_scores(classes: KeyClasses, scores: Floats, dis: float, attributes: int) -> Floats:
    """Spread DIS over the records by their scores, as sdcMicro does."""
    have = scores > 0
    spread = np.zeros(len(scores))
    if not have.any() or dis == 0:
        return spread
    uniques = float(classes.counts[classes.tuple_sizes == 1].sum())
    powers = scores[have] ** (1 + (8 - attributes) / 20)
    spread[have] = 1 / (1 + (uniques / dis - uniques) / (powers * (1 / powers).sum()))
    return spread
