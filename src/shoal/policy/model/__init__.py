"""The policy file as one model: every key, its type and its default."""
