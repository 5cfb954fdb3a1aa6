"""Hierarchies in files: CSV as ARX writes it, trees of names, the words of a policy."""
