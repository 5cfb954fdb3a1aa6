"""An original beside its masked version: information loss, correlations, record linkage."""
