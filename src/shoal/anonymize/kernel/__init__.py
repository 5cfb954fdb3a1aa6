"""Loops over many rows or many clusters, compiled where there is much to do, each with a plain twin of the same results."""
