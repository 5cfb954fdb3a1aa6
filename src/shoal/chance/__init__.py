"""Where random bits come from: one door, keyed by the operating system, with exact draws behind it."""
