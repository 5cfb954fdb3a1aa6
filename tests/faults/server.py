"""Shoal's commands as real processes, quickly: a server that has everything loaded forks one process for each command.

    server = Server()                       one process with Shoal loaded
    server.run(["release", ...], cwd=...)   one command in a fork of it: exit code, output, and its system calls
    server.race([[...], [...]], cwd=...)    several commands in forks that start together

A fork differs from a fresh interpreter in one thing: modules and compiled kernels are there already. `Server(cold=True)` forks
before they are, so that each command loads what it needs.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.faults.tracer import Blow, Trace, fork, trace
from tests.gate import ROOT

BASE = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "TERM": "dumb"}


@dataclass(frozen=True)
class Done:
    """A command that has ended: by itself with an exit code, or by a signal (its negative number)."""

    status: int
    out: str
    err: str
    calls: int = 0
    acting: int = 0
    counted: int = 0
    struck: str = ""
    log: list[str] = field(default_factory=list)

    @property
    def said(self) -> str:
        """All that it printed."""
        return self.out + self.err


def show(line: str) -> None:
    """Print a line of a table at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Server:
    """A process that forks commands."""

    def __init__(self, *, cold: bool = False) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server", *(["cold"] if cold else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **BASE},
            cwd=ROOT,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        self._process.communicate()

    def run(self, command: Sequence[object], cwd: Path, blow: Blow | None = None, **options: Any) -> Done:
        """Run one command. Options: see `_Request`."""
        return self._ask([command], cwd, blow, options)[0]

    def race(self, commands: Sequence[Sequence[object]], cwd: Path, **options: Any) -> list[Done]:
        """Run several commands that start together."""
        return self._ask(commands, cwd, None, {"race": True, **options})

    def _ask(
        self, commands: Sequence[Sequence[object]], cwd: Path, blow: Blow | None, options: Mapping[str, Any]
    ) -> list[Done]:
        request = {
            "commands": [[str(word) for word in command] for command in commands],
            "cwd": str(cwd),
            "blow": None if blow is None else asdict(blow),
            **options,
        }
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        pipe_in.write(json.dumps(request) + "\n")
        pipe_in.flush()
        answer = pipe_out.readline()
        assert answer, "the server has died"
        return [Done(**fields) for fields in json.loads(answer)]


@dataclass(frozen=True)
class _Request:
    """What the server is asked: commands, where, under what conditions."""

    commands: list[list[str]]
    cwd: str
    blow: dict[str, Any] | None = None
    race: bool = False
    traced: bool = False
    """Trace it although no blow falls, to count its calls; with a log of the calls that act where `log` says so."""
    log: bool = False
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Variables that are set, or unset (None)."""
    uid: int = 0
    """The user who runs it, where the server is root."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Soft limits by name, such as NOFILE; AS is counted on top of what the process has."""
    closed: Sequence[int] = ()
    """Which of the standard streams are closed."""
    broken: Sequence[str] = ()
    """Modules that cannot be imported."""


_is_warm = False


def serve() -> None:
    """Answer requests until there are no more."""
    global _is_warm  # noqa: PLW0603 - said once, before the first fork
    _is_warm = "cold" not in sys.argv
    if _is_warm:
        _load()
    for line in sys.stdin:
        asked = _Request(**json.loads(line))
        answer = _run_together(asked) if asked.race else [_run(asked, command) for command in asked.commands]
        sys.stdout.write(json.dumps([asdict(one) for one in answer]) + "\n")
        sys.stdout.flush()


def _load() -> None:
    """Import all that any command imports; one that is missing here is loaded by each command again, and only slower."""
    import pkgutil

    import shoal

    for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
        if ".lab." not in module.name and "__main__" not in module.name:
            importlib.import_module(module.name)
    lazily = (
        "duckdb", "pyarrow.parquet", "pyarrow.csv", "pyarrow.compute", "pyarrow.dataset", "numba", "jinja2", "scipy.stats",
        "scipy.special", "scipy.optimize", "sqlalchemy.dialects.sqlite", "dp_accounting.pld", "ruamel.yaml", "rich.progress",
        "platformdirs", "zipfile", "matplotlib.figure", "matplotlib.backends.backend_svg",
    )  # fmt: skip
    for name in lazily:
        importlib.import_module(name)


