"""The front of microaggregation: a table and k in, the group of each record out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.cluster.approx import approx
from shoal.anonymize.cluster.insensitive import insensitive
from shoal.anonymize.cluster.mdav import Progress, checked, mdav, quiet, vmdav
from shoal.anonymize.cluster.optimal import optimal
from shoal.anonymize.cluster.points import Column, Nominal, Numeric, Scale, points
from shoal.anonymize.cluster.ranking import ranking
from shoal.errors import ParameterError, UsageError

METHODS = ("mdav", "vmdav", "approx", "ranking", "optimal", "insensitive")

Bounds = tuple[float, float]


def microaggregate(
    values: Any,
    k: int,
    method: str = "mdav",
    *,
    scale: str = "deviation",
    gain: float = 0.2,
    domain: Sequence[Bounds] | Mapping[str, Bounds] | None = None,
    turns: int | None = None,
    progress: Progress = quiet,
) -> npt.NDArray[np.int32]:
    """The group of each record, as an int32 array: groups of at least k, numbered as they were formed.

    Values    an array of numbers (rows and columns, or one column), a pandas, Polars or PyArrow frame of numbers, or a
              list of columns that say what they are (`points.Numeric`, `Ordinal`, `Nominal`).
    Methods   mdav, vmdav (with `gain`), approx; ranking, whose answer has a column of labels for each column; optimal, for
              one column; insensitive, which needs the declared `domain` of every column and takes `turns` corners.
    Scale     what makes columns comparable for the first three: 'deviation' (z-scores), 'domain', or 'none'.
    Promise   none by itself: what a group shows decides. Deterministic; ties go to the lowest row.
    """
    if method not in METHODS:
        raise ParameterError("no such method of microaggregation", came=repr(method), allowed=", ".join(METHODS))
    if scale not in {kind.value for kind in Scale}:
        raise ParameterError("no such scale", came=repr(scale), allowed=", ".join(kind.value for kind in Scale))
    columns = _columns(values, domain)
    if method == "insensitive":
        return insensitive(columns, k, turns=turns, progress=progress)
    if method in {"ranking", "optimal"}:
        if any(isinstance(column, Nominal) for column in columns):
            raise UsageError("a nominal column has no ranks", came=method, fix="use 'mdav' or 'insensitive'")
        ranks = np.stack([column.order() for column in columns]).T
        return ranking(ranks, k) if method == "ranking" else optimal(ranks, k)
    places = points(columns, Scale(scale))
    if method == "vmdav":
        return vmdav(places, k, gain=gain, progress=progress)
    return (mdav if method == "mdav" else approx)(places, k, progress=progress)


def _columns(values: Any, domain: Sequence[Bounds] | Mapping[str, Bounds] | None) -> list[Column]:
    """The columns of whatever came, with their domains where those are declared."""
    if isinstance(values, Sequence) and values and all(isinstance(column, Column) for column in values):
        if domain is not None:
            raise UsageError("a domain beside columns that have their own", fix="declare it in each column")
        return list(values)
    named = _frame(values)
    if named is None:
        table = checked(values)
        named = {f"{j}": table[:, j] for j in range(table.shape[1])}
    if domain is None:
        return [Numeric(column, name) for name, column in named.items()]
    bounds = domain if isinstance(domain, Mapping) else dict(zip(named, domain, strict=False))
    if set(bounds) != set(named) or len(domain) != len(named):
        raise UsageError("domains for other columns than there are", came=len(domain), allowed=", ".join(named))
    return [Numeric(column, name, low=bounds[name][0], high=bounds[name][1]) for name, column in named.items()]


def _frame(values: Any) -> dict[str, npt.NDArray[Any]] | None:
    """The columns of a frame by name; None for what is none."""
    if isinstance(values, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    frame: Any = nw.from_native(values, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    if not frame.columns:
        raise UsageError("a frame without columns", fix="bring at least one")
    return {name: frame[name].to_numpy() for name in frame.columns}
