"""Files and folders that appear whole or not at all, and what a process that was killed leaves of them."""
