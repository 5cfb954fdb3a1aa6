"""All full-domain schemes over some attributes, one level for each, and what each scheme keeps of the detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, prod

import numpy as np
import numpy.typing as npt

from shoal.anonymize.kernel.rollup import GeneralizedColumn
from shoal.chance import exact
from shoal.data.hierarchy.level import MISSING, OUTSIDE, Level, TopLevel, ValueLevel
from shoal.data.schema import Attribute
from shoal.engine.base import ABSENT, Array, Counts
from shoal.errors import DomainError, ParameterError, UsageError

LIMIT = 2_000_000
"""The largest number of schemes that are all scored."""
GRID = 1_000_000
"""Detail is counted in millionths."""
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Lattice:
    """The generalization lattice: the levels that each attribute may have. A scheme takes one of each; data decide nothing here.

    `levels[i]` are the numbers of the levels kept of attribute i, finest first; `costs[i]` what each takes from the
    detail of a scheme, in millionths. Schemes are numbered with the last attribute changing fastest. `rule` is the
    sentence for the certificate when the lattice was too large and lost levels, else None.

    >>> from shoal.data.domain import Interval
    >>> from shoal.data.hierarchy.build import hierarchy
    >>> from shoal.data.schema import Role, Type
    >>> ages = hierarchy({"intervals": [10, 50]}, Type.INTEGER, Interval(0, 99))
    >>> age = Attribute("age", Role.QUASI, Type.INTEGER, Interval(0, 99), ages)
    >>> len(Lattice.of([age])), Lattice.of([age]).scheme(2)
    (4, {'age': 2})
    """

    attributes: tuple[Attribute, ...]
    levels: tuple[tuple[int, ...], ...]
    costs: tuple[tuple[int, ...], ...]
    rule: str | None = None

    @classmethod
    def of(
        cls,
        attributes: Sequence[Attribute],
        *,
        finest: Mapping[str, int] | None = None,
        coarsest: Mapping[str, int] | None = None,
        weights: Mapping[str, Fraction | int] | None = None,
        limit: int = LIMIT,
    ) -> Lattice:
        """Every level between the finest and the coarsest allowed; an attribute without hierarchy keeps its values.

        Weights say how much the detail of an attribute counts; 1 where nothing is said, and not all 0.
        """
        if not attributes:
            raise UsageError("a lattice without attributes", allowed="one attribute or more")
        names = [attribute.name for attribute in attributes]
        for asked in (finest or {}, coarsest or {}, weights or {}):
            unknown = sorted(set(asked) - set(names))
            if unknown:
                raise UsageError("no such attribute", came=", ".join(unknown), allowed=", ".join(names))
        shares = _shares(names, weights or {})
        ranges = [
            _range(attribute, (finest or {}).get(attribute.name), (coarsest or {}).get(attribute.name))
            for attribute in attributes
        ]
        kept = _restrict(attributes, ranges, shares, limit)
        costs = tuple(
            tuple(ceil(GRID * share * _loss(attribute, level)) for level in levels)
            for attribute, levels, share in zip(attributes, kept, shares, strict=True)
        )
        return cls(tuple(attributes), kept, costs, None if kept == tuple(ranges) else restriction_text(limit))

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each attribute has."""
        return tuple(len(levels) for levels in self.levels)

    def __len__(self) -> int:
        """How many schemes there are."""
        return prod(self.shape)

    def scheme(self, index: int) -> dict[str, int]:
        """The number of the level of each attribute in one scheme."""
        if not 0 <= index < len(self):
            raise UsageError("no such scheme", came=index, allowed=f"0..{len(self) - 1}")
        found: list[int] = []
        for levels in reversed(self.levels):
            index, at = divmod(index, len(levels))
            found.append(levels[at])
        return dict(zip(self.names, reversed(found), strict=True))

    def levels_at(self, places: Sequence[int]) -> dict[str, int]:
        """The number of the level of each attribute, given the places of the levels among those that it may have."""
        return {name: own[place] for name, own, place in zip(self.names, self.levels, places, strict=True)}

    @cached_property
    def detail(self) -> Codes:
        """w(g) of every scheme in millionths: one minus the weighted mean loss of its levels, each part rounded up."""
        total = np.zeros(1, dtype=np.int64)
        for costs in self.costs:
            total = np.add.outer(total, np.array(costs, dtype=np.int64)).ravel()
        return np.maximum(GRID - total, 0)

    def columns(self, counts: Counts) -> list[GeneralizedColumn]:
        """Each attribute as the roll-up takes it; `counts` holds the values as they were read, not recoded.

        A missing value has a label of its own at every level but the one that has one label for everything, as in
        `Table.recode`; so the classes of a scheme are those that a release by it would show.
        """
        if counts.columns != self.names:
            raise UsageError(
                "the counts are of other columns", came=", ".join(counts.columns), allowed=", ".join(self.names)
            )
        return [
            GeneralizedColumn(codes, tuple(_encode(attribute, _level(attribute, level), values) for level in levels))
            for attribute, levels, values, codes in zip(
                self.attributes, self.levels, counts.values, counts.codes, strict=True
            )
        ]


