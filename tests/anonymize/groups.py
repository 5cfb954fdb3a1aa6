"""Partitions for tests of what a group shows."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def grouped(draw, values):
    """A list of values and the group of each, groups numbered without gaps in any order."""
    held = draw(st.lists(values, min_size=1, max_size=40))
    raw = draw(st.lists(st.integers(0, 5), min_size=len(held), max_size=len(held)))
    return held, np.unique(raw, return_inverse=True)[1].astype(np.int32)
