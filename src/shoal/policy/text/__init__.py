"""The text of a policy: reading, changing, and what is wrong in it."""
