"""What growing a tree privately costs: noisy tests, noisy measurements."""
