"""Attacks on published tables of generated people: on methods that fail, and on ours beside them."""
