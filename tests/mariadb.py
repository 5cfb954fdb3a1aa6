"""A real MariaDB server for tests, without a network, reached through a socket file; see also postgresql.py."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ABSENT = "cannot run here: no MariaDB server is installed (Debian package mariadb-server-core)"
PATIENCE = 60
"""Seconds in which a server is there, also on a busy machine."""


def find_server() -> str | None:
    """The server's program, by the path of commands or where Debian has it."""
    return shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")


@contextmanager
def run_server(program: str) -> Iterator[str]:
    """Run a server that asks nobody for a password, and give the address of its empty database `clinic`."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-mariadb-"))
    as_user = "nobody" if os.getuid() == 0 else None
    (folder / "rows").mkdir()
    if as_user is not None:
        for each in (folder, folder / "rows"):
            os.chown(each, pwd.getpwnam(as_user).pw_uid, -1)
    socket = folder / "socket"
    command = [
        program, "--no-defaults", f"--datadir={folder / 'rows'}", f"--tmpdir={folder}", f"--socket={socket}",
        "--skip-grant-tables", "--skip-networking", "--innodb-use-native-aio=0", "--innodb-buffer-pool-size=16M",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, user=as_user, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            limit = time.monotonic() + PATIENCE
            while not socket.exists():
                if server.poll() is not None or time.monotonic() > limit:
                    raise RuntimeError((folder / "log").read_text(errors="replace")[-2000:])
                time.sleep(0.05)
            _make_database(str(socket))
            yield f"mysql://root@localhost/clinic?unix_socket={socket}"
        finally:
            server.kill()
            server.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _make_database(socket: str) -> None:
    import pymysql

    connection = pymysql.connect(user="root", unix_socket=socket)
    try:
        connection.cursor().execute("CREATE DATABASE clinic CHARACTER SET utf8mb4")
    finally:
        connection.close()
