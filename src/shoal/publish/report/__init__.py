"""The custodian's report: what went in, what came out, what was lost."""
