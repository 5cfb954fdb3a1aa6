"""The files that Spark reads: found under a path, in the order of their names, and marked so that a change is noticed."""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from shoal.engine.read.foreign.compressed import inner_ending, is_packed
from shoal.engine.read.input import CSV, PARQUET
from shoal.engine.read.source import Stamp, refuse_lost_part, refuse_special
from shoal.engine.spark.session import explain
from shoal.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HIDDEN = "._"
"""A name that begins with one of these is no part of a table: Spark and others leave notes of their own beside the parts."""
AT_ONCE = 32
"""Footers that are read at the same time."""
FILE_SYSTEMS = frozenset(
    {
        *("file", "hdfs", "webhdfs", "swebhdfs", "viewfs", "har", "ofs", "o3fs"),
        *("s3", "s3a", "s3n", "gs", "abfs", "abfss", "wasb", "wasbs", "adl", "dbfs", "oss", "cos", "cosn", "obs"),
    }
)
"""Schemes of addresses that lead to files; others lead to databases."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
Mark = tuple[int, int]
NO_FILES = Stamp(())


@dataclass(frozen=True)
class FileMarks:
    """What is noted of the files before the first read: of local ones as every engine does, of others their size and time."""

    local: Stamp = NO_FILES
    remote: tuple[tuple[str, Mark], ...] = ()
    session: SparkSession | None = None

    def verify(self) -> None:
        """Raise DataError where a file has changed since or is gone."""
        self.local.verify()
        self._verify_remote()

    def verify_quickly(self) -> None:
        """Raise DataError where a file's size or times changed: for rows that are in memory."""
        self.local.verify_quickly()

    def _verify_remote(self) -> None:
        if self.session is None or not self.remote:
            return
        session = self.session
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for (name, mark), now in zip(
                self.remote, pool.map(lambda each: _status(session, each[0]), self.remote), strict=True
            ):
                if mark != now:
                    raise DataError(
                        "the file changed while it was read",
                        came=name.rsplit("/", 1)[-1],
                        fix="make a copy that nobody writes to, and start again",
                    )


@dataclass(frozen=True)
class FileList:
    """Files that make one table: a name for messages, their addresses in the order of their names, their kind, and marks."""

    name: str
    addresses: tuple[str, ...]
    parquet: bool
    marks: FileMarks

    @property
    def is_local(self) -> bool:
        """Whether the files lie in the file system of this machine."""
        return not self.marks.remote


def is_file_system(data: str) -> bool:
    """Whether an address leads to a file system that Spark reaches, and not to a database."""
    scheme = _SCHEME.match(data)
    return scheme is not None and scheme[1].lower() in FILE_SYSTEMS


def find_files(session: SparkSession, path: str | Path) -> FileList | None:
    """Find the Parquet or CSV files under a path, a folder or a pattern with stars; None where it is a file of another kind.

    Raises     DataError where there is no such file, or a folder holds none that is read
    """
    text = str(path)
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[1] != "file":
        return _remote(session, text)
    local = Path(unquote(urlsplit(text).path)) if scheme is not None else Path(text)
    found = _local(local)
    if found is None:
        return None
    parquet, files = found
    marks = FileMarks(Stamp.of(files))
    return FileList(local.name, tuple(str(file.absolute()) for file in files), parquet, marks)


def _local(path: Path) -> tuple[bool, list[Path]] | None:
    if path.is_dir():
        return _choose([(file.relative_to(path).as_posix(), file) for file in path.rglob("*")], path.name)
    if not path.exists() and glob.has_magic(str(path)):
        matched = [Path(each) for each in glob.glob(str(path), recursive=True)]  # noqa: PTH207 - the pattern may be absolute
        inner = [file for each in matched for file in (each.rglob("*") if each.is_dir() else [each])]
        fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), path.parts))
        # A pattern may match a folder and what is in it: each file counts once.
        files = {file.resolve(): file for file in inner}.values()
        return _choose([(_below(file, fixed), file) for file in files], str(path))
    kind = _kind(path.name)
    return None if kind is None or not path.is_file() else (kind, [path])


def _below(file: Path, fixed: Path) -> str:
    """The path of a file below the part of a pattern that is no pattern."""
    return file.relative_to(fixed).as_posix() if file.is_relative_to(fixed) else file.as_posix()


def _choose(named: Sequence[tuple[str, Path]], name: str) -> tuple[bool, list[Path]]:
    shown = [each for each in named if not any(part[0] in HIDDEN for part in Path(each[0]).parts if part != "/")]
    kinds = {file: _kind(file.name) for _, file in shown if not file.is_dir()}
    parquet = any(kind is True for kind in kinds.values())
    chosen = sorted((each for each in shown if kinds.get(each[1]) is parquet), key=lambda each: each[0])
    if not chosen:
        raise _nothing(name)
    for _, file in chosen:  # a file that is left out would be rows that are left out
        refuse_lost_part(file)
        refuse_special(file)
    return parquet, [file for _, file in chosen]