def _level(attribute: Attribute, index: int) -> Level:
    return ValueLevel() if attribute.hierarchy is None else attribute.hierarchy.level(index)


def _loss(attribute: Attribute, index: int) -> Fraction:
    return Fraction(0) if attribute.hierarchy is None else Fraction(attribute.hierarchy.losses[index])


def _shares(names: Sequence[str], weights: Mapping[str, Fraction | int]) -> list[Fraction]:
    """What part of the whole weight each attribute has."""
    each = [exact.fraction(weights.get(name, 1), f"attribute '{name}': its weight") for name in names]
    for name, weight in zip(names, each, strict=True):
        if weight < 0:
            raise ParameterError(f"attribute '{name}': a negative weight", came=weight, allowed="0 and above")
    total = sum(each, Fraction(0))
    if total == 0:
        raise ParameterError(
            "every attribute has weight 0, so no scheme is better than another",
            allowed="weights from 0 up, one of them above 0",
            fix="give an attribute that matters a weight",
        )
    return [weight / total for weight in each]


def _range(attribute: Attribute, finest: int | None, coarsest: int | None) -> tuple[int, ...]:
    """The numbers of the allowed levels."""
    top = 0 if attribute.hierarchy is None else len(attribute.hierarchy) - 1
    low, high = 0 if finest is None else finest, top if coarsest is None else coarsest
    for name, level in (("finest", low), ("coarsest", high)):
        if not 0 <= level <= top:
            raise ParameterError(f"attribute '{attribute.name}': no such {name} level", came=level, allowed=f"0..{top}")
    if low > high:
        raise ParameterError(
            f"attribute '{attribute.name}': no level is allowed",
            came=f"finest {low}, coarsest {high}",
            allowed="finest <= coarsest",
        )
    return tuple(range(low, high + 1))


def _restrict(
    attributes: Sequence[Attribute], ranges: Sequence[tuple[int, ...]], shares: Sequence[Fraction], limit: int
) -> tuple[tuple[int, ...], ...]:
    """The levels that are kept when there may be at most `limit` schemes; `restriction_text` says how in words."""
    if limit < 1:
        raise ParameterError("no scheme is allowed", came=limit, allowed="a whole number from 1 up")
    kept = [list(levels) for levels in ranges]
    while prod(map(len, kept)) > limit:
        most = max(map(len, kept))
        candidates = [i for i, levels in enumerate(kept) if len(levels) == most]
        chosen = min(candidates, key=lambda i: (shares[i], -i))
        levels = kept[chosen]
        if most > 2:
            losses = [_loss(attributes[chosen], level) for level in levels]
            inner = min(range(1, most - 1), key=lambda at: (losses[at + 1] - losses[at - 1], at))
            del levels[inner]
        else:
            del levels[0]
    return tuple(tuple(levels) for levels in kept)


def restriction_text(limit: int) -> str:
    """How a lattice of more schemes is restricted to `limit` of them, in words."""
    return (
        f"the lattice is restricted to {limit:,} schemes without looking at the data: the attribute with most levels (of "
        "several, the one of least weight, then the last) gives up the inner level that differs least in loss from its "
        "neighbours, again and again; once none has more than two, attributes of least weight are held at their coarsest"
    )


def _encode(attribute: Attribute, level: Level, values: Array) -> Codes:
    """The code of the label of each value, and last of a missing one, which ABSENT finds there."""
    if isinstance(level, ValueLevel):
        return np.arange(len(values) + 1, dtype=np.int64)
    if isinstance(level, TopLevel):
        return np.zeros(len(values) + 1, dtype=np.int64)
    if level.labels is not None:
        codes = level.encode(values).astype(np.int64)
        known = {label: code for code, label in enumerate(level.labels)}
        if (codes == OUTSIDE).any():
            raise DomainError(
                f"attribute '{attribute.name}': values that its hierarchy does not list",
                fix="add them to the hierarchy, or set outside: suppress",
            )
    else:
        known = {}
        labels = level.apply(values).tolist()
        codes = np.fromiter(
            (known.setdefault(label, len(known)) for label in labels), dtype=np.int64, count=len(values)
        )
    return np.append(codes, known.get(MISSING, len(known)))


assert ABSENT == -1, "a missing value is looked up at the end"  # noqa: S101
