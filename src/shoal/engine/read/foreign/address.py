"""Addresses of databases: which inputs are addresses, and what may be shown and stored of one."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shoal.errors import ShoalError, UsageError

if TYPE_CHECKING:
    import sqlalchemy as sa

_ADDRESS: Final = re.compile(r"\s*(?:jdbc:)?[A-Za-z][A-Za-z0-9+._-]+:(?://|/[^/]*@)")
"""Also what only looks like an address: as a path it would be quoted in a message, with the password in it."""
_DRIVERS: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
"""The drivers that the extra `formats` installs, where an address names none."""
_HARMLESS: Final = frozenset(
    {
        "application_name",
        "channel_binding",
        "charset",
        "client_encoding",
        "connect_timeout",
        "dbname",
        "gssencmode",
        "host",
        "port",
        "service",
        "sslmode",
        "sslrootcert",
        "target_session_attrs",
        "unix_socket",
        "user",
    }
)
"""Parameters of an address that hold no secret."""


def is_address(data: object) -> bool:
    """Whether an input is the address of a database and not a path.

    >>> is_address("postgresql://localhost/clinic"), is_address("visits.csv"), is_address("sqlite:///visits.db")
    (True, False, True)
    """
    return isinstance(data, str) and _ADDRESS.match(data) is not None


def show_address(address: str) -> str:
    """Show where a database is, without user, password and parameters: all that messages, reports and records say of it.

    >>> show_address("postgresql://ann:secret@db.example.org:5432/clinic?sslmode=require")
    'postgresql://db.example.org:5432/clinic'
    """
    import sqlalchemy as sa

    with contextlib.suppress(sa.exc.ArgumentError, ValueError):
        url = sa.make_url(address)
        if not _is_torn(url.username, url.database):
            host = url.host and url.host.rpartition("@")[2]
            bare = sa.URL.create(url.get_backend_name(), host=host, port=url.port, database=url.database)
            return bare.render_as_string()
    return f"{address.partition(':/')[0].strip()}://…"


def _is_torn(user: str | None, rest: str | None) -> bool:
    """Whether a password with an @ that was not written as %40 was cut there, so that its rest passes for host or database."""
    return user is not None and "@" in (rest or "")


def parse_address(address: str) -> sa.URL:
    """Read an address, with the driver that is installed with Shoal where it names none; UsageError where it is none."""
    import sqlalchemy as sa

    with contextlib.suppress(sa.exc.ArgumentError, ValueError):
        url = sa.make_url(address)
        if _is_torn(url.username, url.host) or _is_torn(url.username, url.database):
            raise ValueError
        return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    raise UsageError(
        "the address of the database cannot be read",
        came=show_address(address),
        allowed="such as postgresql://ann@db.example.org:5432/clinic or sqlite:///visits.sqlite",
        fix="write signs such as @ and / in a password as %40 and %2F, or leave the password to ~/.pgpass",
    )


def file_of_address(address: str) -> Path | None:
    """The file that an address of SQLite or DuckDB names; None where the address is one of a server.

    >>> str(file_of_address("sqlite:///clinic/visits.sqlite")), file_of_address("postgresql://localhost/clinic")
    ('clinic/visits.sqlite', None)
    """
    url = parse_address(address)
    if url.get_backend_name() not in ("sqlite", "duckdb"):
        return None
    if not url.database or url.database == ":memory:":
        raise UsageError("a database in memory has no table to read", came=show_address(address), allowed="a file")
    return Path(url.database)


def refuse_secret(address: str) -> None:
    """Raise UsageError where an address holds a password, or a parameter that may be one: such an address is not stored."""
    url = parse_address(address)
    odd = odd_parameters(url)
    if url.password is None and not odd:
        return
    raise UsageError(
        "an address that holds a password is not stored" if url.password is not None
        else "an address with parameters that may hold a secret is not stored",
        came=f"{show_address(address)} with {'a password' if url.password is not None else ', '.join(odd)}",
        allowed="an address without one, such as postgresql://ann@db.example.org/clinic",
        fix="keep the password where the driver looks for it: for PostgreSQL in ~/.pgpass, in a service file "
        "(`?service=NAME`) or in the environment (PGPASSWORD)",
    )  # fmt: skip


def has_secret(word: str) -> bool:
    """Whether a word of a command line is an address that holds more than the database: a line with it is not repeated."""
    if not is_address(word):
        return False
    try:
        refuse_secret(word)
    except ShoalError:
        return True
    return False


def odd_parameters(url: sa.URL) -> list[str]:
    """The names of the parameters of an address that may hold a secret."""
    return sorted(name for name in url.query if name.lower() not in _HARMLESS)


def mask_secrets(text: str, url: sa.URL) -> str:
    """Replace the password of an address, and what its parameters may hold, in a text that speaks of it."""
    held = [url.password, *(value for name in odd_parameters(url) for value in _several(url.query[name]))]
    for secret in held:
        text = text.replace(str(secret), "…") if secret else text
    return text


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
