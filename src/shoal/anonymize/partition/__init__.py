"""Who is grouped with whom: a grid fixed in advance, one drawn from a lattice, or a tree of boxes."""
