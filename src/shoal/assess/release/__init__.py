"""What a release says to an analyst: estimates with intervals, consistent views, synthetic rows."""
