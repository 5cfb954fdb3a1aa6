"""Which questions of a batch are about different people, by their conditions alone, found with a bounded amount of work."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shoal.query.condition.predicate import Atom, Predicate
from shoal.query.condition.sets import Names, Region, Span, Spans
from shoal.query.questions.meaning import Added, Asked

MOST_STEPS = 300_000
"""Steps of comparing in one batch. What is not compared any more counts as not disjoint: that is safe, and only dearer."""


@dataclass
class Work:
    """How much may still be compared."""

    left: int = MOST_STEPS

    def allows(self, steps: int) -> bool:
        """Whether so many steps are left; they are taken off. To have asked for too many is a step too."""
        enough = steps <= self.left
        self.left -= steps if enough else min(1, self.left)
        return enough


def disjoint(first: Asked, second: Asked) -> bool:
    """Whether the conditions alone prove that no row takes part in both questions."""
    return all(one.apart(other) for one in _conditions(first) for other in _conditions(second))


@dataclass(frozen=True)
class Sides:
    """What a question's condition says about single attributes: all its rows lie in each of these regions."""

    asked: Asked
    regions: Mapping[str, Region]
    size: int
    """Steps of its conditions: comparing two of them takes no more than the product of their sizes."""

    @classmethod
    def of(cls, asked: Asked) -> Sides:
        """Read off the condition."""
        conditions = _conditions(asked)
        regions = _sides(conditions[0]) if len(conditions) == 1 else {}
        return cls(asked, regions, sum(_size(condition) for condition in conditions))


@dataclass
class Crowd:
    """Questions of which no two share a row.

    `taken` holds, for attributes that the conditions of all of them restrict, the values that any of them allows: a
    question that allows none of these shares no row with any, and one look tells.
    """

    members: list[Sides] = field(default_factory=list)
    taken: dict[str, Taken] = field(default_factory=dict)

    def joined_by(self, one: Sides, work: Work) -> bool:
        """Take a question in, if it shares no row with those who are there, and if there is work left to find out."""
        if self.members and not self._apart(one, work):
            return False
        if not self.members:
            self.taken = {name: Taken() for name in one.regions}
        self.members.append(one)
        self.taken = {name: taken for name, taken in self.taken.items() if taken.add(one.regions.get(name))}
        return True

    def _apart(self, one: Sides, work: Work) -> bool:
        if not work.allows(one.size):
            return False
        if any(taken.misses(one.regions[name]) for name, taken in self.taken.items() if name in one.regions):
            return True
        return all(work.allows(one.size * other.size) and disjoint(one.asked, other.asked) for other in self.members)


class Taken:
    """Values of one attribute that some questions allow, no two of them the same."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._texts: set[str] = set()
        self._missing = False

    def misses(self, region: Region) -> bool:
        """Whether a region has none of them."""
        if region.missing and self._missing:
            return False
        if isinstance(region, Spans):
            return not any(self._meets(span) for span in region.spans)
        return isinstance(region, Names) and region.inside and self._texts.isdisjoint(region.texts)

    def _meets(self, span: Span) -> bool:
        at = bisect_left(self._spans, span)
        before, after = self._spans[at - 1 : at], self._spans[at : at + 1]
        return any(low <= span[1] and span[0] <= high for low, high in (*before, *after))

    def add(self, region: Region | None) -> bool:
        """Take the values of a region in; False if there is none, or if it cannot be kept in order with the others."""
        if isinstance(region, Spans):
            if any(self._meets(span) for span in region.spans):
                return False
            for span in region.spans:
                insort(self._spans, span)
        elif isinstance(region, Names) and region.inside:
            self._texts |= region.texts
        else:
            return False
        self._missing = self._missing or region.missing
        return True


def _conditions(asked: Asked) -> list[Predicate]:
    if isinstance(asked, Added):
        return [part.where for part in asked.parts]
    where = getattr(asked, "where", None)
    return [where if isinstance(where, Predicate) else Predicate.everything()]


def _sides(condition: Predicate) -> dict[str, Region]:
    """The regions of a condition that is one comparison, or of the comparisons that all have to hold."""
    root = condition.root
    if isinstance(root, Atom):
        return {root.name: root.region}
    atoms: Iterable[Atom] = (part for part in root.parts if isinstance(part, Atom)) if root.every else ()
    return {atom.name: atom.region for atom in atoms}


def _size(condition: Predicate) -> int:
    """How many spans and texts its comparisons list, each of which counts as one at least."""
    return max(1, sum(_length(atom.region) for atom in condition.atoms))


def _length(region: Region) -> int:
    listed = region.spans if isinstance(region, Spans) else region.texts if isinstance(region, Names) else ()
    return max(1, len(listed))
