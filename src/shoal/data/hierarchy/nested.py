"""The two laws of a hierarchy, checked: every value has one label at each level, and each level coarsens the last."""

from __future__ import annotations

from itertools import pairwise

from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import Cuts, Groups, Keep, Level, Masked, Whole
from shoal.errors import PolicyError


def check_nested(hierarchy: Hierarchy) -> None:
    """Raise PolicyError unless the hierarchy starts at the value, ends in one label, and coarsens on the way."""
    levels, losses = hierarchy.levels, hierarchy.losses
    if not isinstance(levels[0], Keep) or not isinstance(levels[-1], Whole):
        raise PolicyError("a hierarchy goes from the value itself to one label for all")
    for at, (fine, coarse) in enumerate(pairwise(levels)):
        if not coarsens(fine, coarse):
            raise PolicyError(f"the levels do not nest: level {at + 1} parts what level {at} had put together")
    if any(a > b for a, b in pairwise(losses)) or losses[0] != 0 or losses[-1] != 1:
        raise PolicyError(
            "the losses of a hierarchy rise from 0 to 1", came=", ".join(f"{loss:.4g}" for loss in losses)
        )


def coarsens(fine: Level, coarse: Level) -> bool:
    """Whether values that share a label of the finer level share one of the coarser level too."""
    if isinstance(fine, Keep) or isinstance(coarse, Whole):
        return True
    if isinstance(fine, Cuts) and isinstance(coarse, Cuts):
        return set(coarse.edges) <= set(fine.edges)
    if isinstance(fine, Masked) and isinstance(coarse, Masked):
        return coarse.kept <= fine.kept and (coarse.side, coarse.letter) == (fine.side, fine.letter)
    if isinstance(fine, Groups) and isinstance(coarse, Groups):
        pairs = set(zip(fine.codes, coarse.codes, strict=True))
        return fine.leaves == coarse.leaves and len(pairs) == len({a for a, _ in pairs})
    return False
