"""Assessment: what a table discloses, what a release says, what masking changed, and its risks; computed from tables alone.

`shoal.assess` is this room and, called, what `shoal.api.assess` is: a package and a function cannot share a name otherwise.

Arguments  `release`, `original` and the options of `shoal.api.assess`.
Raises     what `shoal.api.assess` raises.

>>> import shoal
>>> shoal.assess("visits-2026", "visits.csv", full=False)
<Assessment of the published rows: 0 attacks, pairs at ...>
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.assess.assessment import Assessment


class _Room(ModuleType):
    """The package `shoal.assess`, which can be called; nothing in the room uses that."""

    def __call__(self, *given: Any, **options: Any) -> Assessment:
        found: Assessment = import_module("shoal.api").assess(*given, **options)
        return found


sys.modules[__name__].__class__ = _Room
