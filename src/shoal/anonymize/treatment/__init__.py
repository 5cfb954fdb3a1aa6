"""Pre-treatments of official statistics: steps that change values before any method sees them, one small file each."""
