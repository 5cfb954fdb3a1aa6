"""Starting is light, every way of failing has its exit code, and nothing but results goes to standard output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import click
import pytest

from shoal import __version__
from shoal.cli import main, typed
from shoal.cli.commands import SUMMARIES
from shoal.errors import BudgetError, DataError, VerificationError
from tests.cli.run import answer, refused, shoal

HEAVY = ("numpy", "scipy", "matplotlib", "dp_accounting", "rich", "jinja2")
SHELL = [sys.executable, "-c", "from shoal.cli import main; main()"]


def fail_with(monkeypatch, error):
    def planted(*_, **__):
        raise error

    monkeypatch.setattr(typed, "whole", planted)
    return shoal("plan", "--k", 2)


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom shoal.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as done:\n    assert done.code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert all(name in done.stdout for name in SUMMARIES)


def test_without_a_command_the_help_is_shown():
    assert shoal().exit_code == 0
    assert "Commands:" in shoal().stdout


@pytest.mark.parametrize("name", list(SUMMARIES))
def test_every_command_has_help_json_and_a_summary_of_its_own(name):
    done = shoal(name, "--help")
    assert done.exit_code == 0
    assert "--json" in done.stdout
    assert "\\b" not in done.stdout
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.help


def test_the_version_is_the_packages():
    assert shoal("--version").stdout == f"shoal {__version__}\n"


def test_an_unknown_command_or_option_is_a_usage_error():
    assert "No such command 'pln'" in refused("pln", code=2)["wrong"]
    assert "--kk" in refused("plan", "--kk", "3", code=2)["wrong"]
    assert shoal("plan", "--k").stderr.endswith("see `shoal plan --help`\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [(VerificationError("it differs"), 3), (BudgetError("it is spent"), 4), (DataError("it is not a table"), 5)],
)
def test_each_kind_of_error_has_its_exit_code(monkeypatch, error, code):
    done = fail_with(monkeypatch, error)
    assert (done.exit_code, done.stdout, done.stderr) == (code, "", f"error: {error}\n")


def test_the_unexpected_is_one_line_without_the_message(monkeypatch):
    monkeypatch.delenv("SHOAL_DEBUG", raising=False)
    done = fail_with(monkeypatch, RuntimeError("row 7: Ada Lovelace"))
    assert done.exit_code == 1
    assert "Ada" not in done.output
    assert "unexpected RuntimeError" in done.stderr
    assert "SHOAL_DEBUG=1" in done.stderr
    assert done.stderr.count("\n") == 1
    fields = answer("plan", "--k", 2, code=1)["error"]
    assert fields["kind"] == "Unexpected"


def test_the_trace_is_shown_on_request(monkeypatch):
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    assert "Traceback" in fail_with(monkeypatch, RuntimeError("planted")).stderr


def test_a_file_that_cannot_be_written_is_named(monkeypatch):
    done = fail_with(monkeypatch, PermissionError(13, "Permission denied", "curve.png"))
    assert (done.exit_code, done.stderr) == (1, "error: Permission denied: curve.png\n")


def test_an_interrupt_is_130(monkeypatch):
    done = fail_with(monkeypatch, KeyboardInterrupt())
    assert done.exit_code == 130
    assert done.stdout == ""


READY = """
import sys
from shoal.cli import main, plan
begin = plan.plan.callback
def ready(**options):
    print("ready", file=sys.stderr, flush=True)
    begin(**options)
plan.plan.callback = ready
main()
"""
"""The command, which says when it has begun: a program that is still loading would not be interrupted in its work."""


@pytest.mark.slow
def test_a_real_interrupt_is_130_and_leaves_no_trace():
    numbers = ["--epsilon", "1", "--delta", "1e-6", "--k", "400", "--rows-per-person", "9", "--frontier"]
    command = [sys.executable, "-c", READY, "plan", *numbers]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    assert running.stderr.readline() == "ready\n"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_reader_that_goes_away_is_not_an_error_of_ours():
    command = [*SHELL, "plan", "--epsilon", "1", "--k", "20", "--beta", "0.1", "--curve"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_standard_output_is_json_alone_and_progress_needs_a_terminal():
    command = [*SHELL, "plan", "--epsilon", "1", "--delta", "1e-6", "--beta", "0.2", "--curve", "--frontier", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["k"] == 12
    assert done.stderr == ""
