"""What a builder of a hierarchy is given, and how every hierarchy is closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.data.domain import Domain
from shoal.data.hierarchy import loss
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import Cuts, Keep, Level, Whole
from shoal.data.line import Line
from shoal.data.type import Type, spelled
from shoal.errors import PolicyError

MOST = 100_000
"""A level of intervals has at most so many labels."""


@dataclass(frozen=True)
class Request:
    """The words of a policy about one hierarchy: kind, its argument, its options, and what they speak of."""

    kind: str
    spec: Mapping[str, Any]
    type: Type
    domain: Domain
    folder: Path | None = None

    @property
    def argument(self) -> Any:
        """What stands behind the kind's own word."""
        return self.spec[self.kind]

    def option(self, name: str) -> Any:
        """An option, or None."""
        return self.spec.get(name)

    def path(self) -> Path:
        """The file that the argument names, beside the policy unless it says otherwise."""
        return (self.folder or Path()) / str(self.argument)

    def wrong(
        self, words: str, *, came: object = None, allowed: str | None = None, fix: str | None = None
    ) -> PolicyError:
        """An error that says which kind of hierarchy it is about."""
        return PolicyError(f"hierarchy by {self.kind}: {words}", came=came, allowed=allowed, fix=fix)

    def many(self, raw: object) -> list[Any]:
        """A list, or one thing for a list of it."""
        if isinstance(raw, Mapping) or raw is None:
            raise self.wrong("a list is needed", came=spelled(raw), fix=f"write {self.kind}: [...]")
        return list(raw) if isinstance(raw, Sequence) and not isinstance(raw, str) else [raw]

    def closed(self, levels: Iterable[Level], losses: Iterable[float], **more: Any) -> Hierarchy:
        """The hierarchy from the value itself over these levels to one label for all."""
        whole: tuple[Level, ...] = tuple(levels)
        ends = bool(whole) and isinstance(whole[-1], Whole)
        shares = tuple(losses)
        return Hierarchy(
            kind=self.kind,
            domain=self.domain,
            levels=(Keep(), *whole) if ends else (Keep(), *whole, Whole()),
            losses=(0.0, *shares) if ends else (0.0, *shares, 1.0),
            spec=plain(self.spec),
            type=self.type,
            **more,
        )

    def of_bins(self, line: Line, bins: Iterable[Bins]) -> Hierarchy:
        """The hierarchy of levels of intervals; it ends where one interval covers the domain."""
        levels: list[Level] = []
        losses: list[float] = []
        for each in bins:
            if not each.edges:
                break
            levels.append(Cuts(tuple(line.edge(at) for at in each.edges), tuple(each.labels)))
            sizes = [line.size(*ends) for ends in zip([None, *each.edges], [*each.edges, None], strict=True)]
            losses.append(loss.of_counts(map(int, sizes)) if line.counted else loss.of_widths(sizes))
        return self.closed(levels, losses)


@dataclass(frozen=True)
class Bins:
    """Inner edges on a line, and one label more than there are edges."""

    edges: Sequence[Any]
    labels: Sequence[str]


def plain(value: Any) -> Any:
    """A specification as plain Python: dicts, lists, and scalars as they came."""
    if isinstance(value, Mapping):
        return {spelled(key) if not isinstance(key, str) else str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value
