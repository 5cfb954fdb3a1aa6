"""A grid drawn from all: one level for each attribute, by one paid draw on the whole table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from shoal.anonymize.generalize.base import Partition, Stage, StageProgress
from shoal.anonymize.generalize.exponential import bounded, choose_scheme
from shoal.anonymize.generalize.grid import Grid
from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.scores import SCORES, Score, Target
from shoal.chance.source import Source
from shoal.data.hierarchy.level import Level, ValueLevel
from shoal.data.schema import Schema
from shoal.engine.base import Counts
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact_text

MANY = 100_000
"""From so many schemes on a person is told beforehand that scoring them takes a while."""


@dataclass(frozen=True)
class DrawnGrid(Partition):
    """One draw of the exponential mechanism over all combinations of levels.

    Promise   the levels are epsilon-DP for the unit (theorem `monotone-exponential` with the score's own).
    Requires  k, beta, weights, ranges of levels and the score fixed without the data.
    Reads     the table once.
    """

    schema: Schema
    paid: Fraction
    k: int
    beta: Fraction
    score: str = "ramp"
    target: str | None = None
    steps: int = 1
    """Rows by which neighbours differ: each pays its share, and the unit's price is the sum."""
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    finest: Mapping[str, int] = field(default_factory=dict)
    coarsest: Mapping[str, int] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.schema.published)

    @property
    def epsilon(self) -> Fraction:
        return self.paid

    @cached_property
    def lattice(self) -> Lattice:
        """All combinations that may be drawn; a target keeps one level."""
        coarsest = dict(self.coarsest)
        if self.target is not None:
            coarsest[self.target] = self.finest.get(self.target, 0)
        return Lattice.of(self.schema.published, finest=self.finest, coarsest=coarsest, weights=self.weights)

    @cached_property
    def scoring(self) -> Score:
        """The score, with its proven sensitivity."""
        if self.score not in SCORES:
            raise UsageError("no such score", came=self.score, allowed=", ".join(SCORES))
        if SCORES[self.score] is Target:
            return Target(self.k, self.beta, self.target or "")
        return SCORES[self.score](self.k, self.beta)

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("monotone-exponential", self.scoring.theorem)

    def words(self) -> str:
        found = (
            f"One of {len(self.lattice):,} combinations of levels is drawn on the table for epsilon "
            f"{exact_text(self.epsilon)}, better ones more often (score: {self.score})."
        )
        return f"{found} {self.lattice.rule}" if self.lattice.rule else found

    def work(self) -> str | None:
        schemes, shape = len(self.lattice), self.lattice.shape
        if schemes < MANY:
            return None
        took = (
            "this may take minutes where rows are hundreds of thousands, and longer where epsilon is small"
            if bounded(self.scoring)
            else "all of them are scored, which may take minutes for tens of thousands of rows and hours for millions"
        )
        widest = sorted(range(len(shape)), key=lambda at: -shape[at])[:3]
        named = ", ".join(f"{self.lattice.names[at]} ({shape[at]} levels)" for at in widest)
        return (
            f"one of {schemes:,} combinations of levels will be drawn on the table, after the charge: {took}. "
            f"To have fewer, set release.recoding.choose.finest and coarsest, "
            f"first of {named}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "choose",
            "epsilon": exact_text(self.epsilon),
            "steps": self.steps,
            "schemes": len(self.lattice),
            "score": self.score,
            "sensitivity": exact_text(self.scoring.spread(self.lattice)),
            "restricted": self.lattice.rule,
        }

    @property
    def levels(self) -> Mapping[str, Level]:
        return dict.fromkeys(self.columns, ValueLevel())

    def decide(self, counts: Counts, source: Source, stage: Stage = lambda _: None) -> Grid:
        def progress(done: int, total: int) -> None:
            stage(StageProgress("choosing the recoding", done, total))

        levels = choose_scheme(self.lattice, counts, self.scoring, self.paid / self.steps, source, progress=progress)
        return Grid(self.schema, levels)
