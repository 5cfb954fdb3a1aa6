"""Commands of a custodian who publishes a table: `shoal plan`, `rehearse`, `release`, `verify` and `share`."""
