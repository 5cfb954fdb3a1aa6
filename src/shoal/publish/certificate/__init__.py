"""Certificates: what was promised, on which grounds, as JSON and as a page."""
