"""Assessment: what a table discloses, what a release says, and what masking changed; computed from tables alone."""
