"""The report of `check`: frozen values with the measures of a table, in words and in JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from shoal.assess.disclosure.classes import Ints

VERSION = 1
EDGES = (1, 2, 3, 5, 10, 20, 50, 100)
"""Where the bins of class sizes begin."""
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True)
class Bin:
    """How many classes have from `low` to `high` rows (None: no upper end), and how many rows they hold together."""

    low: int
    high: int | None
    classes: int
    rows: int


@dataclass(frozen=True)
class ClassSizes:
    """The sizes of the classes: their mean, their quantiles, and how many there are in each bin."""

    mean: float
    quantiles: dict[str, int]
    bins: tuple[Bin, ...]

    @classmethod
    def of(cls, sizes: Ints, rows: Ints) -> ClassSizes:
        """Summarize the size of each class and its own rows, which differ under lenient matching."""
        ordered = np.sort(sizes)
        at = {f"{q:g}": int(ordered[max(0, math.ceil(q * len(ordered)) - 1)]) for q in QUANTILES}
        place = np.searchsorted(np.array(EDGES), sizes, side="right") - 1
        classes, held = np.bincount(place, minlength=len(EDGES)), np.zeros(len(EDGES), dtype=np.int64)
        np.add.at(held, place, rows)
        highs = [*(edge - 1 for edge in EDGES[1:]), None]
        bins = tuple(
            Bin(low, high, int(classes[i]), int(held[i]))
            for i, (low, high) in enumerate(zip(EDGES, highs, strict=True))
        )
        return cls(float(sizes.mean()), at, bins)


@dataclass(frozen=True)
class Measures:
    """The worst over all classes of every measure of one confidential attribute; infinite is null in JSON.

    `t` is the earth mover's distance with the ground distance named in `distance`; t_ordered is None where values
    have no order, t_hierarchical where no hierarchy is declared.
    """

    l: int  # noqa: E741 - the literature's letter, and the JSON's
    entropy_l: float
    recursive_l: int
    alpha: float
    t: float
    t_equal: float
    t_ordered: float | None
    t_hierarchical: float | None
    ratio: float
    basic_beta: float
    enhanced_beta: float
    delta_disclosure: float
    delta_disclosure_present: float

    @classmethod
    def worst(cls, several: Sequence[Measures]) -> Measures:
        """Give the worst of each measure: the smallest l, the largest of every other."""
        found: dict[str, Any] = {}
        for field in fields(cls):
            values = [v for v in (getattr(one, field.name) for one in several) if v is not None]
            pick = min if field.name in ("l", "entropy_l", "recursive_l") else max
            found[field.name] = pick(values) if values else None
        return cls(**found)


@dataclass(frozen=True)
class Confidential:
    """One confidential attribute: its measures, and how many classes show one value only."""

    name: str
    values: int
    distance: str
    measures: Measures
    homogeneous_classes: int
    homogeneous_rows: int

    def to_json(self) -> dict[str, Any]:
        """Give the fields as plain values for JSON."""
        return {
            "name": self.name,
            "values": self.values,
            "distance": self.distance,
            **_finite(asdict(self.measures)),
            "homogeneous_classes": self.homogeneous_classes,
            "homogeneous_rows": self.homogeneous_rows,
        }


@dataclass(frozen=True)
class DisclosureReport:
    """What a table discloses. A class is a set of rows with equal quasi-identifiers; k is the size of the smallest class.

    `levels` says which attributes were recoded before counting; `labels` which held no values of their declared type
    and were read as labels.
    """

    rows: int
    quasi: tuple[str, ...]
    levels: dict[str, int]
    labels: tuple[str, ...]
    matching: str
    classes: int
    k: int
    smallest_classes: int
    uniques: int
    sizes: ClassSizes
    recursive_c: float
    confidential: tuple[Confidential, ...]

    def __repr__(self) -> str:
        worst = self.worst
        more = "" if worst is None else f", l = {worst.l}, t = {worst.t:.3g}"
        return f"<DisclosureReport: {self.rows:,} rows in {self.classes:,} classes, k = {self.k}{more}>"

    @property
    def worst(self) -> Measures | None:
        """The worst of each measure over the confidential attributes; None without one."""
        return Measures.worst([one.measures for one in self.confidential]) if self.confidential else None

    @property
    def l(self) -> int | None:  # noqa: E743
        """Distinct l, the smallest over the confidential attributes."""
        return self.worst.l if self.worst else None

    @property
    def t(self) -> float | None:
        """Earth mover's t, the largest over the confidential attributes."""
        return self.worst.t if self.worst else None

    def to_json(self) -> dict[str, Any]:
        """Give the report as plain values for JSON, with a version; infinite numbers are None."""
        worst = self.worst
        return {
            "version": VERSION,
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "l": self.l,
            "t": self.t,
            "matching": self.matching,
            "quasi": list(self.quasi),
            "levels": dict(self.levels),
            "labels": list(self.labels),
            "smallest_classes": self.smallest_classes,
            "uniques": self.uniques,
            "sizes": asdict(self.sizes) | {"bins": [asdict(part) for part in self.sizes.bins]},
            "recursive_c": self.recursive_c,
            "worst": _finite(asdict(worst)) if worst else None,
            "confidential": [one.to_json() for one in self.confidential],
        }

    def words(self) -> str:
        """Give the report in sentences: what the numbers say, and what they do not."""
        same = (
            "have the same quasi-identifiers, a missing or suppressed cell matching only its like"
            if self.matching == "strict"
            else "match, a missing or suppressed cell matching anything"
        )
        share = self.uniques / self.rows
        said = [f"{self.rows:,} rows fall into {self.classes:,} classes of rows that {same}."]
        said.append(
            f"The smallest has {self.k:,}: k = {self.k:,}. {self.uniques:,} rows ({share:.2%}) are alone in theirs."
        )
        for one in self.confidential:
            shown = (
                f"'{one.name}': every class has at least {one.measures.l} of its {one.values:,} values"
                if one.measures.l > 1
                else f"'{one.name}': {one.homogeneous_classes:,} classes ({one.homogeneous_rows:,} rows) show one value only"
            )
            said.append(f"{shown}; t = {one.measures.t:.4g} ({one.distance} distance).")
        said.append("These numbers describe this table. They are no guarantee against what an intruder knows besides.")
        return " ".join(said)


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
