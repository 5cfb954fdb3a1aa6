"""Releases whose guarantee is a property of the table: counted, not proved by chance, and never composed."""
