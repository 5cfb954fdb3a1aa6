"""Addresses of databases: what is one, what is shown of it, and what is not stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.engine.read.foreign.address import is_address, mask_secrets, parse_address, refuse_secret, show_address
from shoal.errors import UsageError

HIDDEN = "kb7-Zq"
ADDRESSES = [
    f"postgresql://ann:{HIDDEN}@db.example.org:5432/clinic",
    f"postgresql://ann:{HIDDEN}@/clinic?host=/run/postgresql",
    f"postgresql://db.example.org/clinic?password={HIDDEN}",
    f"postgresql://ann@db.example.org/clinic?sslpassword={HIDDEN}&sslmode=require",
    f"mysql+pymysql://ann:{HIDDEN}@db.example.org/clinic?ssl_key=x",
]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("postgresql://localhost/clinic", True),
        ("sqlite:///visits.sqlite", True),
        ("visits.csv", False),
        ("C:\\visits.csv", False),
        ("folder//visits.csv", False),
        (Path("sqlite:///visits.sqlite"), False),
        ("folder:/visits.csv", False),
        (None, False),
    ],
)
def test_what_is_an_address(data, expected):
    assert is_address(data) is expected


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_secret_is_neither_shown_nor_stored(address):
    assert HIDDEN not in show_address(address)
    with pytest.raises(UsageError, match="is not stored") as caught:
        refuse_secret(address)
    assert HIDDEN not in str(caught.value)
    assert "pgpass" in str(caught.value)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_secret_is_masked_in_what_a_driver_says(address):
    assert HIDDEN not in mask_secrets(f"no login with {HIDDEN}", parse_address(address))


def test_a_password_with_signs_that_were_not_encoded_is_not_shown():
    address = "postgresql://ann:half/one@half-two@db.example.org/clinic"
    assert show_address(address) == "postgresql://db.example.org/clinic"
    with pytest.raises(UsageError, match="%40"):
        parse_address(address)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:half@{HIDDEN}/three@db.example.org/clinic",
        f"jdbc:postgresql://db.example.org/clinic?user=ann&password={HIDDEN}",
        f"postgresql:/ann:{HIDDEN}@db.example.org/clinic.db",
        f" postgresql://ann:{HIDDEN}@db.example.org/clinic",
    ],
)
def test_what_is_almost_an_address_is_refused_as_one_and_not_quoted_as_a_path(address):
    assert is_address(address)
    assert HIDDEN not in show_address(address)
    with pytest.raises(UsageError, match="%40") as caught:
        parse_address(address)
    assert HIDDEN not in str(caught.value)


@given(st.text(st.characters(codec="ascii", exclude_characters="@/:?#[]%\\")))
def test_no_part_of_an_odd_password_is_shown(password):
    marked = f"{HIDDEN}{password}{HIDDEN}"
    assert HIDDEN not in show_address(f"postgresql://ann:{marked}@db.example.org/clinic")


def test_what_holds_no_secret_is_stored():
    refuse_secret("postgresql://ann@db.example.org:5432/clinic?sslmode=verify-full&service=clinic")
    refuse_secret("sqlite:///visits.sqlite")


def test_a_driver_is_named_where_the_address_names_none():
    assert parse_address("postgresql://localhost/clinic").drivername == "postgresql+psycopg"
    assert parse_address("mysql://localhost/clinic").drivername == "mysql+pymysql"
    assert parse_address("postgresql+asyncpg://localhost/clinic").drivername == "postgresql+asyncpg"


def test_what_is_no_address_is_refused_without_being_quoted():
    with pytest.raises(UsageError, match="cannot be read") as caught:
        parse_address(f"postgresql://{HIDDEN}:port:{HIDDEN}@x:{HIDDEN}/y")
    assert HIDDEN not in str(caught.value)
