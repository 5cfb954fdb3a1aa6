"""Plans: everything that will happen, resolved from the policy alone."""
