"""A small table of people on both engines, for the methods of near neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.policy.policy import Policy
from tests.engine.oracle import engine_named

ATTRIBUTES: dict[str, Any] = {
    "who": {"role": "identifier", "type": "text"},
    "age": {"role": "quasi", "type": "integer", "domain": [0, 99]},
    "sex": {"role": "quasi", "type": "category", "domain": ["f", "m"]},
    "seen": {"role": "quasi", "type": "date", "domain": ["2024-01-01", "2024-12-31"]},
    "pay": {"role": "confidential", "type": "decimal", "domain": [0, 1000]},
    "grade": {"role": "confidential", "type": "ordinal", "domain": ["low", "middle", "high"]},
    "note": {"role": "other", "type": "text", "domain": {"pattern": "[a-z]*"}},
}


def schema(**roles: str) -> Schema:
    """The table's schema, some attributes with another role."""
    attributes = {name: {**keys, "role": roles.get(name, keys["role"])} for name, keys in ATTRIBUTES.items()}
    head = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
    return Policy.of({**head, "attributes": attributes}).schema


def rows(count: int, seed: int = 0, gaps: float = 0.05) -> pa.Table:
    """People drawn at random; some values are missing."""
    chance = np.random.default_rng(seed)
    days = np.datetime64("2024-01-01") + chance.integers(0, 366, count)

    def holes(values: Any) -> list[Any]:
        return [None if hole else value for value, hole in zip(values, chance.random(count) < gaps, strict=True)]

    return pa.table(
        {
            "who": [f"p{i}" for i in range(count)],
            "age": pa.array(holes(chance.integers(0, 100, count).tolist()), pa.int64()),
            "sex": holes(chance.choice(["f", "m"], count).tolist()),
            "seen": pa.array(holes(days.tolist()), pa.date32()),
            "pay": pa.array(holes(np.round(chance.gamma(3, 50, count).clip(0, 1000), 2).tolist()), pa.float64()),
            "grade": holes(chance.choice(["low", "middle", "high"], count).tolist()),
            "note": chance.choice(["a", "b", "c"], count).tolist(),
        }
    )


def opened(frame: pa.Table, name: str = "duckdb", **roles: str) -> Table:
    """The frame on an engine."""
    return engine_named(name).scan(frame, schema(**roles).with_names("who"))
