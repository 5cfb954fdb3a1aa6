"""Randomness: one source, keyed by the operating system, and exact draws from it."""
