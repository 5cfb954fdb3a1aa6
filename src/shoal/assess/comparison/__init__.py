"""Two tables made comparable: each cell is a distribution over the parts of its attribute's domain, whatever its label says."""
