"""Audits: many runs of a mechanism on two neighbouring tables, which can refute a claim of privacy and never prove it."""
