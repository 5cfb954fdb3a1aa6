"""Sessions of Spark: the one that is handed in, or one that is started here, and what its failures mean.

Settings of a session that is started here keep rows and keys out of what Spark writes down: no user interface, no event log, no
log, and whatever is shuffled or set aside on a disk is encrypted. A session that is handed in keeps its own settings; beside it,
a session of the same application is opened whose settings for SQL are ours, so that an expression means the same everywhere.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.errors import DataError, ShoalError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from shoal.engine.spark.files import FileMarks

LOCAL = "local[*]"
"""Where Spark runs when nobody says where: on all cores of this machine."""
STARTED: Mapping[str, str] = {
    "spark.app.name": "shoal",
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
    "spark.io.encryption.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
}
"""Settings of a session that is started here, unless the caller names others."""
MEANING: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # Every value is read; none is concluded from what a footer says of values.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.parquet.mergeSchema": "false",
    # Dates are those of one calendar, as written; bytes are no text.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.optimizer.windowGroupLimitThreshold": "1000000",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
"""Settings by which our expressions are evaluated."""
JAVA = 17
"""The oldest Java that Spark 4 runs on."""
MARK = f"error of shoal {secrets.token_hex(8)}: "
"""What an error of a worker begins with among all that Spark says; nobody who writes a table can know it."""
COMMANDS = ("py4j.java_gateway", "py4j.clientserver")
"""Loggers of Python that show, at the level DEBUG, every call of Java with all that it carries: functions with their keys."""
_SENT: Mapping[str, type[ShoalError]] = {kind.__name__: kind for kind in (DataError, UsageError, ShoalError)}
_OWN: dict[str, str] = {}
"""Settings with which a session was started here; Spark adds to some of them."""
WAIT = 5.0
"""Seconds for which a master is waited for before it counts as out of reach."""
T = TypeVar("T")


def start(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    """Give a session: the one that runs in this process, or a new one at this master.

    Raises     UsageError where PySpark or Java is missing, a session with another master runs already, or the master is out of
               reach
    """
    sql = load_pyspark()
    running: SparkSession | None = sql.SparkSession.getActiveSession() or sql.SparkSession._instantiatedSession
    if running is not None and not _is_stopped(running):
        _refuse_other(running, master, settings)
        return running
    chosen = master or settings.get("spark.master") or LOCAL
    _refuse_java()
    _refuse_master(chosen)
    own = {**STARTED, "spark.pyspark.python": sys.executable, **settings, "spark.master": chosen}
    if chosen.startswith("local"):  # nothing of it is for other machines
        own = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", **own}
    with contextlib.suppress(Exception):  # Java's own words are long, and name paths of this machine
        with _own_interrupt_handler():
            made = _launch(own, quiet="spark.log.level" not in settings)
        _OWN.clear()
        _OWN.update(own)
        return made
    raise UsageError(
        "Spark could not be started",
        came=f"master {chosen}" + "".join(f", {name}" for name in settings),
        fix="check the master and the settings; `--spark-conf spark.log.level=WARN` shows what Spark says",
    )


def _is_stopped(session: SparkSession) -> bool:
    return bool(explain(lambda: session._sc._jsc.sc().isStopped()))


def load_pyspark() -> Any:
    """Import PySpark's SQL; UsageError where it is not installed, with the command that installs it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it does not know the newest pandas yet, which we do not use here
            return importlib.import_module("pyspark.sql")
    except ImportError:
        pass
    raise UsageError(
        "the engine spark needs PySpark, which is not installed",
        came="no pyspark",
        fix='install it: pip install "shoal[spark]"; it also needs Java 17 or newer',
    )


def _refuse_other(running: SparkSession, master: str | None, settings: Mapping[str, str]) -> None:
    """Raise where another master or other settings are asked for than those of the session that runs already."""
    here = {"spark.master": master} if master else {}
    for name, value in {**settings, **here}.items():
        found = _OWN.get(name) or running._sc.getConf().get(name)
        if found != value:
            raise UsageError(
                "a Spark session runs in this process already, with other settings",
                came=name if "spark.master" not in name else f"{name}={value}",
                fix="stop that session, or leave the setting out",
            )


