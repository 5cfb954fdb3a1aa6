"""What several releases, several rows of one person, or a sample in front make of a guarantee."""
