"""Ledgers that were altered: at random, in their cells, in their payloads with and without a new chain, in their schema.

`python -m tests.ledger.altered SEED COUNT` tries so many, and prints what came of them.
"""

from __future__ import annotations

import hashlib
import json
import random
import resource
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from shoal.ledger.event import Budget, Event, Head
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean
from shoal.query.questions.tables import Contingency, Histogram
from shoal.query.session import session
from tests.cli.run import shoal
from tests.query.asking import POLICY, table

CLEAR = {0: "accepted", 2: "usage", 3: "verification", 4: "ledger or budget", 5: "data"}
"""What a command may end with; 1 is an error that nobody foresaw."""

MOST_MEMORY = 3 << 30
"""Bytes of address space for a process that opens altered ledgers."""

NASTY: list[Any] = [
    None, True, 0, -1, 1, 2, 10**10, 10**400, -(10**30), 0.5, 1e308, float("nan"), float("inf"), "", "x", "é\ud800", "\x1b[2J",
    "-1", "0", "1e999999999", "-1e999999999", "1e-5000", "nan", "inf", "1/0", "9" * 3000, "1/" + "7" * 900, [], {}, [[]], [None],
    [1, 2], ["a"], [["a", 1]], [["a", -1]], {"": {}}, {"epsilon": "1"}, {"epsilon": "1e999999999", "delta": "0"}, "x" * 100_000,
    {"kind": "safe-k-sampling", "k": 10**6, "beta": "0.999999"}, {"kind": "gaussian-dp", "mu": "1e300"}, {"kind": "pure-dp"},
    {"kind": "pure-dp", "epsilon": "1e-300"}, {"kind": "smooth-dp"}, "add_remove", "replace_one", "/dev/zero", "../..",
    "nul\x00byte", {"kind": "noisy-tables-dp", "choices": 3}, {"kind": "noisy-tables-dp", "choices": [[10**7, "1e9"]] * 200},
    {"kind": "noisy-tables-dp", "choices": [["1", None]]}, {"kind": "concentrated-dp", "rho": "1e-300"},
]  # fmt: skip

SCHEMA = [
    "DROP TABLE {table}",
    "DELETE FROM {table}",
    "ALTER TABLE {table} RENAME TO kept",
    "ALTER TABLE {table} ADD COLUMN more TEXT",
    "CREATE VIEW look AS SELECT * FROM {table}",
    "CREATE INDEX own ON {table} (1)",
    "CREATE TRIGGER act AFTER INSERT ON {table} BEGIN DELETE FROM meta; END",
    "CREATE TABLE another (name TEXT)",
    "CREATE VIRTUAL TABLE words USING fts5(word)",
    "PRAGMA application_id = {number}",
    "PRAGMA user_version = {number}",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE {table} (x)' WHERE name = '{table}'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = {number} WHERE name = '{table}'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = zeroblob(99) WHERE name = '{table}'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'view' WHERE name = '{table}'",
    "PRAGMA encoding = 'UTF-16le'; VACUUM",
    "PRAGMA page_size = 65536; VACUUM",
    "PRAGMA page_size = 512; VACUUM",
    "PRAGMA journal_mode = WAL",
    "PRAGMA auto_vacuum = 1; VACUUM",
    "ANALYZE",
]
COLUMNS = {
    "meta": ("name", "value"),
    "events": ("number", "time", "dataset", "kind", "payload", "previous", "hash"),
    "answers": ("hash", "content"),
    "runs": ("number", "dataset", "work"),
}


