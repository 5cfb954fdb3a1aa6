"""What the table means: roles, types, declared domains, hierarchies; no rows here."""
