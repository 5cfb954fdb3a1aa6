"""Questions: what each of them adds up or chooses, and how far one unit can move it."""
