"""Conditions on rows: parsed, typed, reduced to a normal form, and never handed to an engine as text."""
