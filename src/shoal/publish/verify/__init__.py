"""Verification: two verifiers, one of which shares no code with Shoal."""
