"""Data swapping: random pairs of records exchange their values of some attributes, inside strata."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.anonymize.treatment.base import Array, Columns, Dependence, Treatment
from shoal.chance.source import Source
from shoal.guarantee.rounding import exact_text


@dataclass(frozen=True)
class DataSwapping(Treatment):
    """Exchange the values of some attributes, all together, between uniformly random disjoint pairs of records of one stratum.

    In a stratum of n records, rate * n / 2 pairs are drawn on average: the number is rounded at random, so that the rate is right
    in small strata too, and never above half of the records. A missing value changes places like any other.

    Promise   nothing: what becomes of a record depends on other records
    Requires  nothing
    Reads     what is exchanged, and the attributes that make the strata
    """

    names: tuple[str, ...]
    rate: Fraction
    strata: tuple[str, ...] = ()

    kind = "swap"

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.names

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.names, *self.strata)

    @property
    def within(self) -> tuple[str, ...]:
        return self.strata

    @property
    def dependence(self) -> Dependence:
        return Dependence.TABLE

    def apply(self, columns: Columns, source: Source) -> dict[str, Array]:
        rows = len(columns[self.names[0]])
        order = np.arange(rows)
        first, second = self.pairs(_strata([columns[name] for name in self.strata], rows), source)
        order[first], order[second] = second, first
        return {name: columns[name][order] for name in self.names}

    def pairs(self, strata: npt.NDArray[np.int64], source: Source) -> tuple[Array, Array]:
        """The two records of each pair, by their places."""
        mixed = source.permutation(len(strata))
        mixed = mixed[np.argsort(strata[mixed], kind="stable")]  # stratum by stratum, each in a uniform order
        sizes = np.bincount(strata)
        starts = np.cumsum(sizes) - sizes
        own = strata[mixed]
        chosen = mixed[np.arange(len(strata)) - starts[own] < 2 * self.count_pairs(sizes, source)[own]]
        return chosen[0::2], chosen[1::2]

    def count_pairs(self, sizes: npt.NDArray[np.int64], source: Source) -> npt.NDArray[np.int64]:
        """How many pairs strata of these sizes get: the right number on average, each rounded up or down by a coin of its own."""
        found = np.zeros(len(sizes), dtype=np.int64)
        for size in np.unique(sizes).tolist():
            same = sizes == size
            wanted = self.rate * size / 2
            whole = int(wanted)
            more = source.bernoulli(wanted - whole, int(same.sum())) if wanted > whole else 0
            found[same] = np.minimum(whole + more, size // 2)
        return found

    @property
    def parameters(self) -> dict[str, str]:
        return {"rate": exact_text(self.rate)}

    def words(self) -> str:
        strata = f" that agree in {', '.join(self.strata)}" if self.strata else ""
        together = f"{', '.join(self.names)} together" if len(self.names) > 1 else self.names[0]
        return (
            f"Random pairs of records{strata} exchange their values of {together}; about {exact_text(self.rate)} of the records "
            "take part (swapping)."
        )


def _strata(columns: list[Array], rows: int) -> npt.NDArray[np.int64]:
    """The stratum of each record: those with the same values, a missing one being a value of its own."""
    found = np.zeros(rows, dtype=np.int64)
    for column in columns:
        absent, codes = np.ma.getmaskarray(column), np.zeros(rows, dtype=np.int64)
        _, codes[~absent] = np.unique(np.ma.getdata(column)[~absent], return_inverse=True)
        codes[absent] = codes.max(initial=0) + 1
        _, found = np.unique(found * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return found.astype(np.int64)
