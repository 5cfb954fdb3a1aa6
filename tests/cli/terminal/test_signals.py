"""A command that a signal ends cleans up undisturbed, says what it had done, and has the exit code of the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from shoal.cli.terminal import numbers, signals
from shoal.cli.terminal.signals import Interrupted, SignalHandler
from shoal.engine.read.input import Input
from shoal.errors import DataError
from tests.cli.custodian import BEFORE, account, asked, furnished
from tests.cli.run import answer, shoal

NUMBERS = [getattr(signal, name) for name in signals.NAMES]
WORDS = dict(zip(NUMBERS, signals.NAMES.values(), strict=True))


def test_the_handlers_are_there_while_a_command_runs_and_not_afterwards(monkeypatch):
    before = [signal.getsignal(number) for number in NUMBERS]
    during = []

    def look(*_, **__):
        during.extend(signal.getsignal(number) for number in NUMBERS)
        return 2

    monkeypatch.setattr(numbers, "read_whole", look)
    shoal("solve", "--k", 2)
    assert all(isinstance(handler, SignalHandler) for handler in during)
    assert [signal.getsignal(number) for number in NUMBERS] == before


@pytest.mark.parametrize("number", NUMBERS)
def test_each_signal_has_its_words_and_its_exit_code(number, monkeypatch):
    monkeypatch.setattr(numbers, "read_whole", lambda *_, **__: signal.raise_signal(number))
    done = shoal("solve", "--k", 2)
    assert (done.exit_code, done.stdout) == (128 + number, "")
    assert done.stderr.strip() == f"error: {WORDS[number]}"
    error = answer("solve", "--k", 2, code=128 + number)["error"]
    assert (error["kind"], error["wrong"], error["exit_code"]) == ("Interrupted", WORDS[number], 128 + number)


def test_a_second_signal_does_not_disturb_the_clean_up(monkeypatch):
    cleaned = []

    @contextmanager
    def folder():
        try:
            yield
        finally:
            signal.raise_signal(signal.SIGINT)
            try:
                raise FileNotFoundError
            except OSError:
                signal.raise_signal(signal.SIGTERM)
            cleaned.append("all of it")

    def work(*_, **__):
        with folder():
            signal.raise_signal(signal.SIGHUP)

    monkeypatch.setattr(numbers, "read_whole", work)
    done = shoal("solve", "--k", 2)
    assert cleaned == ["all of it"]
    assert done.exit_code == 128 + signal.SIGHUP


def test_a_signal_that_was_swallowed_does_not_make_the_next_one_deaf():
    handler = SignalHandler()
    with handler.installed():
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGINT)
        handler.ignore()
        signal.raise_signal(signal.SIGINT)
    assert handler.received == [signal.SIGINT] * 3


def test_an_error_that_a_library_made_of_a_signal_is_still_an_interrupt(monkeypatch):
    def work(*_, **__):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise DataError("the table cannot be read") from None

    monkeypatch.setattr(numbers, "read_whole", work)
    done = shoal("solve", "--k", 2)
    assert done.exit_code == 143
    assert done.stderr == "error: ended by SIGTERM\n"


def test_signals_that_the_caller_ignores_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with SignalHandler().installed():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_while_the_table_is_read_is_no_bad_file(tmp_path, monkeypatch, number):
    place = furnished(tmp_path, rows=40)
    genuine = Input.batches

    def interrupted(self):
        for batch in genuine(self):
            signal.raise_signal(number)
            yield batch

    monkeypatch.setattr(Input, "batches", interrupted)
    done = shoal(*asked(place))
    assert (done.exit_code, done.stdout) == (128 + number, "")
    assert WORDS[number] in done.stderr
    assert "there is no release" in done.stderr
    assert {path.name for path in place.iterdir()} == BEFORE
    assert account(place).costs == ()


STAGES = """
import signal, sys
from shoal.cli import main
from shoal.publish.run import release as run
genuine = run.release
def release(*given, stage, **options):
    def step(name):
        stage(name)
        if str(name).startswith(sys.argv[2]):
            signal.raise_signal(int(sys.argv[1]))
    return genuine(*given, stage=step, **options)
run.release = release
main(sys.argv[3:])
"""
"""A release that sends itself a signal at a stage."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "number"), [("reading", signal.SIGHUP), ("sampling", signal.SIGTERM), ("verifying", signal.SIGHUP)]
)
def test_a_signal_at_a_stage_of_a_release_leaves_nothing_behind(tmp_path, stage, number):
    place, temporary = furnished(tmp_path, rows=40), tmp_path / "tmp"
    temporary.mkdir()
    words = [str(number.value), stage, *map(str, asked(place, "--no-report"))]
    done = subprocess.run(
        [sys.executable, "-c", STAGES, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert (done.returncode, done.stdout) == (128 + number, ""), done.stderr
    assert "there is no release" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in place.iterdir()} == BEFORE | {"tmp"}
    assert list(temporary.iterdir()) == []
    assert len(account(place).costs) == (stage != "reading")
