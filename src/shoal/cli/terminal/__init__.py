"""What every command shares: its help, its options, the numbers that it reads, and what it prints."""
