"""A second opinion: what a table shows, computed from the table alone and sharing nothing with the methods."""
