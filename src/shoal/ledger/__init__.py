"""What has been spent: an append-only, hash-chained record of every charge against a dataset's budget."""
