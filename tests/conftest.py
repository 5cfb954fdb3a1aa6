"""What every test shares: profiles for examples, the data folder, long runs by request, the closing gate."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from tests import gate

# No deadlines: a machine with two shared cores makes them a source of noise, not of news.
settings.register_profile("default", max_examples=40, deadline=None, print_blob=True)
settings.register_profile("ci", max_examples=40, deadline=None, print_blob=True, derandomize=True, database=None)
settings.register_profile(
    "slow",
    deadline=None,
    print_blob=True,
    max_examples=5000,
    suppress_health_check=[HealthCheck.too_slow],
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the one switch of our own."""
    parser.addoption("--run-slow", action="store_true", help="run tests marked long, with many more examples")


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile of this run, choose where its files go, and put the gate into the controlling process.

    A run in the background inherits signals that are ignored, and our tests send them.
    """
    write_to_memory()
    for each in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(each) is signal.SIG_IGN:
            signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)
    if config.getoption("--hypothesis-profile", default=None) is None:
        usual = "ci" if gate.is_ci() else "default"
        settings.load_profile("slow" if config.getoption("--run-slow") else usual)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(gate.Gate(), "shoal-gate")


MEMORY = Path("/dev/shm")  # noqa: S108 - the name that Linux gives to the file system in memory
ROOM = 2 << 30
"""Bytes that must be free there: a run has written at most a few hundred million."""


def write_to_memory() -> None:
    """Let temporary files of this run and of what it starts lie in memory, unless TMPDIR says where they go.

    A release is synced to the disk some forty times, and a test learns nothing from waiting for it: what a killed process leaves
    behind is the same in memory. Workers and subprocesses inherit the place.
    """
    with suppress(OSError):
        if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
            os.environ["TMPDIR"] = str(MEMORY)
            tempfile.tempdir = None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect without looking for cycles, and never look for them in what was collected.

    Modules and eleven thousand tests stay until the end. Going through them again and again is a quarter of the time of
    collecting, and makes a search during a test as long as the heap is large: a twentieth of a run. Searches are rarer, too.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 10, 10)
        gc.enable()


def pytest_unconfigure() -> None:
    """At the end everything may be taken apart again, so that libraries do not report it as leaked."""
    gc.unfreeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with Spark. Leave out what takes minutes unless asked: it is deselected, not skipped, because nobody chose it.

    A run with several workers gives each a stretch of the tests in their order, and who has none left takes from the end of
    another's. So one worker runs all tests of modules that use Spark in one session, which starts once and compiles what it runs
    often once; and no test that waits for Java is left for the end, when the others have nothing to do.
    """
    items.sort(key=lambda item: not hasattr(getattr(item, "module", None), "require_spark"))
    if config.getoption("--run-slow"):
        return
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
    items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(scope="session", autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of this run in place of the user's data folder, which holds the user's own ledger; subprocesses inherit it."""
    with pytest.MonkeyPatch.context() as changed:
        home = tmp_path_factory.mktemp("data-home")
        changed.delenv("SHOAL_LEDGER", raising=False)
        changed.setenv("XDG_DATA_HOME", str(home))
        yield home


@pytest.fixture(autouse=True)
def _own_interrupt_handler() -> Iterator[None]:
    """A test finds the handler of Ctrl-C that Python installs: a session of PySpark, which stays, puts its own in its place."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if signal.getsignal(signal.SIGINT) is not before:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _own_data_folder(data_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test writes into its data folder, no other test finds there."""
    monkeypatch.setenv("XDG_DATA_HOME", str(data_home / uuid4().hex))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the papers' tables; a test that needs it is skipped only where it is absent."""
    folder = gate.data_folder()
    if not folder.is_dir():
        pytest.skip(f"{gate.NO_DATA} beside the repository, and SHOAL_DATA names none")
    return folder


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a real PostgreSQL server, which this run starts and ends; skipped where none is installed."""
    from tests.postgresql import ABSENT, find_programs, run_server

    programs = find_programs()
    if programs is None:
        pytest.skip(ABSENT)
    with run_server(programs) as address:
        yield address


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    """The address of a real MariaDB server, which this run starts and ends; skipped where none is installed."""
    from tests.mariadb import ABSENT, find_server, run_server

    program = find_server()
    if program is None:
        pytest.skip(ABSENT)
    with run_server(program) as address:
        yield address


@pytest.fixture(scope="session")
def effort(request: pytest.FixtureRequest) -> int:
    """How many times longer a statistical run may be: 1 in `make test`, 20 in `make slow`."""
    return 20 if request.config.getoption("--run-slow") else 1
