"""In which cells the tables of a synthetic release are counted where the policy does not say: domains and promise alone decide.

Counting declared cells spends nothing on tables of single attributes, and tells every cell apart. It is the nearer choice
wherever noise does not drown the tables; where it may, cells are merged. How many rows there are is not known here; who plans
with a number of rows is told which cells it speaks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from shoal.data.cells import MOST_COUNTED, cells_of
from shoal.data.schema import Attribute
from shoal.errors import PolicyError
from shoal.guarantee.unit import Unit
from shoal.policy.model.release import ReleaseModel, ViewsModel

MOST_NOISE = 10_000
"""Records to which the noise of all cells of one table may add up on average: a table of so many records is about half noise."""
MOST_CELLS_EACH = 1_000
"""Cells that a table may have on average: about as many as merged ones have at most."""


MOST_NOISE_OF_ROWS = 1.25
"""The same per row, where the number of rows is known: measured on Adult, FARS and 2,400 visits."""


def settle_cells(release: ReleaseModel, published: Sequence[Attribute], unit: Unit) -> ReleaseModel:
    """The release with `cells` written out, for a synthetic table from tables that are named in advance; else as it is."""
    views = _views_without_cells(release)
    if views is None:
        return release
    noise = _noise_of_declared(release, views, published, unit)
    word = "declared" if noise is not None and noise <= MOST_NOISE else "merged"
    return release.model_copy(update={"views": views.model_copy(update={"cells": word})})


def cells_for_rows(asked: ReleaseModel, published: Sequence[Attribute], unit: Unit, rows: int | None) -> str | None:
    """From how many rows on declared cells are nearer, in a sentence; None where the cells are not open, or fit so many rows."""
    views = _views_without_cells(asked)
    noise = None if views is None else _noise_of_declared(asked, views, published, unit)
    if noise is None:
        return None
    taken, other, side = ("declared", "merged", "below") if noise <= MOST_NOISE else ("merged", "declared", "from")
    least = float(f"{noise / MOST_NOISE_OF_ROWS:.2g}")
    where = f"{side} about {least:,.0f} rows" + ("" if side == "below" else " on")
    if rows is None:
        return f"The table is made from {taken} cells; {where} `cells: {other}` comes nearer to the originals."
    if (rows >= least) == (taken == "declared"):
        return None
    add = f"`views: {{every: pairs, cells: {other}}}`" if asked.views is None else f"`cells: {other}` to `views`"
    return (
        f"For {rows:,} rows a table made from {other} cells comes nearer to the originals "
        f"(so it is {where}): add {add}."
    )


def _views_without_cells(release: ReleaseModel) -> ViewsModel | None:
    """The tables of a synthetic release that are named in advance and whose cells the policy leaves open; None elsewhere."""
    views = release.views or ViewsModel(every="pairs")
    chosen = views.choose is not None or (views.adapt is not None and not (views.every or views.workload))
    return None if release.method != "synthetic" or views.cells is not None or chosen else views


def _noise_of_declared(
    release: ReleaseModel, views: ViewsModel, published: Sequence[Attribute], unit: Unit
) -> float | None:
    """The records to which the noise of a table of declared cells adds up on average; None where they cannot all be counted."""
    names = [attribute.name for attribute in published]
    groups = views.first_groups(names) or views.candidates(names, counts=True)
    levels = (release.recoding.levels if release.recoding is not None else None) or {}
    if not release.epsilon or not release.delta or release.delta >= 1:
        return None
    if {name for group in groups for name in group} != {attribute.name for attribute in published}:
        return None  # tables of single attributes hold what is in no wider one
    try:
        sizes = {each.name: len(cells_of(each, levels.get(each.name, 0), MOST_COUNTED)) for each in published}
        cells = sum(math.prod(sizes[name] for name in group) for group in groups) / len(groups)
    except PolicyError:  # what is wrong with the policy is said where it is planned
        return None
    if cells > MOST_CELLS_EACH:
        return None
    from shoal.guarantee.noisy_counts import gaussian_precision

    change = unit.max_rows**2 * (2 if unit.neighbours == "replace_one" else 1)
    sigma = math.sqrt(len(groups) * change / gaussian_precision(release.epsilon, release.delta))
    return math.sqrt(2 / math.pi) * sigma * cells
