"""Starting is light, every way of failing has its exit code, and nothing but results goes to standard output."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import click
import pytest

from shoal import __version__
from shoal.cli import main
from shoal.cli.group import MODULES
from shoal.cli.terminal import numbers
from shoal.errors import BudgetError, DataError, VerificationError
from tests.cli.run import answer, refused, shoal

HEAVY = ("numpy", "scipy", "matplotlib", "dp_accounting", "rich", "jinja2")
SHELL = [sys.executable, "-c", "from shoal.cli import main; main()"]


def fail_with(monkeypatch, error):
    def planted(*_, **__):
        raise error

    monkeypatch.setattr(numbers, "read_whole", planted)
    return shoal("solve", "--k", 2)


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom shoal.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as done:\n    assert done.code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert all(name in done.stdout for name in MODULES)


ENDED = """
import atexit, gc, sys
from shoal.cli import main
searched = []
gc.callbacks.append(lambda phase, about: searched.append(phase))
atexit.register(lambda: print(gc.get_freeze_count() > 1000, len(searched), file=sys.stderr))
sys.argv = ["shoal", "solve", "--epsilon", "1", "--delta", "1e-6", "--beta", "0.2"]
searched.clear()
main()
"""


def test_a_command_does_not_search_its_modules_for_cycles():
    done = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["True", "0"]


AWAKE = """
import atexit, os, sys
from shoal.cli import main
atexit.register(lambda: print(os.environ["OPENBLAS_THREAD_TIMEOUT"], file=sys.stderr))
sys.argv = ["shoal", "--version"]
main()
"""


@pytest.mark.parametrize("timeout", [None, "20"], ids=["not set", "set by the user"])
def test_idle_threads_of_linear_algebra_sleep_soon_unless_the_user_says_otherwise(timeout):
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    given = others if timeout is None else {**others, "OPENBLAS_THREAD_TIMEOUT": timeout}
    done = subprocess.run([sys.executable, "-c", AWAKE], capture_output=True, text=True, check=True, env=given)
    assert done.stderr.split() == [timeout or "16"]


def test_without_a_command_the_help_is_shown():
    assert shoal().exit_code == 0
    assert "Publish a table:" in shoal().stdout


def walk(command, path):
    """Every command with its path, groups included."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from walk(command.get_command(click.Context(command), name), (*path, name))


COMMANDS = dict(walk(main, ()))
NAMES = [" ".join(path) or "shoal" for path in COMMANDS]


def help_of(path):
    """What `--help` prints; `shoal ask` takes the name of a dataset before the question."""
    words = (path[0], "hospital-visits", *path[1:]) if path[:1] == ("ask",) and len(path) > 1 else path
    done = shoal(*words, "--help")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("path", COMMANDS, ids=NAMES)
def test_every_help_has_a_sentence_two_examples_and_the_next_step(path):
    text, command = help_of(path), COMMANDS[path]
    sentence = " ".join(command.help.split("\n\n")[0].split())
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert sentence in " ".join(text.split())
    assert "\\b" not in text
    assert isinstance(command, click.Group) or "--json" in text
    _, examples = text.split("\nExamples:\n")
    lines = examples.split("\n\n")[0].splitlines()
    assert len(lines) == 2
    assert all(line.startswith("  shoal ") for line in lines)
    _, after = text.split("\nNext:\n")
    assert after.strip()
    assert path == ("completion",) or after.splitlines()[-1].startswith("  shoal ")


@pytest.mark.parametrize("path", COMMANDS, ids=NAMES)
def test_every_example_of_a_help_is_a_command_line_of_that_command(path):
    for example in COMMANDS[path].examples:
        assert reached(example)[: len(path)] == path
    assert all(reached(line) for line in COMMANDS[path].next_lines)


def reached(line):
    """The path of the command that a command line runs."""
    program, *words = shlex.split(line.split(" > ")[0])
    assert program == "shoal"
    return list(parsed(main, [word for word in words if word != "--help"]))[-1]


def test_an_example_that_does_not_parse_is_caught():
    with pytest.raises(click.UsageError):
        reached("shoal solve --epsilonn 1")


def parsed(command, words, path=(), parent=None):
    """The path of each command on the way, every option and argument parsed as in a run; nothing is run."""
    context = command.make_context(path[-1] if path else "shoal", list(words), parent)
    yield path
    if isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        yield from parsed(found, rest, (*path, name), context)


def test_the_version_is_the_packages():
    assert shoal("--version").stdout == f"shoal {__version__}\n"


def test_an_unknown_command_or_option_is_a_usage_error():
    assert "No such command 'pln'" in refused("pln", code=2)["wrong"]
    assert "--kk" in refused("plan", "--kk", "3", code=2)["wrong"]
    assert shoal("solve", "--k").stderr.endswith("see `shoal solve --help`\n")
    assert shoal("plan", "--k").stderr.endswith("see `shoal solve --help`\n")
    assert shoal("ledger", "budget", "x").stderr.endswith("see `shoal ledger budget --help`\n")


def test_a_group_without_a_command_prints_its_help_on_standard_error():
    for name in ("ledger", "dataset", "ask"):
        done = shoal(name)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(f"Usage: shoal {name} ")


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
    fields = answer("solve", "--k", 2, code=1)["error"]
    assert fields["kind"] == "Unexpected"


@pytest.mark.parametrize("name", ["duckdb", "pyarrow.lib", None])
def test_a_broken_installation_is_no_fault_of_ours(monkeypatch, name):
    monkeypatch.delenv("SHOAL_DEBUG", raising=False)
    done = fail_with(monkeypatch, ImportError("undefined symbol", name=name))
    assert done.exit_code == 2
    assert f"cannot be loaded; got {name or 'ImportError'}; install shoal again" in done.stderr
    assert fail_with(monkeypatch, ImportError("no such name", name="shoal.data")).exit_code == 1
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    assert "undefined symbol" in fail_with(monkeypatch, ImportError("undefined symbol", name=name)).stderr


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
from shoal.cli import main
from shoal.cli.guarantee import solve
begin = solve.solve.callback
def ready(**options):
    print("ready", file=sys.stderr, flush=True)
    begin(**options)
solve.solve.callback = ready
main()
"""
"""The command, which says when it has begun: a program that is still loading would not be interrupted in its work."""


@pytest.mark.slow
def test_a_real_interrupt_is_130_and_leaves_no_trace():
    options = ["--epsilon", "1", "--delta", "1e-6", "--k", "400", "--max-rows", "9", "--frontier"]
    command = [sys.executable, "-c", READY, "solve", *options]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    assert running.stderr.readline() == "ready\n"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_reader_that_goes_away_is_not_an_error_of_ours():
    command = [*SHELL, "solve", "--epsilon", "1", "--k", "20", "--beta", "0.1", "--curve"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_standard_output_is_json_alone_and_progress_needs_a_terminal():
    command = [*SHELL, "solve", "--epsilon", "1", "--delta", "1e-6", "--beta", "0.2", "--curve", "--frontier", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["k"] == 12
    assert done.stderr == ""
