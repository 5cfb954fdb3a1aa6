"""Simulated tables: rows that fit a schema, drawn from its declared domains alone, before anybody looks at the data.

What a careful statistician assumes without data, and nothing more: a few values are common and many are rare, parts of
a hierarchy are common or rare together, numbers have one hump, some cells are missing, some people have many rows, and
attributes depend on each other because people fall into a few kinds. Each source of randomness gives another such table.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.chance.source import Source
from shoal.data.schema import Attribute, Missing, Role, Schema, Type
from shoal.datasets.distributions import Distribution, Floats, Ints, distribution_of, locate, uniform
from shoal.datasets.marginals import Marginals, PublicMarginal, check_marginals
from shoal.errors import ParameterError
from shoal.guarantee.unit import Unit

if TYPE_CHECKING:
    import pyarrow as pa

SKEW = 1.0
"""At 1, the r-th most common value of a branch is r^-0.5 to r^-4 times as common as the first; each attribute draws its own."""
DEPENDENCE = 0.5
"""Half of all cells follow the kind of person that the row is about."""
KINDS = 6
"""Kinds of people, the first of them the most common."""
MOST_ROWS = 50_000_000
MISSING_SHARES = (0.001, 0.05)
"""Where missing values are allowed, half of the attributes have some: a share between these, on a log scale."""


def simulate(
    schema: Schema,
    rows: int,
    source: Source,
    *,
    unit: Unit | None = None,
    marginals: Marginals | None = None,
    skew: float = SKEW,
    dependence: float = DEPENDENCE,
) -> pa.Table:
    """A simulated table of so many rows that fits the schema, as a PyArrow table; the same for the same seed.

    Arguments  unit, whose column names a person: people then have one row or more, a few of them many; marginals, what is
               publicly known (see `marginals.Marginals`), where other attributes are assumed; skew, 0 for values that are
               all equally common; dependence, 0 for attributes that are independent.
    Raises     ParameterError where rows, skew or dependence is out of range; UsageError where an attribute has no domain.

    >>> from shoal.data.domain import Interval
    >>> from shoal.data.schema import Attribute
    >>> schema = Schema((Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 110)),))
    >>> simulate(schema, 1000, Source.seeded(1)).num_rows
    1000
    """
    import pyarrow as pa

    _refuse(rows, skew, dependence)
    known = check_marginals(schema, marginals)
    person = unit.column if unit is not None and unit.whose == "person" else None
    with source.stream("people") as chance:
        who = _people(rows, 1 if unit is None else unit.max_rows, chance) if person is not None else np.arange(rows)
        people = int(who[-1]) + 1
        kind, _ = locate(_kinds(), uniform(chance, people))
    columns: dict[str, pa.Array] = {}
    for attribute in schema.attributes:
        if attribute.role is Role.DROP:
            continue
        # The shape of the world and its rows have bits of their own, so that one world can be seen at several sizes.
        name = attribute.name
        with source.stream(f"world of {name}") as world, source.stream(f"rows of {name}") as chance:
            if attribute.published:
                columns[name] = _cells(attribute, known.get(name), world, chance, kind, who, skew, dependence)
            else:
                columns[name] = _names(attribute, who if name == person else np.arange(rows), world)
    return pa.table(columns)


def _refuse(rows: int, skew: float, dependence: float) -> None:
    if type(rows) is not int or not 1 <= rows <= MOST_ROWS:
        raise ParameterError(
            "the rows of a simulated table are no number that is allowed",
            came=rows,
            allowed=f"a whole number from 1 to {MOST_ROWS:,}",
        )
    if not 0 <= skew <= 10:
        raise ParameterError(
            "the skew of a simulated table is out of range", came=skew, allowed="a number from 0 to 10"
        )
    if not 0 <= dependence <= 1:
        raise ParameterError(
            "the dependence of a simulated table is out of range", came=dependence, allowed="a number from 0 to 1"
        )


def _people(rows: int, most: int, chance: Source) -> Ints:
    """Whose each row is, in order: more than half of the people have one row, a few have far more than take part."""
    many = np.minimum((1 - uniform(chance, rows)) ** (-1 / 1.8), max(20, 10 * most)).astype(np.int64)
    return np.repeat(np.arange(rows), many)[:rows]


def _kinds() -> Floats:
    weights = np.arange(1, KINDS + 1) ** -0.7
    return np.asarray(weights / weights.sum())


def _cells(
    attribute: Attribute,
    known: PublicMarginal | None,
    world: Source,
    chance: Source,
    kind: Ints,
    who: Ints,
    skew: float,
    dependence: float,
) -> pa.Array:
    """One column. Each kind of people has a stretch of places of its own, and where that lies is chance.

    A cell takes a place in the stretch of its kind with the probability `dependence`, anywhere otherwise; stretches
    are as long as kinds are common, so over all rows every place is as likely as any other, and marginals are kept.
    """
    own: Distribution = distribution_of(attribute, world, skew, known)
    order = world.permutation(KINDS)
    length = _kinds()
    begin = np.empty(KINDS)
    begin[order] = np.cumsum(length[order]) - length[order]
    trait, some, share = uniform(world, 3)
    # Half of the attributes belong to the person and are the same in all rows of one; the others belong to the row.
    each = kind if trait < 0.5 else kind[who]
    tied, free = uniform(chance, len(each)) < dependence, uniform(chance, len(each))
    at = np.where(tied, begin[each] + length[each] * free, free)
    at = np.clip(at if trait >= 0.5 else at[who], 0.0, 1 - 2.0**-53)
    low, high = (math.log(end) for end in MISSING_SHARES)
    absent = math.exp(low + (high - low) * share) if some < 0.5 and attribute.missing is Missing.VALUE else 0.0
    gone = uniform(chance, len(who)) < (absent if known is None else known.missing)
    return own.draw(at, gone, chance)


def _names(attribute: Attribute, number: Ints, world: Source) -> pa.Array:
    """A different name for each number, as far as the declared domain has as many."""
    import pyarrow as pa

    if attribute.domain is not None:
        at = (number + 0.5) / (int(number[-1]) + 1)
        return distribution_of(replace(attribute, hierarchy=None), world, 0.0, None).draw(
            at, np.zeros(len(at), bool), world
        )
    if attribute.type in (Type.DATE, Type.DATETIME):
        return pa.array(number.astype(f"datetime64[{'D' if attribute.type is Type.DATE else 's'}]"))
    if attribute.type is Type.BOOLEAN:
        return pa.array(number % 2 == 1)
    if attribute.type.numeric:
        return pa.array(number + 1 if attribute.type is Type.INTEGER else number + 1.0)
    return pa.array(number + 1).cast(pa.string())
