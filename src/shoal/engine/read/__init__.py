"""Reading: from files and frames to columns, each record by itself, by rules that the policy fixes."""
