"""Reproductions of the papers, one file a paper or chapter: printed tables and figures compared with ours."""