def _refuse_java() -> None:
    """Raise where there is no Java, or one that is too old for Spark."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")  # noqa: PTH118
    said = ""
    if java is not None:
        with contextlib.suppress(OSError):
            said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(?:1\.)?([0-9]+)', said)
    if found is not None and int(found[1]) >= JAVA:
        return
    raise UsageError(
        f"the engine spark needs Java {JAVA} or newer",
        came="none that starts" if found is None else f"Java {found[1]}",
        fix=f"install it (on Debian: apt-get install openjdk-{JAVA}-jre-headless), or set JAVA_HOME to where it is",
    )


def _refuse_master(master: str) -> None:
    """Raise where a stand-alone master does not answer: Spark itself would try for minutes and then stop without a word."""
    addresses = re.fullmatch(r"spark://(.+)", master)
    if addresses is None:
        if re.fullmatch(r"local(-cluster)?(\[.*\])?|yarn|k8s://.+", master):
            return
        raise UsageError(
            "no such master of Spark", came=master, allowed="local[N], spark://HOST:PORT, yarn, k8s://HOST:PORT"
        )
    for each in addresses[1].split(","):
        host, _, port = each.rpartition(":")
        with contextlib.suppress(OSError, ValueError), socket.create_connection((host, int(port)), WAIT):
            return
    raise UsageError(
        "the master of Spark does not answer",
        came=master,
        fix="check the address and that the master runs; nothing was read",
    )


@contextlib.contextmanager
def _own_interrupt_handler() -> Iterator[None]:
    """Keep the handler of Ctrl-C that a program has, as our commands do: a session of PySpark puts its own in its place."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if callable(before) and before is not signal.default_int_handler and signal.getsignal(signal.SIGINT) is not before:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _java_ended_with_its_start() -> Iterator[None]:
    """End the Java that is being started where the start is interrupted: by itself it ends only once it has answered."""
    from pyspark import java_gateway

    launcher: Any = java_gateway
    started: list[subprocess.Popen[bytes]] = []
    popen = launcher.Popen

    def remember(*given: Any, **named: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*given, **named))
        return started[-1]

    launcher.Popen = remember
    try:
        yield
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise
    finally:
        launcher.Popen = popen


def _launch(settings: Mapping[str, str], *, quiet: bool) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What Spark says on its way goes to standard error, where our own progress is shown.
        with _java_ended_with_its_start():
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                conf, popen_kwargs={"stderr": subprocess.DEVNULL} if quiet else None
            )
        context = SparkContext(conf=conf, gateway=gateway)
        context.pythonExec = settings["spark.pyspark.python"]
        if quiet:
            context.setLogLevel("OFF")
        return SparkSession(context)


