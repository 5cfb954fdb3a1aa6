"""One release: from a policy to a folder that a stranger can verify."""
