"""How estimates and their intervals are made: from rows of several samples, from noisy counts, and for means of numbers."""
