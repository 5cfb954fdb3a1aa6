"""One model fitted to noisy tables: it reads published numbers alone, so whatever it says costs no privacy."""
