"""The laboratory: what the papers print, recomputed."""
