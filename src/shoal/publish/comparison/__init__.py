"""Methods compared on one real table: what is run and measured, and its page."""
