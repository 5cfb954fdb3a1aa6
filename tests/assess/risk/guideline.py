"""The ten records of the practice guide of sdcMicro (Benschop, Machingauta and Welch, tables 4.1 to 4.6), as codes."""

from __future__ import annotations

import numpy as np

URBAN, RURAL = 0, 1
FEMALE, MALE = 0, 1
INCOMPLETE, PRIMARY_INCOMPLETE, COMPLETE, PRIMARY, POST = range(5)
EMPLOYED, OUTSIDE, UNEMPLOYED = range(3)

KEYS = np.array([
    [URBAN, FEMALE, INCOMPLETE, EMPLOYED],
    [URBAN, FEMALE, INCOMPLETE, EMPLOYED],
    [URBAN, FEMALE, PRIMARY_INCOMPLETE, OUTSIDE],
    [URBAN, MALE, COMPLETE, EMPLOYED],
    [RURAL, FEMALE, COMPLETE, UNEMPLOYED],
    [URBAN, MALE, COMPLETE, EMPLOYED],
    [URBAN, FEMALE, PRIMARY, OUTSIDE],
    [URBAN, MALE, POST, UNEMPLOYED],
    [URBAN, FEMALE, INCOMPLETE, OUTSIDE],
    [URBAN, FEMALE, INCOMPLETE, OUTSIDE],
])  # fmt: skip
WEIGHTS = np.array([180, 180, 215, 76, 186, 76, 180, 215, 186, 76])
HEALTH = np.array([1, 1, 1, 1, 1, 0, 0, 1, 0, 1])
"""The confidential attribute of table 4.3."""
HIDDEN_CELLS = KEYS.copy()
HIDDEN_CELLS[3, 2:] = -1
"""Table 4.6: two cells of record 4 are missing."""
