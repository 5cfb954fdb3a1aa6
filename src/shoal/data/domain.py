"""Declared domains: the values an attribute may take, from a person or a codebook, never from the data."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.letters import places
from shoal.data.type import texts
from shoal.errors import ParameterError, UsageError

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


def shortened(values: Sequence[str], most: int = 6) -> str:
    """The first few of many declared values, and how many there are."""
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown}, … ({len(values)} values)"


class Domain(ABC):
    """A set of values; says which of many lie inside, and names itself without naming a record."""

    @abstractmethod
    def inside(self, values: Array) -> Mask:
        """Which values belong to the domain; missing ones are not asked about."""

    @abstractmethod
    def words(self) -> str:
        """For messages and certificates."""


@dataclass(frozen=True)
class Interval(Domain):
    """All numbers, dates or times from low to high, both included."""

    low: Any
    high: Any

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ParameterError(
                "a domain's lower end lies above its upper end", came=self.words(), allowed="low <= high"
            )

    def inside(self, values: Array) -> Mask:
        low, high = np.asarray(self.low).astype(values.dtype), np.asarray(self.high).astype(values.dtype)
        return np.asarray((values >= low) & (values <= high))

    def words(self) -> str:
        return f"{self.low}..{self.high}"


@dataclass(frozen=True)
class Values(Domain):
    """A list of values, in their order where they have one."""

    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise UsageError("a domain without values", fix="list at least one value")
        if len(set(self.values)) != len(self.values):
            raise UsageError("a domain lists a value twice", fix="list each value once")

    @cached_property
    def index(self) -> dict[str, int]:
        """Each value's place."""
        return {value: i for i, value in enumerate(self.values)}

    def inside(self, values: Array) -> Mask:
        return np.fromiter((value in self.index for value in texts(values)), dtype=np.bool_, count=len(values))

    def words(self) -> str:
        return shortened(self.values)


@dataclass(frozen=True)
class Pattern(Domain):
    """All texts that match a regular expression as a whole; `length` when all have the same.

    A simple pattern such as `[0-9]{5}` says its length itself.
    """

    pattern: str
    length: int | None = None

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error:
            raise UsageError("a domain's pattern is no regular expression", came=self.pattern) from None
        if self.places is not None and self.length not in (None, len(self.places)):
            raise UsageError("a domain's pattern has another length", came=self.length, allowed=str(len(self.places)))

    @cached_property
    def places(self) -> tuple[str, ...] | None:
        """The letters that may stand at each place, where the pattern is simple enough to tell."""
        return places(self.pattern)

    @property
    def letters(self) -> int | None:
        """How long every text is, as declared or as the pattern says."""
        return self.length if self.places is None else len(self.places)

    def inside(self, values: Array) -> Mask:
        matches = re.compile(self.pattern).fullmatch
        return np.fromiter((matches(value) is not None for value in values.tolist()), dtype=np.bool_, count=len(values))

    def words(self) -> str:
        return f"texts that match {self.pattern}"
