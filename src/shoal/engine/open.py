"""Engines by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.engine.base import Engine

NAMES = ("duckdb", "reference")


def engine(name: str = "duckdb") -> Engine:
    """The engine of this name, with its usual settings."""
    if name == "duckdb":
        from shoal.engine.duckdb.engine import DuckDB

        return DuckDB()
    if name == "reference":
        from shoal.engine.reference import Reference

        return Reference()
    raise UsageError("no such engine", came=name, allowed=", ".join(NAMES))
