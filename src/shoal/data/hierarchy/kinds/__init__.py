"""One file for each kind of hierarchy that a policy can declare."""
