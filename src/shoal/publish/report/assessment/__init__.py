"""Risk and utility in the custodian's report: sections from an assessment as plain values."""
