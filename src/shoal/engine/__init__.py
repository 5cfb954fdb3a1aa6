"""Engines: one protocol of operations on tables (`base`), and DuckDB, which fulfils it."""