def _run(asked: _Request, command: list[str]) -> Done:
    with _scratch() as folder:
        files = (_file(folder, "out"), _file(folder, "err"), _file(folder, "modules"))

        def child() -> int:
            return _child(asked, command, files)

        if asked.blow is None and not asked.traced:
            pid = fork()
            if pid == 0:
                code = 70
                try:
                    code = child()
                finally:
                    os._exit(code)
            found = Trace(status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            _learn(files[2])
        else:
            blow = None if asked.blow is None else Blow(**{**asked.blow, "only": tuple(asked.blow["only"])})
            found = trace(child, blow, log=asked.log)
        return _done(found, files)


def _run_together(asked: _Request) -> list[Done]:
    """Fork all; each waits at a pipe until the last is there and the other end is closed."""
    with _scratch() as folder:
        files = [
            tuple(_file(folder, f"{number}.{name}") for name in ("out", "err", "modules"))
            for number in range(len(asked.commands))
        ]
        ready, start = os.pipe(), os.pipe()
        pids = []
        for command, own in zip(asked.commands, files, strict=True):
            pid = fork()
            if pid == 0:
                code = 70
                try:
                    os.close(start[1])
                    os.write(ready[1], b".")
                    os.read(start[0], 1)
                    code = _child(asked, command, own)
                finally:
                    os._exit(code)
            pids.append(pid)
        os.close(ready[1])
        for _ in pids:
            os.read(ready[0], 1)
        for handle in (ready[0], *start):
            os.close(handle)
        found = [Trace(status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) for pid in pids]
        return [_done(one, own) for one, own in zip(found, files, strict=True)]


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for what commands print; without a finalizer, which a fork would run at its end."""
    folder = tempfile.mkdtemp(prefix="test-output-")
    Path(folder).chmod(0o755)  # another user may have to write there
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _file(folder: str, name: str) -> str:
    path = Path(folder, name)
    path.touch()
    path.chmod(0o666)
    return str(path)


def _done(found: Trace, files: Sequence[str]) -> Done:
    out, err = (Path(file).read_text(encoding="utf-8", errors="replace") for file in files[:2])
    fields = {name: value for name, value in asdict(found).items() if name != "status"}
    return Done(found.status, out, err, **fields)


def _child(asked: _Request, command: list[str], files: Sequence[str]) -> int:
    """In the fork: become a process like any other, and run the command."""
    for place, (file, flags) in enumerate(((os.devnull, os.O_RDONLY), (files[0], os.O_RDWR), (files[1], os.O_RDWR))):
        handle = os.open(file, flags)
        os.dup2(handle, place)
        os.close(handle)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.umask(0o022)
    os.chdir(asked.cwd)
    for name, value in asked.env.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    tempfile.tempdir = None
    _break(asked.broken)
    if asked.uid:
        os.setgroups([])
        os.setgid(asked.uid)
        os.setuid(asked.uid)
    for name, value in asked.limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        own = value + (_memory() if name == "AS" else 0)
        resource.setrlimit(which, (own, resource.getrlimit(which)[1]))
    sys.stdin, sys.stdout, sys.stderr = (open(n, m, encoding="utf-8") for n, m in ((0, "r"), (1, "w"), (2, "w")))  # noqa: PTH123, SIM115
    for handle in asked.closed:
        os.close(handle)
        setattr(sys, ("stdin", "stdout", "stderr")[handle], None)
    before = set(sys.modules)
    code = _call(command)
    if _is_warm and asked.blow is None and not asked.traced and not asked.broken:
        Path(files[2]).write_text("\n".join(sorted({*sys.modules} - before)), encoding="utf-8")
    return code


def _learn(file: str) -> None:
    """Load what a command had to load, so that the next finds it: another user may be unable to read the interpreter."""
    for name in Path(file).read_text(encoding="utf-8").split():
        with suppress(Exception):
            importlib.import_module(name)


def _break(names: Sequence[str]) -> None:
    """Forget some modules and everything of Shoal, and let the next import of these modules fail."""
    if not names:
        return
    for name in list(sys.modules):
        if name.partition(".")[0] in {"shoal", *names}:
            del sys.modules[name]

    class Broken:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name.partition(".")[0] in names:
                raise ImportError(f"{name} is broken here")

    sys.meta_path.insert(0, Broken())


def _memory() -> int:
    """The address space of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _call(command: list[str]) -> int:
    """The command `shoal`, as its console script calls it, and the end of an interpreter."""
    from shoal.cli import main

    sys.argv = ["shoal", *command]
    code = 0
    try:
        main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:  # noqa: BLE001 - an interpreter prints it and ends with 1
        import traceback

        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):
                code = 120
    return code


if __name__ == "__main__":
    serve()
