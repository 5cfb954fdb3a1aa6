"""What a long run is doing, on a terminal: the stage, and where its length is known a bar with the time that is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoal.anonymize.generalize.base import StageProgress

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Call what it yields with the name of each stage, or with a `StageProgress` of one; nothing is shown but on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with _bars() as bars:
        task, name = bars.add_task("reading", total=None), ""

        def stage(text: str) -> None:
            nonlocal task, name
            share = text if isinstance(text, StageProgress) else None
            if name != (share.name if share else text):
                name = share.name if share else text
                bars.remove_task(task)
                task = bars.add_task(name, total=share.total if share else None)
            if share:
                bars.update(task, completed=share.done, total=share.total)

        yield stage


def _bars() -> Progress:
    """A spinner and the stage's name; for a share of known work also a bar, the percentage and the time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Known(ProgressColumn):
        """A column that stays empty while nobody knows how much there is to do."""

        def __init__(self, inner: ProgressColumn) -> None:
            self._inner = inner
            super().__init__()

        def render(self, task: Task) -> object:  # type: ignore[override]
            return Text("") if task.total is None else self._inner.render(task)

    known = [Known(BarColumn()), Known(TaskProgressColumn()), Known(TimeRemainingColumn()), Known(TextColumn("left"))]
    return Progress(
        SpinnerColumn(), TextColumn("{task.description}"), *known, console=Console(stderr=True), transient=True
    )
