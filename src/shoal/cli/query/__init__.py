"""Commands about a table that stays where it is and answers questions: `shoal dataset` and `shoal ask`."""
