"""Writing: rows to files and frames, the same bytes for the same rows."""
