"""Processes that race each other: their answers, without a time limit that a loaded machine could miss."""

from __future__ import annotations

from multiprocessing import connection
from typing import Any


def outcomes_of(racers: list[Any], results: Any) -> list[Any]:
    """Start the processes and wait for what each puts into the queue; one that dies ends the others and the test."""
    for racer in racers:
        racer.start()
    running = list(racers)
    while running:
        connection.wait([racer.sentinel for racer in running])
        running = [racer for racer in running if racer.is_alive()]
        if any(racer.exitcode not in (None, 0) for racer in racers):
            for racer in running:
                racer.terminate()
            raise AssertionError(f"a process died: {[racer.exitcode for racer in racers]}")
    return [results.get() for _ in racers]
