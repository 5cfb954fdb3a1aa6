"""Sampling and safe k-anonymization: the curve delta(epsilon), its inverse, the frontier, the curve of a whole release."""
