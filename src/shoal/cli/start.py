"""The program `shoal`: the command line, without what a command would load and not use."""

from __future__ import annotations

import sys
from typing import Any

from shoal.cli import main


def run() -> None:
    """Run the command line.

    Arrow imports pandas wherever it is installed, which takes longer than a question to a dataset, and asking uses none of it:
    files of statistics programs are decoded by a process of their own.
    """
    if sys.argv[1:2] == ["ask"]:
        modules: dict[str, Any] = sys.modules
        modules.setdefault("pandas", None)
    main()
