"""Ten thousand altered ledgers, through every command that opens one: each ends in success or a clear error, within bounds."""

import json
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from shoal.errors import LedgerError, VerificationError
from shoal.ledger.event import Event, Head
from shoal.ledger.ledger import Ledger
from tests.cli.run import shoal
from tests.ledger.altered import commands, furnish, try_altered


@pytest.mark.slow
def test_altered_ledgers_end_in_clear_errors():
    ended, faults, _ = try_altered(0, 50)
    assert faults == []
    assert sum(ended.values()) == 50


@pytest.mark.long
def test_ten_thousand_altered_ledgers_end_in_clear_errors_within_bounds():
    """In processes with bounded memory and CPU time; in batches, so that one that dies names its seeds."""

    def bounded():
        resource.setrlimit(resource.RLIMIT_CPU, (1800, 1800))

    for seed in range(0, 10_000, 1000):
        run = [sys.executable, "-m", "tests.ledger.altered", str(seed), "1000"]
        done = subprocess.run(run, capture_output=True, text=True, preexec_fn=bounded, check=False)
        assert done.returncode == 0, f"seed {seed}: {done.stdout[-3000:]} {done.stderr[-3000:]}"


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledger")
    furnish(folder)
    return folder


@pytest.fixture
def book(furnished, tmp_path):
    """A copy of a ledger with every kind of event."""
    for name in ("ledger.sqlite", "policy.yaml", "table.csv"):
        (tmp_path / name).write_bytes((furnished / name).read_bytes())
    return tmp_path / "ledger.sqlite"


def rewrite(path, change):
    """Change events and chain them anew, as whoever has the file could."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        rows = raw.execute(
            "SELECT number, time, dataset, kind, payload, previous FROM events ORDER BY number"
        ).fetchall()
        last = rows[0][5]
        for number, time, dataset, kind, payload, _ in rows:
            last = Event.after(last, time, dataset, kind, change(kind, json.loads(payload)))
            text = json.dumps(last.payload, sort_keys=True)
            row = (text, last.previous, last.hash, number)
            raw.execute("UPDATE events SET payload = ?, previous = ?, hash = ? WHERE number = ?", row)
        raw.execute("UPDATE meta SET value = ? WHERE name = 'head'", (Head(last.number, last.hash).to_text(),))


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("budget", {"budget": {"epsilon": "1e999999999", "delta": "0"}}),
        ("budget", {"budget": {"epsilon": "1", "delta": "nan"}}),
        ("budget", {"budget": [1, 0]}),
        ("charge", {"cost": {}}),
        ("charge", {"cost": {"epsilon": "-5", "delta": "0", "parts": []}}),
        ("charge", {"neighbours": ["add_remove"]}),
        ("charge", {"unit": {"whose": "person", "column": 7, "max_rows": 1, "neighbours": "add_remove"}}),
        ("charge", {"fingerprints": "abc"}),
        ("charge", {"columns": [["a", "b"]]}),
        ("charge", {"columns": {"a": 1}}),
        ("charge", {"questions": {"a": 1}}),
        ("charge", {"session": ["alice"]}),
        ("charge", {"session": "nobody"}),
        ("charge", {"plan": None}),
        ("answer", {"content": 5}),
        ("answer", {"question": ["count"]}),
        ("answer", {"epsilon": "1e999999999"}),
        ("registered", {"policy": 5}),
        ("registered", {"data": {"path": "x"}}),
        ("registered", {"fingerprints": []}),
        ("registered", {"sampled": "2"}),
        ("registered", {"sampled": "1e999999999"}),
        ("registered", {"unit": None}),
        ("session", {"name": {"a": 1}}),
        ("release", {"charge": "1"}),
        ("sample_used", {"charge": None}),
        ("unbounded", {"fingerprints": None}),
        ("look", {"what": {}}),
    ],
)
def test_a_payload_of_another_shape_is_refused_though_its_chain_is_whole(book, kind, change):
    """Many of these were tracebacks, some only when a later command used what was taken in."""
    rewrite(book, lambda own, payload: {**payload, **change} if own == kind else payload)
    with Ledger(str(book)) as ledger:
        with pytest.raises(LedgerError, match=r"event \d+ of the ledger cannot be read"):
            ledger.account("clinic")
        with pytest.raises(VerificationError, match="cannot be read"):
            ledger.verify()


@pytest.mark.parametrize(
    "payload",
    [
        '{"what": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "[1]",
        "null",
        "",
        "{",
        '{"what": NaN}',
        '{"what": 1e999}',
        '{"what": "x", "more": -Infinity}',
        '{"what": "x", "more": ' + "[" * 900 + "]" * 900 + "}",
        '{"what": 1' + "0" * 5000 + "}",
    ],
)
def test_what_is_no_payload_is_refused(book, payload):
    with closing(sqlite3.connect(book, isolation_level=None)) as raw:
        raw.execute("UPDATE events SET payload = ? WHERE kind = 'look'", (payload,))
    with Ledger(str(book)) as ledger:
        with pytest.raises(LedgerError):
            ledger.left("clinic")
        with pytest.raises((LedgerError, VerificationError)):
            ledger.verify()
        with pytest.raises(LedgerError):
            ledger.events()


@pytest.mark.slow
@pytest.mark.parametrize(
    "guarantee",
    [
        {"kind": "gaussian-dp", "mu": "1e300"},
        {"kind": "pure-dp", "epsilon": "700"},
        {"kind": "laplace-dp", "epsilon": "0.1"},
        {"kind": "noisy-tables-dp", "choices": [[1, "0.3"], [9, "0.9"]]},
        {"kind": "exponential-dp", "epsilon": "0.1"},
        {"kind": "concentrated-dp", "rho": "350"},
    ],
)
def test_parts_beyond_all_measure_are_summed_and_not_composed(book, guarantee):
    """A part that runs 10^10 times took all memory before; its distribution would have 10^9 cells."""

    def often(kind, payload):
        if kind == "charge":
            payload["cost"]["parts"] = [{"guarantee": guarantee, "times": 10**10}]
        return payload

    rewrite(book, often)
    with Ledger(str(book)) as ledger:
        account = ledger.account("clinic")
        assert account.total() == pytest.approx(float(account.spent.epsilon))
    done = shoal("ledger", "show", "clinic", "--ledger", book)
    assert done.exit_code == 0, done.output


def test_a_table_that_leads_to_the_same_page_many_times_is_not_followed(book):
    """Pages that point to one page over and over would give 10^12 rows; the second of the same number ends it."""
    with closing(sqlite3.connect(book, isolation_level=None)) as raw:
        for number in range(100, 140):
            raw.execute(
                "INSERT INTO events VALUES (?, 't', 'd', 'look', ?, 'p', ?)", (number, "{}" + " " * 3000, str(number))
            )
        (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
    content = bytearray(book.read_bytes())
    start = (root - 1) * size
    assert content[start] == 5  # an inner page
    cells = int.from_bytes(content[start + 3 : start + 5])
    pointers = [int.from_bytes(content[start + 12 + 2 * each :][:2]) for each in range(cells)]
    first = content[start + pointers[0] : start + pointers[0] + 4]
    for each in pointers:
        content[start + each : start + each + 4] = first
    book.write_bytes(content)
    with pytest.raises(LedgerError), Ledger(str(book)) as ledger:
        ledger.events()


@pytest.mark.slow
def test_every_command_refuses_an_emptied_ledger(book):
    for command in commands(book.parent):
        book.write_bytes(b"")
        done = shoal(*command)
        assert done.exit_code == 4, (command, done.output)
        assert "the file of the ledger is empty" in done.output
        assert book.read_bytes() == b""
