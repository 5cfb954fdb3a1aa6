"""What a table discloses about the people in it: k-anonymity, l-diversity, t-closeness and their relatives."""