class _WithoutCommands(logging.Filter):
    """Lets warnings and errors pass, and no call of Java."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG


_NO_COMMANDS = _WithoutCommands()


def silence_commands() -> None:
    """Keep what Python sends to Java out of the log of this process, from now on: a function that is sent carries a key."""
    for name in COMMANDS:
        logging.getLogger(name).addFilter(_NO_COMMANDS)  # once, however often it is added


@contextlib.contextmanager
def active_session_kept() -> Iterator[None]:
    """Leave the active session of the process as it is: PySpark puts the one in its place that a frame is made with.

    What the program does afterwards by the active session would otherwise go by our settings of SQL.
    """
    from pyspark.sql import SparkSession

    before = SparkSession._activeSession
    try:
        yield
    finally:
        if before is not None and SparkSession._activeSession is not before:
            SparkSession._activeSession = before
            SparkSession._get_j_spark_session_class(before._jvm).setActiveSession(before._jsparkSession)


def isolate(session: SparkSession) -> SparkSession:
    """Open a session of the same application with our own settings of SQL; those of the given one stay as they are."""
    silence_commands()
    own = session.newSession()
    for name, value in MEANING.items():
        own.conf.set(name, value)
        if own.conf.get(name) != value:
            raise UsageError(
                "a setting of Spark on which the reading of values rests cannot be set",
                came=name,
                allowed=value,
                fix="leave the setting out of the session's configuration",
            )
    return own


def describe_network(session: SparkSession) -> tuple[str, ...]:
    """Say for the custodian where rows and the key of the sample travel between machines as they are."""
    conf = session.sparkContext.getConf()
    master = conf.get("spark.master") or ""
    protected = "true" in (conf.get("spark.network.crypto.enabled"), conf.get("spark.ssl.rpc.enabled"))
    if protected or re.fullmatch(r"local(\[.*\])?", master):
        return ()
    note = (
        f"Spark at {master} sends rows, and the key that decides who is sampled, unencrypted between its machines: set "
        "spark.authenticate and spark.network.crypto.enabled to true where others can read the network"
    )
    return (note,)


class SparkConnection:
    """A session with our settings, and the files that its tables read: every run of Spark goes through `attempt`."""

    def __init__(self, session: SparkSession, marks: FileMarks) -> None:
        self.session = session
        self.marks = marks
        self._kept: list[DataFrame] = []

    def attempt(self, work: Callable[[], T]) -> T:
        """Run some work between two checks that the files have not changed."""
        self.marks.verify()
        try:
            return explain(work)
        finally:
            self.marks.verify()

    def hold(self, frame: DataFrame) -> DataFrame:
        """Keep the rows of a frame on the disks of the workers, so that they are computed once; lost ones are computed again.

        Spark takes what it has kept wherever a plan is the same, also after the files were written anew. So no two plans are.
        """
        from pyspark import StorageLevel
        from pyspark.sql import functions as F

        held = frame.where(F.lit(secrets.token_hex(8)) != "").persist(StorageLevel.DISK_ONLY)
        self._kept.append(held)
        return held

    def __del__(self) -> None:
        for frame in self._kept:
            with contextlib.suppress(Exception):  # the session may be gone
                frame.unpersist()


def explain(work: Callable[[], T]) -> T:
    """Run some work of Spark; what Spark, Java or Arrow raise may quote a cell, and is replaced by an error that does not."""
    failure: ShoalError | None = None
    with _without_context_loggers():
        try:
            return work()
        except ShoalError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - Py4J, PySpark and Arrow raise many kinds
            failure = _meaning(error)
    raise failure


@contextlib.contextmanager
def _without_context_loggers() -> Iterator[None]:
    """Keep PySpark from printing what it raises: its loggers in Python quote cells, whatever the level of Spark's own log."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def pack_error(error: ShoalError, mark: str) -> str:
    """Write an error of a worker as a line, which Spark hands on among many others; `mark` is that of the process that asks."""
    kind = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _SENT)
    parts = {"wrong": error.wrong, "came": error.came, "allowed": error.allowed, "fix": error.fix}
    return f"{mark}{json.dumps([kind, parts])}"


def unpack_error(words: str) -> ShoalError | None:
    """Find the error of a worker in what Spark says; None where there is none."""
    found = re.search(rf"{MARK}(.*)", words)
    if found is None:
        return None
    with contextlib.suppress(ValueError, KeyError, TypeError):
        kind, parts = json.JSONDecoder().raw_decode(found[1])[0]
        return _SENT[kind](parts.pop("wrong"), **parts)
    return None


def _meaning(error: Exception) -> ShoalError:
    """Say what a failure means, by the words in it that name its kind."""
    words = f"{type(error).__name__} {error}"
    sent = unpack_error(words)
    if sent is not None:
        return sent
    for pattern, kind, wrong, fix in _FAILURES:
        if re.search(pattern, words):
            return kind(wrong, came="the engine spark", fix=fix)
    if _has_stopped():  # what stopped it, Spark has said to its log alone: a step in its middle finds parts of it gone
        return DataError(_STOPPED, came="the engine spark", fix=_AFTER_STOP)
    return DataError(
        "Spark could not finish a step",
        came=type(error).__name__,
        fix="check that the input is whole; `--spark-conf spark.log.level=WARN` shows what Spark says of it, rows included",
    )


