"""Groups whose confidential values look like the table's: buckets of values, how many of each a group has, and which records."""
