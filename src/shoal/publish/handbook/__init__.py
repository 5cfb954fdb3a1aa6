"""What the recipient of a release reads first: how to use its files, what every label stands for, and a reader for programs."""
