"""Pages and pictures: HTML, plots and SVG from plain values; nothing is computed here."""

import os
from contextlib import suppress
from pathlib import Path


def _spare_missing_home() -> None:
    """Keep matplotlib from making a home that is not there: it takes a temporary folder where it cannot have its own."""
    named = all(os.environ.get(name) for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"))
    with suppress(RuntimeError):  # no home at all
        if not named and not os.path.lexists(Path.home()):
            os.environ.setdefault("MPLCONFIGDIR", str(Path(os.devnull) / "matplotlib"))


_spare_missing_home()
