"""Tables we generate: people who do not exist, with all that makes real tables hard to publish."""
