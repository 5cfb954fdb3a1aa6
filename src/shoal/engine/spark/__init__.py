"""Spark: rows that lie on many machines, asked by the same operations as those of one."""
