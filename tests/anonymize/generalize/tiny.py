"""Tiny tables with hierarchies, and the slow truth about them: classes by dictionaries, laws by enumeration."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np

from shoal.data.domain import Values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import MISSING, GroupLevel, TopLevel, ValueLevel, loss_of_labels
from shoal.data.schema import Attribute, Role, Type
from shoal.engine.base import ABSENT, Counts


def attribute(name: str, values: str, *levels: str, top: bool = True) -> Attribute:
    """A category whose values are letters; each level says the label of each letter; `*` on top."""
    made = [ValueLevel(), *(_groups(values, level) for level in levels), *([TopLevel()] if top else [])]
    losses = [0.0, *(loss_of_labels(level) for level in levels), *([1.0] if top else [])]
    hierarchy = Hierarchy("groups", Values(tuple(values)), tuple(made), tuple(losses), {}, Type.CATEGORY)
    return Attribute(name, Role.QUASI, Type.CATEGORY, Values(tuple(values)), hierarchy)


def _groups(values: str, labels: str) -> GroupLevel:
    found = sorted(set(labels))
    return GroupLevel(tuple(values), tuple(found.index(label) for label in labels), tuple(found))


def counted(names, rows) -> Counts:
    """Rows of letters, None for missing, as an engine would count them."""
    tuples = Counter(rows)
    ordered = sorted(tuples, key=lambda row: [value or "" for value in row])
    values = [np.array(sorted({row[j] for row in rows} - {None}), dtype=object) for j in range(len(names))]
    place = [{value: i for i, value in enumerate(column.tolist())} for column in values]
    codes = tuple(
        np.array([place[j].get(row[j], ABSENT) for row in ordered], dtype=np.int32) for j in range(len(names))
    )
    return Counts(tuple(names), tuple(values), codes, np.array([tuples[row] for row in ordered], dtype=np.int64))


def recoded(lattice, index, rows) -> list[tuple[str, ...]]:
    """Each row as a release by a scheme would show it."""
    levels = levels_of(lattice, index)
    return [tuple(_label(levels[name], value) for name, value in zip(lattice.names, row, strict=True)) for row in rows]


def _label(level, value):
    if isinstance(level, ValueLevel):
        return value
    if value is None:
        return level.label if isinstance(level, TopLevel) else MISSING
    return level.apply(np.array([value], dtype=object))[0]


def log_weights(scores, epsilon, spread):
    """The exponents that `choose_scheme` draws by; all 0 where no row can move any score, so that the draw is uniform."""
    if spread == 0:
        return [Fraction(0)] * len(scores)
    different, codes = np.unique(scores, return_inverse=True)
    each = [epsilon * value / spread for value in different.tolist()]
    return [each[code] for code in codes.tolist()]


def index_of(lattice, scheme) -> int:
    """The number of a scheme."""
    return next(index for index in range(len(lattice)) if lattice.scheme(index) == scheme)


def levels_of(lattice, index):
    """The levels of a scheme, as `Table.recode` takes them."""
    scheme = lattice.scheme(index)
    return {
        one.name: one.hierarchy.level(scheme[one.name]) if one.hierarchy else ValueLevel() for one in lattice.attributes
    }


def chances(scores, epsilon, spread) -> list[float]:
    """The law of the draw."""
    weights = [math.exp(weight) for weight in log_weights(scores, Fraction(epsilon), spread)]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def joint(lattice, rows, score, epsilon, *, same_sample: bool = False) -> Counter:
    """The exact law of (scheme, published table), the scheme chosen on the full table or on the published sample."""
    law: Counter = Counter()
    beta, spread = float(score.beta), score.spread(lattice)
    shown = [recoded(lattice, index, rows) for index in range(len(lattice))]
    full = chances(score.of_all(lattice, counted(lattice.names, rows)), epsilon, spread)
    for kept in product((False, True), repeat=len(rows)):
        chance = math.prod(beta if keep else 1 - beta for keep in kept)
        scheme = full
        if same_sample:
            sample = [row for row, keep in zip(rows, kept, strict=True) if keep]
            scheme = chances(score.of_all(lattice, counted(lattice.names, sample)), epsilon, spread)
        for index, probability in enumerate(scheme):
            classes = Counter(row for row, keep in zip(shown[index], kept, strict=True) if keep)
            published = tuple(sorted((row, size) for row, size in classes.items() if size >= score.k))
            law[index, published] += chance * probability
    return law


def hockey_stick(first: Counter, second: Counter, epsilon: float) -> float:
    """What is left of one law above e^epsilon times the other."""
    ratio = math.exp(epsilon)
    return math.fsum(max(0.0, chance - ratio * second[outcome]) for outcome, chance in first.items())
