"""Where chance meets numbers: calibrated noise and choices, each with its guarantee as a value."""
