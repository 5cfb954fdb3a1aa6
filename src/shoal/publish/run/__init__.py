"""Running a plan: from a table to a folder that exists whole or not at all."""
