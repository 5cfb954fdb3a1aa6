"""Loops over many rows or many groups, each with a plain twin that gives the same numbers."""
