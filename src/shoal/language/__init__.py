"""The language that releases and sessions share: conditions on rows, cells of attributes, verbs, and results."""
