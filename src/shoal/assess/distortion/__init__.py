"""A masked table compared with its original: information loss, correlations, record linkage."""
