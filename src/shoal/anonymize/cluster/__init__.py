"""Clustering records: clusters of at least k near records."""
