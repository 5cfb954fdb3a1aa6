"""Pages and pictures: HTML, plots and SVG from plain values; nothing is computed here."""
