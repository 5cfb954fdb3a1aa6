"""Commands about guarantees alone, without a policy or a table: `shoal solve` and `shoal compose`."""
