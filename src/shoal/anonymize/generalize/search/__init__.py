"""One level for each attribute, searched for on the table itself: no differential privacy, and the least loss there is."""
