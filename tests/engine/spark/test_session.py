"""Sessions of Spark: what is missing is named before anything is read, and what Spark says never reaches a message."""

from __future__ import annotations

import logging
import signal
import socket
from fractions import Fraction
from types import SimpleNamespace

import pytest

from shoal.chance.source import Source
from shoal.engine.spark import session as sessions
from shoal.engine.spark.engine import Spark
from shoal.errors import DataError, ShoalError, UsageError
from tests.engine.spark.test_engine_cluster import spellings
from tests.engine.tables import ROWS, SCHEMA, arrow
from tests.spark import SETTINGS, require_spark


@pytest.fixture
def no_session(monkeypatch):
    """No session runs yet, as far as anybody asks."""

    class Nothing:
        _instantiatedSession = None  # noqa: N815 - PySpark's name

        @staticmethod
        def getActiveSession():
            return None

    class Sql:
        SparkSession = Nothing

    monkeypatch.setattr(sessions, "load_pyspark", lambda: Sql)
    monkeypatch.setattr(sessions, "_OWN", {})  # a pretended session leaves the settings of a real one alone


def test_without_pyspark_the_error_says_how_to_install_it(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(sessions.importlib, "import_module", missing)
    with pytest.raises(
        UsageError,
        match=r'needs PySpark, which is not installed; got no pyspark; install it: pip install "shoal\[spark',
    ):
        Spark().scan(arrow(ROWS), SCHEMA)


@pytest.mark.parametrize(
    ("said", "came"),
    [(None, "none that starts"), ('openjdk version "11.0.2"', "Java 11"), ('java version "1.8.0_281"', "Java 8")],
)
def test_without_a_java_that_is_new_enough_the_error_says_which(monkeypatch, no_session, said, came):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(sessions.shutil, "which", lambda *_, **__: None if said is None else "java")

    class Answer:
        stderr = said

    monkeypatch.setattr(sessions.subprocess, "run", lambda *_, **__: Answer)
    with pytest.raises(UsageError, match=rf"needs Java 17 or newer; got {came}; install it"):
        sessions.start(None, {})


def test_a_master_that_does_not_answer_is_named_at_once(monkeypatch, no_session):
    monkeypatch.setattr(sessions, "_refuse_java", lambda: None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UsageError, match=rf"does not answer; got spark://127\.0\.0\.1:{port}; .*nothing was read"):
        sessions.start(f"spark://127.0.0.1:{port}", {})
    with pytest.raises(UsageError, match="no such master of Spark; got mesos://x"):
        sessions.start("mesos://x", {})
    monkeypatch.setattr(sessions, "_launch", lambda *_, **__: 1 / 0)
    with pytest.raises(UsageError, match=r"could not be started; got master local\[2\], spark\.secret") as caught:
        sessions.start("local[2]", {"spark.secret": "hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
def test_a_session_that_runs_is_used_and_not_changed():
    require_spark()
    first = sessions.start("local[2]", SETTINGS)
    assert sessions.start("local[2]", SETTINGS) is first
    assert sessions.start(None, {}) is first
    with pytest.raises(UsageError, match=r"a Spark session runs in this process already, .*spark\.master=local\[7\]"):
        sessions.start("local[7]", {})
    before = first.conf.get("spark.sql.ansi.enabled")
    own = sessions.isolate(first)
    assert own.conf.get("spark.sql.ansi.enabled") == "false"
    assert own.conf.get("spark.sql.session.timeZone") == "UTC"
    assert first.conf.get("spark.sql.ansi.enabled") == before
    assert first.sparkContext.getConf().get("spark.io.encryption.enabled") == "true"
    assert first.sparkContext.uiWebUrl is None


@pytest.mark.slow
def test_what_python_logs_of_its_calls_of_java_shows_no_key(caplog, monkeypatch):
    """At the level DEBUG, which a program may set for all of its log, Py4J writes every call down, functions included."""
    require_spark()
    mask = Source.seeded(9).row_mask(Fraction(1, 2))
    key = bytes(mask._key.secret())
    table = Spark(session=sessions.start("local[2]", SETTINGS)).scan(arrow(ROWS), SCHEMA)

    def is_logged() -> bool:
        caplog.clear()
        with caplog.at_level(logging.DEBUG):
            table.keep(mask.keep).rows()
        return any(spelled in caplog.text.encode() for spelled in spellings(key))

    assert not is_logged()
    monkeypatch.setattr(sessions._NO_COMMANDS, "filter", lambda _: True)
    assert is_logged()  # so the test would find it


@pytest.mark.slow
def test_the_active_session_of_a_program_stays_the_same():
    require_spark()
    from pyspark.sql import SparkSession

    first = sessions.start("local[2]", SETTINGS)
    first.createDataFrame([(1,)], "x int")  # what makes a session the active one
    Spark(session=first).scan(arrow(ROWS), SCHEMA).rows()
    assert SparkSession.getActiveSession() is first
    assert SparkSession.active().conf.get("spark.sql.ansi.enabled") == first.conf.get("spark.sql.ansi.enabled")


@pytest.mark.parametrize(
    ("said", "kind", "means"),
    [
        ("java.io.IOException: No space left on device", DataError, "more disk space"),
        ("ModuleNotFoundError: No module named 'shoal'", UsageError, "lacks Shoal"),
        (
            "Total size of serialized results is bigger than spark.driver.maxResultSize",
            DataError,
            "brought to one machine",
        ),
        (
            "[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_3_1 not found",
            DataError,
            "rows of the frame was lost",
        ),
        ("java.io.FileNotFoundException: File file:/x does not exist", DataError, "a file of the input is gone"),
        ("[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] ...", DataError, "do not have the same columns"),
        ("java.lang.OutOfMemoryError: Java heap space", DataError, "more memory"),
        ("ExecutorLostFailure (executor 1 exited caused by ...)", DataError, "lost its workers"),
        ("Cannot call methods on a stopped SparkContext", DataError, "lost its workers"),
        ("[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: INT64 (TIMESTAMP(NANOS,true))", DataError, "does not read"),
        ("something about Anna Maria, 47", DataError, "could not finish a step"),
    ],
)
def test_failures_are_told_by_their_kind_and_quote_nothing(said, kind, means):
    def work():
        raise RuntimeError(said)

    with pytest.raises(kind, match=means) as caught:
        sessions.explain(work)
    assert "Anna" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("stopped", "means"), [(True, "lost its workers"), (False, "could not finish a step")])
def test_a_failure_without_words_of_its_own_is_told_by_whether_the_session_has_stopped(monkeypatch, stopped, means):
    """A job that runs while the last executor is lost for good may fail with an internal error that names no cause."""

    class Scala:
        isStopped = staticmethod(lambda: stopped)  # noqa: N815 - Java's name

    context = SimpleNamespace(_jsc=SimpleNamespace(sc=Scala))
    running = SimpleNamespace(_instantiatedSession=SimpleNamespace(_sc=context))
    monkeypatch.setattr(sessions, "load_pyspark", lambda: SimpleNamespace(SparkSession=running))

    def work():
        raise RuntimeError('[INTERNAL_ERROR] The "collectAsArrowToPython" action failed.')

    with pytest.raises(DataError, match=means):
        sessions.explain(work)


@pytest.mark.parametrize("kind", [DataError, UsageError, ShoalError])
def test_an_error_of_a_worker_arrives_in_its_parts(kind):
    sent = kind("what is wrong", came="x", allowed="y", fix="z")
    line = sessions.pack_error(sent, sessions.MARK)
    wrapped = f"org.apache.spark.SparkException: Job aborted\n RuntimeError: {line}\n at java.lang"
    arrived = sessions.unpack_error(wrapped)
    assert type(arrived) is kind
    assert str(arrived) == str(sent)
    for forged in ("nothing of ours", 'error of shoal: ["DataError", {"wrong": "a cell"}]', f"{sessions.MARK}no JSON"):
        assert sessions.unpack_error(forged) is None


def test_tests_of_modules_that_use_spark_run_first(request):
    spark = [hasattr(getattr(item, "module", None), "require_spark") for item in request.session.items]
    assert spark == sorted(spark, reverse=True)


@pytest.mark.parametrize("own", [True, False])
def test_ctrl_c_stays_with_a_command_that_handles_it(monkeypatch, no_session, own):
    """PySpark puts a handler of its own in the place of any; a program without one keeps what PySpark gives it."""

    def ours(*_):
        pass

    def pysparks(*_):
        pass

    monkeypatch.setattr(sessions, "_launch", lambda *_, **__: signal.signal(signal.SIGINT, pysparks))
    monkeypatch.setattr(sessions, "_refuse_java", lambda: None)
    before = signal.signal(signal.SIGINT, ours if own else signal.default_int_handler)
    try:
        sessions.start("local[1]", {})
        assert signal.getsignal(signal.SIGINT) is (ours if own else pysparks)
    finally:
        signal.signal(signal.SIGINT, before)


def test_java_does_not_outlive_a_start_that_is_interrupted():
    """Java ends by itself when nobody is there any more, but not while it is still starting."""
    java_gateway = pytest.importorskip("pyspark.java_gateway", reason="cannot run here: no pyspark")
    before, started = java_gateway.Popen, []

    def interrupted() -> None:
        with sessions._java_ended_with_its_start():
            started.append(java_gateway.Popen(["sleep", "600"]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert started[0].poll() == -signal.SIGKILL
    assert java_gateway.Popen is before
    with sessions._java_ended_with_its_start():
        started.append(java_gateway.Popen(["sleep", "600"]))
    assert started[1].poll() is None
    started[1].kill()
    started[1].wait()
