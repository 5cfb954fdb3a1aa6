"""load → check on the real tables beside the repository, as files and as frames of every kind."""

import pandas as pd
import polars as pl
import pytest
from pyarrow import csv

import shoal
from shoal.policy.policy import Policy

TABLES = {
    "casc_census/census.csv": (1080, ["AGI", "FEDTAX"], "PTOTVAL"),
    "casc_eia/eia.csv": (4092, ["UTILITYID", "MONTH"], "TOTSALES"),
    "tarragona/tarragona.csv": (834, ["FIXED.ASSETS", "SALES"], "NET.PROFIT"),
}


def policy(quasi, confidential):
    numbers = {name: {"role": "quasi", "type": "decimal"} for name in quasi}
    attributes = {**numbers, confidential: {"role": "confidential", "type": "decimal"}}
    return Policy.of(
        {"version": 1, "dataset": "t", "unit": "row", "neighbours": "add_remove", "attributes": attributes}
    )


@pytest.mark.parametrize("name", TABLES)
def test_every_shared_table_from_a_file_and_from_frames(shared_data, name):
    rows, quasi, confidential = TABLES[name]
    path, asked = shared_data / name, policy(quasi, confidential)
    found = shoal.check(path, asked)
    assert found.rows == rows
    assert found.k >= 1
    arrow = csv.read_csv(path)
    for frame in (arrow, pd.read_csv(path), pl.read_csv(path)):
        assert shoal.check(frame, asked).to_json() == found.to_json()
