"""In which cells the tables of a synthetic release are counted where the policy does not say: domains and promise alone decide.

Declared cells tell every value apart, and merged ones have less noise together. Where noise is large, tables of single attributes
are counted beside them for a part of the precision. How many rows there are is not known here; who plans with a number of rows
is told which cells it speaks for. The numbers were measured (decision 0020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from shoal.data.cells import MOST_COUNTED, cells_of
from shoal.data.schema import Attribute
from shoal.errors import PolicyError
from shoal.guarantee.unit import Unit
from shoal.policy.model.release import ReleaseModel, ViewsModel

MOST_NOISE = 30_000
"""Records to which the noise of all cells of one table of declared cells may add up on average."""
MOST_CELLS_EACH = 1_000
"""Cells that a table may have on average: about as many as merged ones have at most."""
SINGLES = ((10_000, Fraction(3, 10)), (3_500, Fraction(3, 20)))
"""From which noise on tables of single attributes are counted beside declared cells, and for which part of the precision."""
MOST_NOISE_OF_ROWS = 4.0
"""The noise per row up to which declared cells are nearer, where the number of rows is known."""


def settle_cells(release: ReleaseModel, published: Sequence[Attribute], unit: Unit) -> ReleaseModel:
    """The release with `cells` and `singles` written out, where a synthetic table is drawn from tables named in advance."""
    views = _views_without_cells(release)
    if views is None:
        return release
    noise = _noise_of_declared(release, views, published, unit)
    is_declared = noise is not None and noise <= MOST_NOISE
    update: dict[str, object] = {"cells": "declared" if is_declared else "merged"}
    names = [attribute.name for attribute in published]
    wide = all(len(group) > 1 for group in views.first_groups(names) or views.candidates(names, counts=True))
    if noise is not None and is_declared and wide and views.singles is None:
        update["singles"] = next((part for least, part in SINGLES if noise >= least), None)
    return release.model_copy(update={"views": views.model_copy(update=update)})


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
    own = f"cells: {other}" + ", singles: 0.3" * (other == "declared" and asked.views is None)
    add = f"`views: {{every: pairs, {own}}}`" if asked.views is None else f"`{own}` to `views`"
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
