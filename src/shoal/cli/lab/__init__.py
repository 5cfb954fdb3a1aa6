"""Commands of the laboratory: audits, and the papers recomputed."""
