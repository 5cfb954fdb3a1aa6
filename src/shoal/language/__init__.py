"""The language that releases and sessions share: conditions on rows, and the cells of attributes."""
