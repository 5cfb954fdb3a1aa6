"""Progress of long work, shown on a terminal alone: stages, each with a bar and the time left where its work is counted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoal.progress import Stage, StageProgress, silent

if TYPE_CHECKING:
    from rich.progress import Progress


def _on_terminal() -> bool:
    """Whether somebody watches; standard error may also be closed."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


@contextmanager
def stages(first: str = "reading") -> Iterator[Stage]:
    """Show the stages of a run, from the one that is called `first`; call what it yields with the name of each stage, or with its
    `StageProgress`.
    """
    if not _on_terminal():
        yield silent
        return
    with _bars() as bars:
        task, name = bars.add_task(first, total=None), first

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


@contextmanager
def spinner(words: str) -> Iterator[None]:
    """Show one stage, for work whose length is not known."""
    with stages(words):
        yield


class LaterStage:
    """A stage that work is given before anything is shown: what it is told goes to its `watcher` of that moment."""

    def __init__(self) -> None:
        self.watcher: Stage = silent

    def __call__(self, stage: str) -> None:
        self.watcher(stage)


class Steps:
    """Steps of known number: called once for each that is done, while `stage` says what is being done now."""

    def __init__(self, advance: Callable[[], None] = lambda: None, stage: Stage = silent) -> None:
        self._advance, self.stage = advance, stage

    def __call__(self) -> None:
        self._advance()


@contextmanager
def bar(words: str, total: int) -> Iterator[Steps]:
    """Show a bar over all of `total` steps; call what it yields once for each, and its `stage` with what is done in between."""
    if not _on_terminal():
        yield Steps()
        return
    with _bars() as bars:
        task = bars.add_task(words, total=total)

        def show(stage: str) -> None:
            bars.update(task, description=f"{words}, {stage}")

        yield Steps(lambda: bars.update(task, advance=1), show)


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
