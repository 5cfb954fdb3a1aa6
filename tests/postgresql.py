"""A real PostgreSQL server for tests: started in a temporary folder by a user without rights, reached through a socket file."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ABSENT = "cannot run here: no PostgreSQL server is installed (Debian package postgresql)"
ROLE = "custodian"


def find_programs() -> Path | None:
    """The folder of the server's programs, by the path of commands or where Debian has them; of several, the newest."""
    known = shutil.which("initdb")
    if known is not None and shutil.which("pg_ctl") is not None:
        return Path(known).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: float(each.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def run_server(programs: Path) -> Iterator[str]:
    """Run a server for as long as it is needed, and give the address of its database."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-postgresql-"))
    as_user = _user_without_rights()
    if as_user is not None:
        os.chown(folder, pwd.getpwnam(as_user).pw_uid, -1)
    rows = folder / "rows"

    def run(program: str, *arguments: str) -> None:
        plain = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(folder), "TZ": "UTC"}
        with (folder.parent / f"{folder.name}.log").open("ab") as log:
            subprocess.run(
                [str(programs / program), "-D", str(rows), *arguments],
                check=True, cwd=folder, env=plain, user=as_user, stdout=log, stderr=log, stdin=subprocess.DEVNULL, timeout=120,
            )  # fmt: skip

    try:
        run("initdb", "--auth=trust", f"--username={ROLE}", "--no-sync", "--locale=C", "--encoding=UTF8")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c shared_buffers=16MB -c max_connections=20"
        run("pg_ctl", "--wait", "--log", str(folder / "log"), "--options", options, "start")
        try:
            yield f"postgresql://{ROLE}@/postgres?host={folder}"
        finally:
            run("pg_ctl", "--wait", "--mode", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        (folder.parent / f"{folder.name}.log").unlink(missing_ok=True)


def _user_without_rights() -> str | None:
    """The user that the server runs as where the tests run as root, which it refuses."""
    if os.getuid() != 0:
        return None
    known = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)
