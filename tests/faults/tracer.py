"""Stop a process at a system call: count its calls, and kill it, signal it or let the call fail at the one that is asked for.

The tracer is `ptrace`, as in strace, called from Python so that a process can be forked with everything loaded. Calls that
change files, locks or the set of threads are the ones that *act*; all others (memory, clocks, reading) are counted too.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

CALLS = {
    1: "write", 2: "open", 18: "pwrite64", 20: "writev", 40: "sendfile", 56: "clone", 72: "fcntl", 73: "flock", 74: "fsync",
    75: "fdatasync", 76: "truncate", 77: "ftruncate", 82: "rename", 83: "mkdir", 84: "rmdir", 86: "link", 87: "unlink",
    88: "symlink", 90: "chmod", 91: "fchmod", 92: "chown", 93: "fchown", 133: "mknod", 162: "sync", 235: "utimes",
    257: "openat", 258: "mkdirat", 263: "unlinkat", 264: "renameat", 265: "linkat", 268: "fchmodat", 280: "utimensat",
    285: "fallocate", 296: "pwritev", 316: "renameat2", 318: "getrandom", 326: "copy_file_range", 435: "clone3",
    452: "fchmodat2",
}  # fmt: skip
"""Calls that act, by their number on x86-64; an opening acts where it may create or empty a file, `fcntl` where it locks."""
WRITING = frozenset({"write", "pwrite64", "writev", "pwritev", "fallocate", "sendfile", "copy_file_range"})
SYNCING = frozenset({"fsync", "fdatasync"})
ON_HANDLES = WRITING | SYNCING | {"ftruncate", "fchmod", "fchown", "flock", "fcntl"}
"""Calls whose first argument is an open file."""

_TRACEME, _CONT, _POKEUSER, _SYSCALL, _SETOPTIONS, _SYSCALL_INFO = 0, 7, 6, 24, 0x4200, 0x420E
_OPTIONS = (
    0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x80 | 0x100000
)  # mark calls; follow fork, vfork, clone, exec; none outlives us
_BY_FILTER = 7
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALL_THREADS = 0x40000000
_REGISTER_CALL, _REGISTER_RESULT = 15 * 8, 10 * 8
_CREATE = os.O_CREAT | os.O_TRUNC | getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY
_LOCKS = {6, 7, 37, 38}


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("first", ctypes.POINTER(_Instruction))]


class _CallInfo(ctypes.Structure):
    _fields_ = [
        ("op", ctypes.c_uint8), ("pad", ctypes.c_uint8 * 3), ("arch", ctypes.c_uint32), ("pointer", ctypes.c_uint64),
        ("stack", ctypes.c_uint64), ("number", ctypes.c_uint64), ("arguments", ctypes.c_uint64 * 6),
    ]  # fmt: skip


_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


@dataclass(frozen=True)
class Blow:
    """What is done to a process at one of its calls.

    `at` counts from 1 the calls that act, or all calls where `every` says so; `only` names the calls that are counted (all
    that act where it is empty), `below` the folder whose files they are about. `signal` is sent before the call is made;
    `error` makes the call fail instead, and all calls like it that follow where `lasting` says so.
    """

    at: int
    signal: int = 0
    error: int = 0
    every: bool = False
    only: tuple[str, ...] = ()
    below: str = ""
    lasting: bool = False


@dataclass
class Trace:
    """What became of a process: its exit code (the negative number of a signal that ended it) and its calls."""

    status: int = 0
    calls: int = 0
    acting: int = 0
    counted: int = 0
    """Calls that the blow counts."""
    struck: str = ""
    """The call at which the blow fell; empty where the process ended before."""
    log: list[str] = field(default_factory=list)


def fork() -> int:
    """Fork, without the warning of newer Pythons: what runs in our forks needs none of the threads that stay behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def why_not() -> str | None:
    """Why nothing can be traced here; None where it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"system calls are traced on Linux on x86-64 alone, and this is {sys.platform} on {platform.machine()}"
    child = fork()
    if child == 0:
        os._exit(0 if _ptrace(_TRACEME, 0) == 0 else 1)
    _, status = os.waitpid(child, 0)
    return None if os.waitstatus_to_exitcode(status) == 0 else "this system lets no process trace another"


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> int:
    found: int = _libc.ptrace(request, pid, address, data)
    return found


def _stop_at_calls_that_act() -> None:
    """Let the kernel stop this process at the calls in `CALLS` alone: the others go on at full speed."""
    numbers = sorted(CALLS)
    lines = [_Instruction(0x20, 0, 0, 0)]
    lines += [_Instruction(0x15, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    lines += [_Instruction(0x06, 0, 0, 0x7FFF0000), _Instruction(0x06, 0, 0, 0x7FF00000)]
    program = _Program(len(lines), (_Instruction * len(lines))(*lines))
    if _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or _libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def trace(child: Callable[[], int], blow: Blow | None = None, *, log: bool = False) -> Trace:
    """Fork, run `child` there under the tracer, and strike where the blow says; the process and its threads are reaped."""
    pid = fork()
    if pid == 0:
        code = 70
        try:
            _ptrace(_TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            if not (blow and blow.every):
                _stop_at_calls_that_act()
            code = child()
        finally:
            os._exit(code)
    os.waitpid(pid, 0)
    onwards = _SYSCALL if blow and blow.every else _CONT
    if _ptrace(_SETOPTIONS, pid, 0, _OPTIONS) != 0 or _ptrace(onwards, pid) != 0:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise OSError(ctypes.get_errno(), "the process cannot be traced")
    return _Tracer(pid, onwards, blow, keep_log=log).run()


class _Tracer:
    """Lets a process run from call to call."""

    def __init__(self, pid: int, onwards: int, blow: Blow | None, *, keep_log: bool) -> None:
        self.pid, self.onwards, self.blow, self.keep_log = pid, onwards, blow, keep_log
        self.trace = Trace()
        self.info = _CallInfo()

    def run(self) -> Trace:
        """Until the process has ended, which the system says after the last of its threads."""
        known = {self.pid}
        while True:
            thread, status = os.waitpid(-1, _ALL_THREADS)
            if not os.WIFSTOPPED(status):
                known.discard(thread)
                if thread == self.pid:
                    self.trace.status = os.waitstatus_to_exitcode(status)
                    break
                continue
            caught, passed = os.WSTOPSIG(status), 0
            if caught == signal.SIGTRAP | 0x80 or (caught == signal.SIGTRAP and status >> 16 == _BY_FILTER):
                self._call(thread)
            elif caught == signal.SIGTRAP and status >> 16:
                pass  # a new thread or process: it stops by itself
            elif caught == signal.SIGSTOP and thread not in known:
                known.add(thread)
            else:
                passed = caught
            _ptrace(self.onwards, thread, 0, passed)
        for other in known:  # processes that it started and left behind
            with suppress(OSError):
                os.kill(other, signal.SIGKILL)
                os.waitpid(other, _ALL_THREADS)
        return self.trace

    def _call(self, thread: int) -> None:
        if _ptrace(_SYSCALL_INFO, thread, ctypes.sizeof(self.info), ctypes.addressof(self.info)) <= 0:
            return
        if self.info.op == 2:
            return  # the call returns
        trace, blow = self.trace, self.blow
        trace.calls += 1
        name = self._name()
        trace.acting += bool(name)
        if self.keep_log and name:
            trace.log.append(f"{name} {self._about(thread, name)}")
        if blow is None or not self._counts(thread, name, blow):
            return
        trace.counted += 1
        if trace.counted == blow.at or (blow.lasting and trace.counted > blow.at):
            trace.struck = trace.struck or f"call {trace.calls}: {name or self.info.number} {self._about(thread, name)}"
            if blow.error:
                _ptrace(_POKEUSER, thread, _REGISTER_CALL, -1)
                _ptrace(_POKEUSER, thread, _REGISTER_RESULT, -blow.error)
            else:
                os.kill(self.pid, blow.signal)

    def _counts(self, thread: int, name: str, blow: Blow) -> bool:
        if blow.every:
            return True
        if not name or (blow.only and name not in blow.only):
            return False
        return not blow.below or self._about(thread, name).startswith(blow.below)

    def _name(self) -> str:
        """The name of the call where it acts; empty otherwise."""
        name, arguments = CALLS.get(self.info.number, ""), self.info.arguments
        if name in {"open", "openat"}:
            flags = arguments[1 if name == "open" else 2]
            return name if flags & _CREATE else ""
        if name == "fcntl":
            return name if arguments[1] in _LOCKS else ""
        return name

    def _about(self, thread: int, name: str) -> str:
        """The file that a call is about, as far as its arguments say it."""
        arguments = self.info.arguments
        if name in ON_HANDLES:
            try:
                return str(Path(f"/proc/{thread}/fd/{ctypes.c_int(arguments[0] & 0xFFFFFFFF).value}").readlink())
            except OSError:
                return "?"
        place = 1 if name.endswith("at") or name in {"renameat2", "fchmodat2"} else 0
        if name in {"", "clone", "clone3", "getrandom", "sync"}:
            return ""
        return _text(thread, arguments[place])


def _text(thread: int, address: int) -> str:
    """The text at an address of another process."""
    try:
        with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(4096).split(b"\0")[0].decode(errors="replace")
    except (OSError, ValueError):
        return "?"
