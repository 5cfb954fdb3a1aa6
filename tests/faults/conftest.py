"""A server of commands for each worker, and the places that journeys begin from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults import tracer
from tests.faults.journeys import JOURNEYS, Place
from tests.faults.server import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A process that has Shoal loaded and forks commands."""
    why = tracer.why_not()
    if why is not None:
        pytest.skip(f"cannot run here: {why}")
    with Server() as running:
        yield running


@pytest.fixture(scope="session")
def prepared(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Place]:
    """The place that a journey begins from, made once; a test copies it."""
    made: dict[str, Place] = {}

    def prepare(name: str) -> Place:
        if name not in made:
            made[name] = JOURNEYS[name].prepare(tmp_path_factory.mktemp("before") / "place", server)
        return made[name]

    return prepare


@pytest.fixture
def place(prepared: Callable[[str], Place], tmp_path: Path) -> Callable[[str], Place]:
    """A fresh copy of the place that a journey begins from."""
    return lambda name: prepared(name).copy(tmp_path / "place")
