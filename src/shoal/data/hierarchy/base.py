"""A hierarchy: levels of labels over one declared domain, from the value itself to one label for all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Domain
from shoal.data.hierarchy import loss
from shoal.data.hierarchy.files import spec
from shoal.data.hierarchy.files.form import Form
from shoal.data.hierarchy.level import OUTSIDE, Codes, Cuts, Groups, Keep, Level, Masked, Whole
from shoal.data.listing import listed
from shoal.data.type import Type, texts
from shoal.errors import UsageError


@dataclass(frozen=True)
class Hierarchy:
    """Levels from finest (0, the value itself) to coarsest; `losses[i]` in [0, 1] is fixed by the hierarchy alone.

    `outside` lists what a file describes beyond the declared domain; `form` is how that file was written.
    """

    kind: str
    domain: Domain
    levels: tuple[Level, ...]
    losses: tuple[float, ...]
    spec: dict[str, Any]
    type: Type | None = None
    outside: tuple[str, ...] = ()
    form: Form | None = None

    def __post_init__(self) -> None:
        if len(self.levels) != len(self.losses):
            raise UsageError("a hierarchy needs a loss for each level")

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        return f"<Hierarchy {self.kind}: {len(self)} levels>"

    def level(self, index: int) -> Level:
        """One level, or a UsageError that says how many there are."""
        if not 0 <= index < len(self.levels):
            raise UsageError("no such level", came=index, allowed=f"0..{len(self.levels) - 1}")
        return self.levels[index]

    # --- as tables --------------------------------------------------------------------------------------------

    @cached_property
    def values(self) -> tuple[str, ...] | None:
        """The values of the domain as text, in the order of the file it came from; None where they cannot be listed."""
        for level in self.levels:
            if isinstance(level, Groups):
                return level.leaves
        return listed(self.type, self.domain)

    def labels(self, index: int) -> tuple[str, ...] | None:
        """The labels of a level in order of their codes; None where they cannot be listed."""
        level = self.level(index)
        if level.labels is not None:
            return level.labels
        return None if self.values is None else tuple(dict.fromkeys(self._of_values(level)))

    def codes(self, index: int, values: npt.NDArray[Any]) -> Codes:
        """The code of each value at a level, so that its label is `labels(index)[code]`; OUTSIDE for none."""
        level = self.level(index)
        if level.labels is not None:
            return level.place(values)
        labels = self.labels(index)
        if labels is None:
            raise UsageError("the labels of this level cannot be listed", came=self.domain.words())
        code = {label: i for i, label in enumerate(labels)}
        found = texts(values) if isinstance(level, Keep) else level.apply(values).tolist()
        return np.fromiter((code.get(label, OUTSIDE) for label in found), dtype=np.int32, count=len(values))

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """One row for each value: the value, then its label at each level above."""
        if self.values is None:
            raise UsageError(
                "this hierarchy cannot be written as a table: its domain has no list of values",
                came=self.domain.words(),
                fix="keep its specification instead",
            )
        return list(zip(*[self._of_values(level) for level in self.levels], strict=True))

    def _of_values(self, level: Level) -> list[str]:
        """The label of each listed value."""
        values = list(self.values or ())
        if isinstance(level, Keep):
            return values
        if isinstance(level, Cuts):
            raw = np.array(values, dtype=_DTYPES[self.type or Type.INTEGER])
            return list(level.apply(raw).tolist())
        if isinstance(level, Masked):
            return [level.mask(value) for value in values]
        return list(level.apply(np.array(values, dtype=object)).tolist())

    # --- edits ------------------------------------------------------------------------------------------------

    def with_label(self, index: int, old: str, new: str) -> Hierarchy:
        """The same hierarchy with one label of one level renamed."""
        level = self.level(index)
        if isinstance(level, Whole) and not any(isinstance(each, Groups) for each in self.levels):
            raise UsageError("the last label of this hierarchy is fixed", came=old, allowed=level.label)
        if level.labels is None:
            raise UsageError("the labels of this level are made from the values", fix="rename a label of another level")
        if old not in level.labels:
            raise UsageError(f"level {index} has no such label", came=old, allowed=_some(level.labels))
        if new in level.labels and new != old:
            raise UsageError(f"level {index} already uses the label", came=new, fix="move members into it instead")
        edited: Level = Whole(new)
        if isinstance(level, Groups | Cuts):
            edited = replace(level, labels=tuple(new if label == old else label for label in level.labels))
        return self._edited((*self.levels[:index], edited, *self.levels[index + 1 :]))

    def moved(self, member: str, index: int, label: str) -> Hierarchy:
        """The same hierarchy with a member of level `index` under another label.

        A member is a label of the level below, or a value for level 1: with it move all values it stands for,
        and above the level they follow the label they came to.
        """
        level, below = self.level(index), self.level(index - 1) if index > 0 else None
        if below is None or not isinstance(level, Groups) or not isinstance(below, Groups | Keep):
            raise UsageError("only members of groups can be moved", came=f"level {index}, {type(level).__name__}")
        names = below.leaves if isinstance(below, Groups) else level.leaves
        if isinstance(below, Groups):
            names = tuple(below.labels[code] for code in below.codes)
        if member not in names:
            raise UsageError(
                f"level {index} has no such member", came=member, allowed=_some(tuple(dict.fromkeys(names)))
            )
        if label not in level.labels:
            raise UsageError(f"level {index} has no such label", came=label, allowed=_some(level.labels))
        moving = [i for i, name in enumerate(names) if name == member]
        host = level.codes.index(level.labels.index(label))
        levels = [
            _joined(each, moving, host) if at >= index and isinstance(each, Groups) else each
            for at, each in enumerate(self.levels)
        ]
        return self._edited(tuple(levels))

    def _edited(self, levels: tuple[Level, ...]) -> Hierarchy:
        losses = tuple(
            loss.of_labels(level.codes) if isinstance(level, Groups) else known
            for level, known in zip(levels, self.losses, strict=True)
        )
        edited = replace(self, levels=levels, losses=losses)
        tables = any(isinstance(level, Groups) for level in levels)
        # What it was read from no longer says what it is.
        words = spec.of_levels(self.kind, levels, edited.rows if tables else ())
        return replace(edited, kind=self.kind if tables else "cuts", spec=words)


def _joined(level: Groups, moving: list[int], host: int) -> Groups:
    """The table in which some leaves have the label of another, without labels that nobody has any more."""
    codes = list(level.codes)
    for leaf in moving:
        codes[leaf] = codes[host]
    used = [code for code in range(len(level.labels)) if code in set(codes)]
    new = {code: i for i, code in enumerate(used)}
    return Groups(level.leaves, tuple(new[code] for code in codes), tuple(level.labels[code] for code in used))


def _some(labels: tuple[str, ...]) -> str:
    return ", ".join(labels[:8]) + (", …" if len(labels) > 8 else "")


_DTYPES = {
    Type.INTEGER: "int64",
    Type.DECIMAL: "float64",
    Type.DATE: "datetime64[D]",
    Type.DATETIME: "datetime64[us]",
}
