"""The laboratory: reproductions of the papers."""
