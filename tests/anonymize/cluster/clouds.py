"""Small tables for tests of partitions: scattered, tied and repeated records."""

from __future__ import annotations

import csv

import numpy as np
from hypothesis import strategies as st

EIA = ("UTILITYID", "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE",
       "OTHRSALES", "TOTREVENUE", "TOTSALES")  # fmt: skip


@st.composite
def tables(draw, least=1, most=60, widest=5):
    """Whole numbers of a small range, so that distances tie and records repeat; sometimes scattered ones."""
    rows, width = draw(st.integers(least, most)), draw(st.integers(1, widest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        return rng.integers(0, draw(st.sampled_from([1, 2, 3, 10])), (rows, width)).astype(np.float64)
    return rng.normal(size=(rows, width))


@st.composite
def tables_and_k(draw, most=60, widest=5):
    """A table, and a k that it has room for."""
    table = draw(tables(2, most, widest))
    return table, draw(st.integers(2, min(len(table), 12)))


def loss(table, labels):
    """IL = 100·SSE/SST on z-scores, computed here by itself."""
    scores = (table - table.mean(axis=0)) / table.std(axis=0)
    error = sum(((scores[labels == g] - scores[labels == g].mean(axis=0)) ** 2).sum() for g in np.unique(labels))
    return 100 * error / (scores**2).sum()


def paper_table(folder, name):
    """Census, Tarragona or EIA as the goldens take them."""
    path = {"census": "casc_census/census.csv", "tarragona": "tarragona/tarragona.csv", "eia": "casc_eia/eia.csv"}[name]
    with (folder / path).open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    columns = [names.index(column) for column in (EIA if name == "eia" else names)]
    return np.array([[float(row[j]) for j in columns] for row in rows])
