"""Ctrl-C inside the engine is Ctrl-C: never a fault of the table, and the query ends early."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.duckdb.engine import Connection, DuckDB, _Stream
from shoal.engine.duckdb.held_signals import NAMES, HeldSignals
from shoal.engine.duckdb.table import DuckDBTable
from shoal.engine.read.input import Input

SCHEMA = Schema((Attribute("age", Role.QUASI, Type.INTEGER),))
FRAME = pa.table({"age": [31, 31, 64]})
SIGNALS = [getattr(signal, name) for name in NAMES]


class Ended(BaseException):
    """What a program's own handler raises."""


@contextmanager
def handled(handler: Callable[..., object]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def end(number: int, _: object) -> None:
    raise Ended(number)


def scan(threads: int | None = None) -> DuckDBTable:
    found = DuckDB(threads=threads).scan(FRAME, SCHEMA)
    assert isinstance(found, DuckDBTable)
    return found


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("place", ["_number_rows", "__arrow_c_stream__"])
def test_a_signal_inside_a_stream_is_not_a_bad_file(number, place, monkeypatch):
    genuine = getattr(_Stream, place)

    def interrupted(self, *given):
        signal.raise_signal(number)
        return genuine(self, *given)

    monkeypatch.setattr(_Stream, place, interrupted)
    with handled(end), pytest.raises(Ended) as raised:
        scan()
    assert raised.value.args == (number,)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_while_rows_are_read_is_a_keyboard_interrupt(threads, monkeypatch):
    genuine = Input.batches

    def interrupted(self):
        for batch in genuine(self):
            signal.raise_signal(signal.SIGINT)
            yield batch

    monkeypatch.setattr(Input, "batches", interrupted)
    with handled(signal.default_int_handler), pytest.raises(KeyboardInterrupt):
        scan(threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_query_ends_early(threads):
    """The query adds up 10^16 numbers: it ends within the lifetime of the test because it is stopped."""
    connection = scan(threads).connection
    ticks = []

    def alarm(number: int, frame: object) -> None:
        ticks.append(number)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        with handled(end), pytest.raises(Ended):  # noqa: PT012 - the alarm belongs to the query
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            connection.one("SELECT sum(hash(a.range) % 2 + b.range) FROM range(100000000) a, range(100000000) b")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ticks == [signal.SIGALRM]
    assert connection.one("SELECT 42") == 42


def test_a_signal_between_two_batches_of_an_answer():
    connection = scan().connection
    with handled(end), pytest.raises(Ended):  # noqa: PT012 - a generator is stopped in its middle
        for _ in connection.batches("SELECT range FROM range(1000000)"):
            signal.raise_signal(signal.SIGTERM)
    assert connection.one("SELECT 42") == 42


@pytest.mark.parametrize("place", ["open", "next", "between"])
def test_a_signal_while_rows_are_limited_is_not_replaced_by_an_error_of_the_clean_up(place, monkeypatch):
    """The result of the stopped query was still open, so its table could not be dropped, and that was what was raised."""
    table = scan()
    words = np.arange(3, dtype=np.uint64)
    attempt, calls = Connection._attempt, []

    def interrupted(self, work):
        def signalled():
            done = [work()]
            if name := "open" if isinstance(done[0], pa.RecordBatchReader) else "next" if calls else None:
                calls.append(name)
            if name == place:
                signal.raise_signal(signal.SIGINT)
            return done.pop()

        found = attempt(self, signalled)
        if place == "between" and calls[-1:] == ["next"]:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(Connection, "_attempt", interrupted)
    with handled(signal.default_int_handler), pytest.raises(KeyboardInterrupt):
        table.limit_per("age", 1, lambda start, count: words[start : start + count])
    monkeypatch.undo()
    assert calls
    assert table.connection.one("SELECT 42") == 42
    assert table.count_by(["age"]).counts.tolist() == [2, 1]


def test_a_table_that_cannot_be_dropped_replaces_no_other_error():
    scan().connection.drop("nothing_of_this_name")


def test_a_handler_that_does_not_raise_stops_nothing():
    seen: list[int] = []
    with handled(lambda number, _: seen.append(number)):
        held = HeldSignals(lambda: seen.append(-1))
        with held:
            signal.raise_signal(signal.SIGTERM)
        held.deliver()
        assert seen == [signal.SIGTERM]


def test_the_first_of_two_is_raised_and_the_handlers_are_put_back():
    with handled(end):
        held = HeldSignals()
        with held:
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGINT)
        assert [signal.getsignal(number) for number in SIGNALS] == [end] * len(SIGNALS)
        with pytest.raises(Ended) as raised:
            held.deliver()
    assert raised.value.args == (signal.SIGHUP,)


def test_what_the_system_does_by_itself_is_left_alone():
    before = [signal.getsignal(number) for number in SIGNALS]
    with HeldSignals():
        assert signal.getsignal(signal.SIGTERM) == before[SIGNALS.index(signal.SIGTERM)]
    assert [signal.getsignal(number) for number in SIGNALS] == before
