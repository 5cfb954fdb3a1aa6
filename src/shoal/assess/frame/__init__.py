"""Published tables for programs: what every label stands for, codes of sets, and frames with proper types."""
