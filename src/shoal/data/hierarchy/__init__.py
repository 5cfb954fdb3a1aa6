"""Hierarchies: levels of labels over a declared domain, how they are built, and what each label loses."""