def _nothing(name: str) -> DataError:
    return DataError(
        "no Parquet or CSV file is there",
        came=name,
        allowed=f"files that end in {', '.join(PARQUET + CSV)}, CSV perhaps compressed",
        fix="check the path",
    )


def _kind(name: str) -> bool | None:
    """Whether a file is Parquet (True) or CSV (False) by its ending; None for neither."""
    path = Path(name)
    if path.suffix.lower() in PARQUET:
        return True
    ending = inner_ending(path) if is_packed(path) else path.suffix.lower()
    return False if ending in CSV else None


# --- other file systems, as Spark reaches them -------------------------------------------------------------------------


def _remote(session: SparkSession, address: str) -> FileList:
    found: list[tuple[str, Mark]] = []
    try:
        java: Any = session._jvm
        root = java.org.apache.hadoop.fs.Path(address)
        system = root.getFileSystem(_configuration(session))
        for status in system.globStatus(root) or ():
            if not status.isDirectory():
                found.append(_named(status))
                continue
            inner = system.listFiles(status.getPath(), True)
            while inner.hasNext():
                found.append(_named(inner.next()))
    except DataError:
        raise
    except Exception:  # noqa: BLE001 - whatever a file system says; it may name secrets of its address
        found = []
        failed = True
    else:
        failed = False
    if failed:
        raise DataError(
            "the place of the files cannot be reached",
            came=_without_secrets(address),
            fix="check the address, and the settings of the file system (`--spark-conf spark.hadoop.…`)",
        )
    fixed = _plain_root(address)
    shown = [each for each in found if not _is_hidden(each[0].removeprefix(fixed))]
    parquet = any(_kind(name.rsplit("/", 1)[-1]) is True for name, _ in shown)
    chosen = sorted(each for each in shown if _kind(each[0].rsplit("/", 1)[-1]) is parquet)
    if not chosen:
        raise _nothing(_without_secrets(address))
    marks = FileMarks(remote=tuple(chosen), session=session)
    return FileList(_without_secrets(address), tuple(name for name, _ in chosen), parquet, marks)


def _plain_root(address: str) -> str:
    """The part of an address before its first pattern: folders that it names are meant, whatever they are called."""
    return re.split(r"[*?\[{]", address, maxsplit=1)[0]


def _is_hidden(path: str) -> bool:
    return any(part[:1] in HIDDEN for part in path.split("/") if part)


def _without_secrets(address: str) -> str:
    """An address without a name and password that it may carry, and without parameters."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _configuration(session: SparkSession) -> Any:
    return session._jsc.hadoopConfiguration()


def _named(status: Any) -> tuple[str, Mark]:
    return status.getPath().toString(), (status.getLen(), status.getModificationTime())


def _status(session: SparkSession, address: str) -> Mark | None:
    try:
        path: Any = session._jvm.org.apache.hadoop.fs.Path(address)  # type: ignore[union-attr]
        return _named(path.getFileSystem(_configuration(session)).getFileStatus(path))[1]
    except Exception:  # noqa: BLE001 - gone, or out of reach: changed either way
        return None


def refuse_colons(files: FileList) -> None:
    """Raise DataError for a Parquet file here that Spark does not open, as it looks for checksums in a file beside each."""
    for address in files.addresses if files.is_local else ():
        name = address.rsplit("/", 1)[-1]
        if ":" in name:
            raise DataError("Spark does not read Parquet files with a colon in their name", came=name, fix="rename it")


def refuse_drift(session: SparkSession, files: FileList) -> None:
    """Raise DataError where Parquet files do not have the same columns: Spark would read a column that one lacks as missing."""
    if len(files.addresses) < 2:
        return
    shape = _local_shape if files.is_local else lambda address: explain(lambda: _remote_shape(session, address))
    with ThreadPoolExecutor(AT_ONCE if not files.is_local else 1) as pool:
        shapes = pool.map(shape, files.addresses)
        first = next(shapes)
        for address, other in zip(files.addresses[1:], shapes, strict=True):
            if other != first:
                raise DataError(
                    "the files of the folder do not have the same columns",
                    came=f"{files.name}: {address.rsplit('/', 1)[-1]} differs from the first file",
                    fix="write all parts of the table with the same names and types",
                )


def _local_shape(address: str) -> object:
    from pyarrow import parquet

    failed = False
    try:
        shape = parquet.read_schema(address)
    except Exception:  # noqa: BLE001 - a message may quote the file
        failed = True
    if failed:
        raise DataError("the file cannot be read", came=Path(address).name, fix="check that it is whole")
    return [(field.name, str(field.type)) for field in shape]


def _remote_shape(session: SparkSession, address: str) -> object:
    java: Any = session._jvm
    path = java.org.apache.hadoop.fs.Path(address)
    file = java.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, _configuration(session))
    reader = java.org.apache.parquet.hadoop.ParquetFileReader.open(file)
    try:
        return str(reader.getFooter().getFileMetaData().getSchema().toString())
    finally:
        reader.close()
