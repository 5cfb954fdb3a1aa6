"""Files of other programs: compressed text, workbooks, JSON lines, statistical files and databases, each brought to columns."""
