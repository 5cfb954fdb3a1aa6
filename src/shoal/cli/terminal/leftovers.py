"""What killed runs have left is finished or removed by the next command on its folder or its ledger, which says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli.terminal import output
from shoal.errors import ShoalError

if TYPE_CHECKING:
    from shoal.ledger.ledger import Ledger


def recover_ledger(book: Ledger) -> None:
    """Finish or remove what the ledger waits for, and temporary folders; a ledger that cannot be read says so elsewhere."""
    try:
        said = _recover_runs(book)
    except ShoalError:
        return
    for sentence in said:
        output.note(sentence)


def _recover_runs(book: Ledger) -> list[str]:
    """What is done for the runs that the ledger waits for; where it waits for none, what would finish them is not loaded."""
    from shoal.files.work_folder import sweep_temporary

    try:
        waits = bool(book.runs())
    except ShoalError:
        waits = True
    if waits:
        from shoal.publish.run.recover import recover_runs

        return recover_runs(book)
    swept = sweep_temporary()
    return (
        [f"removed {len(swept):,} temporary folders that runs left when they were killed"] if len(swept) > 1 else swept
    )


def recover_folder(folder: Path, book: Ledger | None = None) -> None:
    """Finish or remove what a killed run left beside a release folder, and temporary folders; what cannot be done now is said.

    `book` is the ledger that is open already. A command that is refused afterwards has said all the same what it did.
    """
    from shoal.files.work_folder import sweep_temporary
    from shoal.publish.run.recover import recover_target

    try:
        said = recover_target(folder, book)
    except ShoalError as error:
        said = [str(error)]
    swept = sweep_temporary()
    if len(swept) > 1:
        swept = [f"removed {len(swept):,} temporary folders that runs left when they were killed"]
    for sentence in (*said, *swept):
        output.note(sentence)
