"""Noisy counts: what is counted on a table, which tables are chosen, and the bins in which they are counted."""