def _has_stopped() -> bool:
    """Whether the session that ran in this process has come to its end."""
    with contextlib.suppress(Exception):  # without PySpark there is none, and one without Java says so in its own words
        running = load_pyspark().SparkSession._instantiatedSession
        return running is not None and bool(running._sc._jsc.sc().isStopped())
    return False


_STOPPED, _AFTER_STOP = "Spark lost its workers or was stopped", "look at the cluster, and start again when it is whole"
_FAILURES: tuple[tuple[str, type[ShoalError], str, str], ...] = (
    (
        r"No space left on device|Disk quota exceeded",
        DataError,
        "Spark needs more disk space for what it shuffles",
        "make room where `spark.local.dir` points, or name a folder with more room by `--spark-conf spark.local.dir=FOLDER`",
    ),
    (
        r"No module named '?(shoal|pyarrow|numpy|cryptography)|PYTHON_VERSION_MISMATCH|Cannot run program",
        UsageError,
        "the Python of Spark's workers lacks Shoal, or is another one",
        "install shoal[spark] for it on every machine, and name it by `--spark-conf spark.pyspark.python=PATH`",
    ),
    (
        r"maxResultSize",
        DataError,
        "a step gives more distinct values or rows than may be brought to one machine",
        (
            "use coarser levels or fewer columns, or allow more by `--spark-conf spark.driver.maxResultSize=SIZE` (default 1g) "
            "and as much `spark.driver.memory`"
        ),
    ),
    (
        r"CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND|Checkpoint block|BLOCK_NOT_FOUND",
        DataError,
        "a worker that held rows of the frame was lost",
        (
            "start again; a frame is read once, so rows that are lost with a worker cannot be read again: files can, or set a "
            "checkpoint folder of the session (`setCheckpointDir`)"
        ),
    ),
    (
        r"FileNotFoundException|FAILED_READ_FILE.*(FILE_NOT_EXIST|NO_SUCH)|PATH_NOT_FOUND|NoSuchFileException",
        DataError,
        "a file of the input is gone",
        "make a copy that nobody writes to, and start again",
    ),
    (
        r"PARQUET_COLUMN_DATA_TYPE_MISMATCH|SchemaColumnConvertNotSupported|cannot be converted in file",
        DataError,
        "the files of the folder do not have the same columns",
        "write all parts of the table with the same names and types",
    ),
    (
        r"PARQUET_TYPE_|Illegal Parquet type|UNSUPPORTED_(DATA_?|TIME_)TYPE",
        DataError,
        "a column has a type that Spark does not read",
        "leave the column out of the files, or store it as text, a number, a date or a time in microseconds",
    ),
    (
        r"COLUMN_ALREADY_EXISTS",
        DataError,
        "columns have the name of an earlier column",
        "rename them",
    ),
    (
        r"AMBIGUOUS_REFERENCE",
        DataError,
        "the frame has columns whose names differ in capital letters alone, and its session does not tell them apart",
        "rename them, or set spark.sql.caseSensitive of that session to true",
    ),
    (
        r"ArithmeticException|NUMERIC_VALUE_OUT_OF_RANGE",
        DataError,
        "a column has numbers that Spark does not hold",
        "store exact decimals with at most 38 digits",
    ),
    (
        r"OutOfMemoryError|MemoryError|Java heap space",
        DataError,
        "a step of Spark needs more memory than it may use",
        "allow more by `--spark-conf spark.executor.memory=SIZE` (`spark.driver.memory` for a local master)",
    ),
    (
        (
            r"ExecutorLostFailure|Master removed our application|SparkContext (was|has been) (shut down|stopped|cancelled)"
            r"|stopped SparkContext|Py4JNetworkError|Connection refused|Answer from Java side is empty"
        ),
        DataError,
        _STOPPED,
        _AFTER_STOP,
    ),
    (
        r"FAILED_READ_FILE|CANNOT_READ_FILE|Corrupt|ParquetDecodingException|is not a Parquet file",
        DataError,
        "a file of the input cannot be read",
        (
            "check that every file is whole and what its name says it is; a file that was written again no longer fits a "
            "`.NAME.crc` that lies beside it: remove that"
        ),
    ),
)
"""Patterns of what Spark and Java say, and what each means."""
