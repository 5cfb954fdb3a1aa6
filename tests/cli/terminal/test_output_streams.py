"""Standard output that is full, closed, left by its reader or knows ASCII alone: said clearly, and what was done stands."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys

import pytest

from shoal.cli import main
from tests.cli.custodian import account, asked, furnished
from tests.cli.run import shoal

SOLVE = ("solve", "--epsilon", "1", "--k", "20", "--beta", "0.1")


@contextlib.contextmanager
def stream(kind):
    """A standard output that cannot be written to."""
    if kind == "closed":
        yield None
        return
    if kind == "full":
        number = os.open("/dev/full", os.O_WRONLY)
    else:
        read, number = os.pipe()
        os.close(read)
    file = io.TextIOWrapper(io.FileIO(number, "w"), encoding="utf-8", write_through=True)
    yield file
    with contextlib.suppress(OSError):
        file.close()


def run(monkeypatch, out, *words):
    """The exit code, and what stands on standard error."""
    err = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    try:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
    finally:
        monkeypatch.undo()
    return ended.value.code, err.getvalue()


REASONS = {"full": "No space left on device", "closed": "standard output is closed", "left": "Broken pipe"}


@pytest.mark.parametrize("words", [SOLVE, (*SOLVE, "--json"), ("--help",), ("--version",), ("ledger", "--help"), ()])
@pytest.mark.parametrize("kind", REASONS)
def test_a_result_that_cannot_be_printed(monkeypatch, kind, words):
    with stream(kind) as out:
        code, err = run(monkeypatch, out, *words)
    assert code == 1
    assert "Traceback" not in err
    if kind == "left":  # as in `shoal solve ... | head`: nothing is wrong
        assert err == ""
    else:
        assert REASONS[kind] in err
        assert err.endswith("nothing was changed: run it again with another output\n")
        assert err.count("\n") == 1


@pytest.mark.parametrize("kind", REASONS)
def test_an_error_in_json_that_cannot_be_printed(monkeypatch, kind):
    with stream(kind) as out:
        code, err = run(monkeypatch, out, "solve", "--k", "x", "--json")
    assert code == 1
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize("kind", REASONS)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_release_that_was_made_is_not_said_to_have_failed(monkeypatch, tmp_path, kind, form):
    place = furnished(tmp_path, rows=40)
    with stream(kind) as out:
        code, err = run(monkeypatch, out, *asked(place, "--no-report", *form))
    assert code == 1
    assert REASONS[kind] in err
    assert f"the release was made and stands: {place / 'out'}" in err
    assert (place / "out" / "certificate.json").is_file()
    assert (len(account(place).costs), account(place).releases) == (1, 1)
    assert shoal("verify", place / "out").exit_code == 0


@pytest.mark.slow
def test_an_answer_that_was_charged_is_on_record(monkeypatch, tmp_path):
    place = furnished(tmp_path, rows=40)
    ledger = ("--ledger", place / "ledger.sqlite")
    with stream("full") as out:
        code, err = run(monkeypatch, out, "dataset", "register", place / "policy.yaml", place / "table.csv", *ledger)
        assert (code, "'clinic' is registered" in err) == (1, True)
    with stream("full") as out:
        code, err = run(monkeypatch, out, "ask", "clinic", "count", "--epsilon", "1", *ledger)
        assert (code, "the same question again gives it once more, free of charge" in err) == (1, True)
    assert "it is on record" in shoal("ask", "clinic", "count", "--epsilon", "1", *ledger).stdout
    assert len(account(place).costs) == 1


@pytest.mark.parametrize("err", [None, "full"])
def test_notes_that_nobody_can_read_do_not_stop_a_command(monkeypatch, err, tmp_path):
    with stream("full") as full:
        out = io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", None if err is None else full)
        with pytest.raises(SystemExit) as ended:
            main(["ledger", "budget", "x", "--epsilon", "1", "--delta", "0", "--reason", "r", "--new-ledger",
                  "--ledger", str(tmp_path / "ledger.sqlite")])  # fmt: skip
        monkeypatch.undo()
    assert ended.value.code == 0
    assert "budget" in out.getvalue()


def test_letters_that_the_terminal_does_not_know_are_spelled_out(monkeypatch):
    held = io.BytesIO()
    plain = io.TextIOWrapper(held, encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", plain)
    monkeypatch.setattr(sys, "stderr", plain)
    with pytest.raises(SystemExit) as ended:
        main(["plan", "Käse-\udcff.yaml"])
    monkeypatch.undo()
    assert ended.value.code == 2
    assert rb"K\xe4se-\udcff.yaml" in held.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("setting", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
                                     {"PYTHONIOENCODING": "ascii"}])  # fmt: skip
def test_another_locale(setting, tmp_path):
    shell = [sys.executable, "-c", "from shoal.cli import main; main()"]
    done = subprocess.run([*shell, "plan", "Käse"], capture_output=True, check=False, env={**os.environ, **setting})
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.isascii()
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_a_closed_stream_does_not_lend_its_number_to_the_ledger(tmp_path):
    """A file that is opened as number 1 would get whatever is written to standard output."""
    code = (
        "import os\nos.close(1)\nimport sys\nsys.stdout = None\nfrom shoal.cli import main\n"
        "from shoal.cli import ledger\nbegin = ledger.show_ledger.callback\n"
        "def look(**options):\n    print(os.readlink('/proc/self/fd/1'), file=sys.stderr)\n    begin(**options)\n"
        "ledger.show_ledger.callback = look\nmain()"
    )
    words = ["ledger", "show", "--ledger", str(furnished(tmp_path, rows=1) / "ledger.sqlite")]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("/dev/null\nerror: standard output is closed")