def furnish(folder: Path) -> Path:
    """Put a ledger there that holds an event of every kind, answers and a run, and the dataset that it is about."""
    (folder / "policy.yaml").write_text(POLICY)
    table(60).to_csv(folder / "table.csv", index=False)
    path = folder / "ledger.sqlite"
    policy = Policy.load(folder / "policy.yaml")
    with Ledger(str(path)) as book:
        with session(policy, folder / "table.csv", ledger=book) as asking:
            asking.ask(Count("age < 50"), "0.1")
            asking.batch(
                [Count("age < 20"), Mean("age"), Histogram("age", level=1), Contingency(("sex", "diag"))], "0.1"
            )
        with session(policy, folder / "table.csv", ledger=book, budget="0.2", analyst="alice") as asking:
            asking.ask(Count("age < 30"), "0.1")
        receipt = book.charge(
            "clinic",
            asking.price(Count(), "0.1").cost,
            budget=None,
            neighbours="add_remove",
            plan="p",
            table=b"t",
            work="/w",
        )
        book.record_release("clinic", receipt, "c" * 64)
        book.record_look("clinic", "a histogram")
        book.record_unbounded("masked", "k = 5", "q", b"u")
        price = asking.price(Count(), "0.1").cost
        book.charge("sample", price, budget=None, neighbours="add_remove", plan="p", table=b"s", uses_sample=True)
        book.set_budget("clinic", Budget.of(1, "1e-6"), "agreed")
    return path


# --- alterations --------------------------------------------------------------------------------------------------------


