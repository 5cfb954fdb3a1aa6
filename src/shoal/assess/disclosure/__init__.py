"""What a table shows of the people in it: k, l, t and their relatives."""
