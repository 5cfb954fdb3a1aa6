"""Reading inputs: from files and frames to typed columns, each record by itself, by rules that the policy fixes."""
