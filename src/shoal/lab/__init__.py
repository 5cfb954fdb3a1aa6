"""The laboratory: attacks on releases, audits of claims, reproductions of the papers."""
