"""Pictures and paper: plots and HTML from plain values; computes nothing."""
