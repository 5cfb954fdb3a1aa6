"""In which cells the tables of a synthetic release are counted where the policy does not say: domains and promise alone decide.

Counting declared cells spends nothing on tables of single attributes, and tells every cell apart. It is the nearer choice
wherever noise does not drown the tables; where it may, cells are merged. How many rows there are is not known here.
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


def settle_cells(release: ReleaseModel, published: Sequence[Attribute], unit: Unit) -> ReleaseModel:
    """The release with `cells` written out, for a synthetic table from tables that are named in advance; else as it is."""
    views = release.views or ViewsModel(every="pairs")
    chosen = views.choose is not None or (views.adapt is not None and not (views.every or views.workload))
    if release.method != "synthetic" or views.cells is not None or chosen:
        return release
    word = "declared" if _noise_is_small(release, views, published, unit) else "merged"
    return release.model_copy(update={"views": views.model_copy(update={"cells": word})})


def _noise_is_small(release: ReleaseModel, views: ViewsModel, published: Sequence[Attribute], unit: Unit) -> bool:
    names = [attribute.name for attribute in published]
    groups = views.first_groups(names) or views.candidates(names, counts=True)
    levels = (release.recoding.levels if release.recoding is not None else None) or {}
    if not release.epsilon or not release.delta or release.delta >= 1:
        return False
    if {name for group in groups for name in group} != {attribute.name for attribute in published}:
        return False  # tables of single attributes hold what is in no wider one
    try:
        sizes = {each.name: len(cells_of(each, levels.get(each.name, 0), MOST_COUNTED)) for each in published}
        cells = sum(math.prod(sizes[name] for name in group) for group in groups) / len(groups)
    except PolicyError:  # what is wrong with the policy is said where it is planned
        return False
    if cells > MOST_CELLS_EACH:
        return False
    from shoal.guarantee.noisy_counts import gaussian_precision

    change = unit.max_rows**2 * (2 if unit.neighbours == "replace_one" else 1)
    sigma = math.sqrt(len(groups) * change / gaussian_precision(release.epsilon, release.delta))
    return math.sqrt(2 / math.pi) * sigma * cells <= MOST_NOISE
