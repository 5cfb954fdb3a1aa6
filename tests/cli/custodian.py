"""What a custodian has before a release: a folder with a policy, a table and, later, a ledger."""

from __future__ import annotations

from pathlib import Path

from shoal.ledger.ledger import Ledger
from shoal.ledger.state import Account
from tests.publish.clinic import policy, write_table

BEFORE = {"policy.yaml", "table.csv", "ledger.sqlite"}
"""What may lie there when nothing was published."""


def furnished(folder: Path, changes: dict[str, object] | None = None, rows: int = 600) -> Path:
    """Put the clinic's policy, with some keys changed, a table and an empty ledger there."""
    Ledger(str(folder / "ledger.sqlite")).close()
    (folder / "policy.yaml").write_text(policy(changes).dump())
    write_table(folder / "table.csv", rows)
    return folder


def asked(folder: Path, *more: object, out: str = "out", table: str = "table.csv") -> tuple[object, ...]:
    """The command line of a release; the ledger's address comes last but for `more`."""
    where = ("--out", folder / out, "--ledger", folder / "ledger.sqlite")
    return ("release", folder / "policy.yaml", folder / table, *where, *more)


def account(folder: Path) -> Account:
    """Where the clinic stands in the folder's ledger."""
    with Ledger(str(folder / "ledger.sqlite")) as book:
        return book.account("clinic")


def nothing_happened(folder: Path) -> bool:
    """No release, no half of one, and nothing charged."""
    return {path.name for path in folder.iterdir()} <= BEFORE and account(folder).costs == ()
