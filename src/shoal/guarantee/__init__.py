"""Pure mathematics: numbers in, numbers out; no tables, no randomness."""
