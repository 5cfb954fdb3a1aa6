"""The closing gate of a run: was a test skipped that could have run, and were there enough tests?

It lives in the controlling process alone. Under xdist the workers collect and run; the controller hears of
every skip by its report, and of the number of tests from the first worker that has collected them.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXCUSE = "cannot run here:"
NO_DATA = f"{EXCUSE} no data folder"
NARROWING = ("keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob", "collectonly")


def is_ci() -> bool:
    """Whether this run is the one that counts."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def data_folder() -> Path:
    """Where the papers' tables lie: SHOAL_DATA, or shared/data beside the repository."""
    named = os.environ.get("SHOAL_DATA")
    return Path(named) if named else ROOT.parent / "shared" / "data"


def floor(pyproject: Path = ROOT / "pyproject.toml") -> int:
    """The least number of tests that a full run collects."""
    return int(tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["shoal"]["tests"]["floor"])


def inexcusable(skips: list[tuple[str, str]], *, strict: bool, data_there: bool) -> list[tuple[str, str]]:
    """The (test, reason) pairs that must not be: unexcused when strict, or missing data that is there."""
    return [
        (test, reason)
        for test, reason in skips
        if (strict and not reason.startswith(EXCUSE)) or (data_there and "no data folder" in reason)
    ]


def is_full_run(config: pytest.Config) -> bool:
    """Nobody named a file, a keyword or a marker: everything was meant to run."""
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not any(
        getattr(config.option, option, None) for option in NARROWING
    )


def reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped, in the words of the one who skipped it."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


class Gate:
    """Listens to a run and closes it with an error when it has a complaint."""

    def __init__(self) -> None:
        self.skips: set[tuple[str, str]] = set()
        self.collected: int | None = None
        self.complaints: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a skip while running; an expected failure is not one."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skips.add((report.nodeid, reason(report)))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a whole file that skipped itself."""
        if report.skipped:
            self.skips.add((report.nodeid, reason(report)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests, without xdist."""
        if self.collected is None:
            self.collected = len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count the tests, with xdist."""
        self.collected = len(ids)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Turn complaints into a failed run."""
        skips = inexcusable(sorted(self.skips), strict=is_ci(), data_there=data_folder().is_dir())
        self.complaints += [f"{test} was skipped and could have run: {why}" for test, why in skips]
        if is_full_run(session.config) and self.collected is not None and self.collected < floor():
            self.complaints.append(f"{self.collected} tests collected; the floor is {floor()}")
        if self.complaints and exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is wrong, above pytest's own closing line."""
        if self.complaints:
            terminalreporter.section("the gate is closed", red=True, bold=True)
            for complaint in self.complaints:
                terminalreporter.line(complaint, red=True)
