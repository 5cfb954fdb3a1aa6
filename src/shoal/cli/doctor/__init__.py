"""`shoal doctor`: what this machine, this account and this ledger lack, and what to do about it."""
