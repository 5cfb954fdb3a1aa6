"""Clustering records: groups of at least k near records."""
