"""Reproductions: tables and figures of the papers beside ours."""
