"""Trees: boxes of the declared domain, grown on noisy counts."""
