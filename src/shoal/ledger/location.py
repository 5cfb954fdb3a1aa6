"""Which ledger is meant, and whether it is there: a path that somebody typed is never made by mistake."""

from __future__ import annotations

import os

from shoal.errors import LedgerError
from shoal.ledger.ledger import Ledger
from shoal.ledger.store import ENVIRONMENT, default_url, file_of


def open_ledger(url: str | None = None, *, new: bool = False) -> Ledger:
    """Open the ledger at a path or URL, at SHOAL_LEDGER, or in the user's data folder.

    The one in the user's data folder is made when it is first needed. A path that was typed must be there, because a
    mistyped one would begin with nothing spent; `new` says that it is to be made, and that nothing may be in it. `Ledger.made`
    says whether it was made now.
    """
    path = file_of(url or default_url())
    if path is None:
        return Ledger(url)
    named = url is not None or bool(os.environ.get(ENVIRONMENT))
    if named and not new and not path.exists():
        raise LedgerError(
            "there is no ledger here",
            came=path,
            allowed="the ledger that releases and questions are charged to",
            fix="check the path; say --new-ledger to begin a new one, with nothing spent",
        )
    found = Ledger(url)
    if new and found.datasets():
        found.close()
        raise LedgerError(
            "the ledger is not new: something is in it already",
            came=path,
            fix="leave out --new-ledger, or name another place",
        )
    return found


def would_be_made(url: str | None = None) -> bool:
    """Whether there is no ledger yet at the place that is meant."""
    path = file_of(url or default_url())
    return path is not None and not path.exists()
