"""Risk of disclosure: who could re-identify, single out, link or learn what, each number with its method and its kind."""
