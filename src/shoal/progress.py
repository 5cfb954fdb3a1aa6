"""Progress of long work: whoever works names its stages and says how far each has come; whoever watches shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Protocol, Self, TypeVar

Stage = Callable[[str], None]
"""A function that is called with the name of each stage as it begins, and with a `StageProgress` as it goes on; perhaps by
another thread than the one that began the work."""
Progress = Callable[[int, int], None]
"""A function that is called with how much is done, and how much there is."""
T_co = TypeVar("T_co", covariant=True)


class StageProgress(str):
    """How far a stage has come: a text such as `choosing the recoding (12 %)` that also knows its parts."""

    __slots__ = ("done", "name", "total")

    name: str
    done: int
    total: int

    def __new__(cls, name: str, done: int, total: int) -> Self:
        """The progress of a stage of which `done` steps of `total` are done."""
        made = super().__new__(cls, f"{name} ({100 * done // max(total, 1)} %)")
        made.name, made.done, made.total = name, done, total
        return made


def silent(_: str) -> None:
    """Show nothing: the stage of work that nobody watches."""


def report_progress(stage: Stage, name: str) -> Progress:
    """A progress function that reports a stage, in whole percents."""
    last = -1

    def report(done: int, total: int) -> None:
        nonlocal last
        done = min(done, total)  # what a file says of its size may be wrong
        share = 100 * done // max(1, total)
        if share != last:
            last = share
            stage(StageProgress(name, done, total))

    return report


class _Countable(Sized, Iterable[T_co], Protocol[T_co]):
    """What has a length and can be gone through."""


def each_of(several: _Countable[T_co], stage: Stage, name: str) -> Iterator[T_co]:
    """Go through things one by one, and report how many are done."""
    report = report_progress(stage, name)
    for done, one in enumerate(several):
        report(done, len(several))
        yield one
    report(len(several), len(several))


def within(stage: Stage, words: str) -> Stage:
    """The stages of a part of the work, shown with the name of the part before their own."""

    def report(each: str) -> None:
        if isinstance(each, StageProgress):
            stage(StageProgress(f"{words}, {each.name}", each.done, each.total))
        else:
            stage(f"{words}, {each}")

    return report
