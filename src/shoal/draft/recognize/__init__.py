"""Recognize what a column is: from its name, from how its values look, and from tables of public codes; with a reason."""
