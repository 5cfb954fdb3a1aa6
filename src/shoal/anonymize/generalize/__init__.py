"""Dividing the declared domain: generalization schemes fixed, drawn or grown, the same rule for every record."""
