"""What a person asked for: the policy file, checked, with where each domain and hierarchy came from."""
