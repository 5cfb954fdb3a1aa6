"""The two tables of SC13 §3.4, from the data folder: Census and EIA of the CASC project."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError

CENSUS = ("AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL", "INTVAL", "PEARNVAL",
          "FICA", "WSALVAL", "ERNVAL")  # fmt: skip
"""A_1 to A_13, in the order of the thesis: 1 to 6 are quasi-identifiers, 7 to 13 confidential."""

EIA = ("RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE", "OTHRSALES",
       "TOTREVENUE", "TOTSALES")  # fmt: skip
"""The ten figures; that these and no others were taken, all confidential, is read off Table 3.11."""

ROWS = {CENSUS: 1080, EIA: 4092}


def read(path: Path, columns: Sequence[str]) -> npt.NDArray[np.float64]:
    """Some columns of a table as numbers; an error if it is another table than the thesis had."""
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    lacking = [name for name in columns if name not in names]
    if lacking:
        raise DataError(f"{path.name} is another table", came=f"no column {', '.join(lacking)}")
    places = [names.index(name) for name in columns]
    try:
        table = np.array([[float(row[j]) for j in places] for row in rows])
    except (ValueError, IndexError):
        raise DataError(f"{path.name} is another table", allowed=f"numbers in {', '.join(columns)}") from None
    expected = ROWS.get(tuple(columns))
    if expected is not None and len(table) != expected:
        raise DataError(f"{path.name} is another table", came=f"{len(table)} rows", allowed=f"{expected} rows")
    return table
