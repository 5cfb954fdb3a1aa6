"""Progress of long work, shown on a terminal alone: a spinner, a bar, or the stages of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


def _on_terminal() -> bool:
    """Whether somebody watches; standard error may also be closed."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


@contextmanager
def spinner(words: str) -> Iterator[None]:
    """Show a spinner, for work whose length is not known."""
    if not _on_terminal():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield


@contextmanager
def bar(words: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar; call what it yields once for each of `total` steps."""
    if not _on_terminal():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(words, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show the stages of a run; call what it yields with the name of each stage, or with its `StageProgress`."""
    if not _on_terminal():
        yield lambda _: None
        return
    from shoal.anonymize.generalize.base import StageProgress

    with _bars() as bars:
        task, name = bars.add_task("reading", total=None), ""

        def show(stage: str) -> None:
            nonlocal task, name
            share = stage if isinstance(stage, StageProgress) else None
            if name != (share.name if share else stage):
                name = share.name if share else stage
                bars.remove_task(task)
                task = bars.add_task(name, total=share.total if share else None)
            if share:
                bars.update(task, completed=share.done, total=share.total)

        yield show


def _bars() -> Progress:
    """A spinner, the stage's name and how long it has taken; where the amount of work is known also a bar, the percentage and
    the time left.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class KnownTotal(ProgressColumn):
        """A column that stays empty while the amount of work is not known."""

        def __init__(self, inner: ProgressColumn) -> None:
            self._inner = inner
            super().__init__()

        def render(self, task: Task) -> object:  # type: ignore[override]
            return Text("") if task.total is None else self._inner.render(task)

    columns = [
        KnownTotal(each) for each in (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("left"))
    ]
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        *columns,
        console=Console(stderr=True),
        transient=True,
    )
