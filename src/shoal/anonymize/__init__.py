"""Group, then show: who is grouped with whom, and what a group shows."""
