"""Optimal data-independent noise: the staircase distribution in one dimension, nested boxes in many."""
