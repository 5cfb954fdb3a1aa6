"""One page for each named method: what it does, what it promises, what it requires."""