def alter_bytes(path: Path, chance: random.Random) -> None:
    """Flip bits, overwrite, cut, swap pages, append."""
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = (
            chance.randrange(len(content) or 1)
            if chance.random() < 0.7
            else chance.randrange(min(100, len(content) or 1))
        )
        way = chance.randrange(6)
        if way == 0 and content:
            content[at] ^= 1 << chance.randrange(8)
        elif way == 1 and content:
            content[at] = chance.choice([0, 1, 127, 128, 255])
        elif way == 2:
            content[at : at + chance.choice([4, 100, 4096])] = chance.randbytes(chance.choice([4, 100, 4096]))
        elif way == 3 and chance.random() < 0.3:
            del content[at:]
        elif way == 4:
            one, two = (chance.randrange(max(1, len(content) // 4096)) * 4096 for _ in range(2))
            content[one : one + 4096], content[two : two + 4096] = content[two : two + 4096], content[one : one + 4096]
        elif way == 5:
            content += chance.randbytes(chance.choice([1, 512, 5000]))
    path.write_bytes(content)


def alter_cell(path: Path, chance: random.Random) -> None:
    """Put something else into one cell, of whatever type."""
    name = chance.choice([*COLUMNS, "events", "events"])
    column = chance.choice(COLUMNS[name])
    value: Any = chance.choice(
        [0, -1, 2**63 - 1, 0.5, "", "x", "9" * 5000, b"", b"\xff\xfe", chance.randbytes(30), '{"a": 1}', "0" * 64]
    )
    with closing(sqlite3.connect(path, isolation_level=None)) as raw, suppress(sqlite3.Error):
        rows = [row for (row,) in raw.execute(f"SELECT rowid FROM {name}")]  # noqa: S608 - our own names
        if isinstance(value, bytes) and chance.random() < 0.5:
            raw.execute(f"UPDATE {name} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (value, chance.choice(rows)))  # noqa: S608
        else:
            raw.execute(f"UPDATE {name} SET {column} = ? WHERE rowid = ?", (value, chance.choice(rows)))  # noqa: S608


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(inner, (*at, key))


def _changed(value: Any, chance: random.Random) -> Any:
    """The value with one part removed, added or replaced."""
    at = chance.choice(list(_places(value)))
    new = chance.choice(NASTY)
    if not at:
        return new
    inner = value
    for key in at[:-1]:
        inner = inner[key]
    if chance.random() < 0.2:
        del inner[at[-1]]
    elif isinstance(inner, dict) and chance.random() < 0.1:
        inner[chance.choice(["", "more", "kind", "session", "columns"])] = new
    else:
        inner[at[-1]] = new
    return value


def _text(value: Any, chance: random.Random) -> str:
    written = json.dumps(value)
    if chance.random() < 0.05:
        deep = chance.choice([50, 900, 100_000])
        return '{"what": ' + "[" * deep + "]" * deep + "}"
    return written


def alter_payload(path: Path, chance: random.Random, *, chain: bool = False) -> None:
    """Put a payload of another shape into an event; with `chain`, every hash after it and the head are computed anew."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        rows = raw.execute(
            "SELECT number, time, dataset, kind, payload, previous, hash FROM events ORDER BY number"
        ).fetchall()
        number = chance.choice(rows)[0]
        last: Event | str = rows[0][5]
        for row in rows:
            payload, kind, dataset = json.loads(row[4]), row[3], row[2]
            text = row[4]
            if row[0] == number:
                payload = _changed(payload, chance)
                text = _text(payload, chance)
                if chance.random() < 0.1:
                    kind = chance.choice(["look", "charge", "answer", "registered", "session"])
                if chance.random() < 0.05:
                    dataset = chance.choice(["", "clinic", "\x1b[31mred", "x" * 10_000])
            if not chain:
                raw.execute("UPDATE events SET payload = ?, kind = ? WHERE number = ?", (text, kind, row[0]))
                continue
            try:
                last = Event.after(last, row[1], dataset, kind, json.loads(text))
            except Exception:  # noqa: BLE001 - a payload that cannot be hashed stays with a hash that is none
                last = Event(
                    row[0], row[1], dataset, kind, {}, row[5], hashlib.sha256(text.encode(errors="ignore")).hexdigest()
                )
            changed = (text, kind, dataset, last.previous, last.hash, row[0])
            raw.execute(
                "UPDATE events SET payload = ?, kind = ?, dataset = ?, previous = ?, hash = ? WHERE number = ?", changed
            )
        if chain and isinstance(last, Event):
            raw.execute("UPDATE meta SET value = ? WHERE name = 'head'", (Head(last.number, last.hash).to_text(),))


def alter_chain(path: Path, chance: random.Random) -> None:
    """As whoever has the file and its key could do it."""
    alter_payload(path, chance, chain=True)


def alter_answer(path: Path, chance: random.Random) -> None:
    """Put another content under its right hash into an answer, with a new chain."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        old, content = chance.choice(raw.execute("SELECT hash, content FROM answers").fetchall())
        changed = _changed(json.loads(content), chance)
        new = json.dumps(changed).encode()
        if chance.random() < 0.1:
            new = chance.choice([b"", b"\xff", b"[" * 100_000, b"1e999999999", b'{"value": 1' + b"0" * 5000 + b"}"])
        name = hashlib.sha256(new).hexdigest()
        raw.execute("UPDATE answers SET hash = ?, content = ? WHERE hash = ?", (name, new, old))
        rows = raw.execute(
            "SELECT number, time, dataset, kind, payload, previous FROM events ORDER BY number"
        ).fetchall()
        last: Event | str = rows[0][5]
        for row in rows:
            payload = json.loads(row[4].replace(old, name))
            last = Event.after(last, row[1], row[2], row[3], payload)
            text = json.dumps(payload, sort_keys=True)
            raw.execute(
                "UPDATE events SET payload = ?, previous = ?, hash = ? WHERE number = ?",
                (text, last.previous, last.hash, row[0]),
            )
        assert isinstance(last, Event)
        raw.execute("UPDATE meta SET value = ? WHERE name = 'head'", (Head(last.number, last.hash).to_text(),))


def alter_schema(path: Path, chance: random.Random) -> None:
    """Drop, rename, add and damage what the database consists of."""
    name = chance.choice(list(COLUMNS))
    statement = chance.choice(SCHEMA).format(table=name, number=chance.choice([0, 1, 2, 3, 17, 10**6]))
    with closing(sqlite3.connect(path, isolation_level=None)) as raw, suppress(sqlite3.Error):
        raw.executescript(statement)


def alter_companions(path: Path, chance: random.Random) -> None:
    """Leave something beside the ledger, as after a crash, or as somebody might."""
    content = path.read_bytes()
    beside = path.with_name(path.name + chance.choice(["-journal", "-wal", "-shm"]))
    magic = chance.choice([b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b""])
    beside.write_bytes(magic + chance.choice([b"", chance.randbytes(600), content[:5000], bytes(4096)]))
    if chance.random() < 0.3:
        path.write_bytes(content[: chance.choice([0, 100, 4096, len(content)])])


ALTERATIONS: tuple[Callable[[Path, random.Random], None], ...] = (
    alter_bytes,
    alter_cell,
    alter_payload,
    alter_chain,
    alter_answer,
    alter_schema,
    alter_companions,
)


# --- what is then done with it ---------------------------------------------------------------------------------------------


def commands(folder: Path) -> list[tuple[object, ...]]:
    """Every command that opens a ledger, on this one."""
    where = ("--ledger", folder / "ledger.sqlite")
    return [
        ("ledger", "show", *where),
        ("ledger", "show", "clinic", "--json", *where),
        ("ledger", "verify", *where),
        ("ledger", "export", *where),
        ("ledger", "forecast", "clinic", "--epsilon", "0.1", *where),
        ("ledger", "budget", "clinic", "--epsilon", "3", "--delta", "1e-6", "--reason", "x", *where),
        ("dataset", "show", *where),
        ("dataset", "show", "clinic", *where),
        ("dataset", "register", folder / "policy.yaml", folder / "table.csv", *where),
        ("ask", "clinic", "count", "age < 50", "--epsilon", "0.1", *where),
        ("ask", "clinic", "count", "age < 77", "--epsilon", "0.1", *where),
        ("ask", "clinic", "mean", "age", "--epsilon", "0.1", *where),
        ("ask", "clinic", "histogram", "age@1", "--epsilon", "0.1", *where),
        ("ask", "clinic", "contingency", "sex", "diag", "--epsilon", "0.1", "--json", *where),
        ("ask", "clinic", "mean", "age", "--epsilon", "0.1", "--price", "--json", *where),
        ("ask", "clinic", "count", "age < 30", "--epsilon", "0.1", "--analyst", "alice", *where),
    ]


def try_altered(seed: int, count: int, each: int = 1) -> tuple[Counter[str], list[str], float]:
    """Alter so many ledgers, run `each` commands on one: how they ended, what nobody foresaw, and the most CPU seconds."""
    ended: Counter[str] = Counter()
    faults: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = furnish(folder)
        whole = path.read_bytes()
        for number in range(seed, seed + count):
            chance = random.Random(number)  # noqa: S311 - a test's
            for left in folder.glob("ledger.sqlite*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            path.write_bytes(whole)
            way = chance.choice(ALTERATIONS)
            for _ in range(chance.choice([1, 1, 1, 2])):
                with suppress(sqlite3.Error, ValueError, IndexError, RecursionError, TypeError, AttributeError):
                    way(path, chance)
            tried = commands(folder)
            if way is alter_answer:
                tried = [command for command in tried if command[0] == "ask"]
            for command in chance.sample(tried, each):
                begun = time.process_time()
                done = shoal(*command)
                took = time.process_time() - begun
                slowest = max(slowest, took)
                ended[f"{way.__name__[6:]}: {CLEAR.get(done.exit_code, 'fault')}"] += 1
                if done.exit_code not in CLEAR:
                    faults.append(
                        f"{number} {way.__name__} {' '.join(map(str, command[:3]))}: {done.exit_code} {done.output[-300:]}"
                    )
    return ended, faults, slowest


def main(seed: int, count: int) -> int:
    """Try so many in this process, within bounds, and print what came of them."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    ended, faults, slowest = try_altered(seed, count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    lines = [f"{times:6} {outcome}" for outcome, times in sorted(ended.items())]
    lines += [f"FAULT {fault}" for fault in faults]
    lines.append(f"{sum(ended.values())} commands on {count} ledgers, {len(faults)} faults")
    lines.append(f"at most {slowest:.2f} CPU seconds for a command, {peak} MiB for the process")
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
