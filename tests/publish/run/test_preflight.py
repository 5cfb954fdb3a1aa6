"""Before the charge: whatever is broken on the machine is found there, and costs nothing."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest

from shoal.engine.duckdb.engine import DuckDB, out_of_space
from shoal.errors import DataError, ShoalError, UsageError
from shoal.publish.run import preflight
from tests.publish import clinic, counted_clinic
from tests.publish.release_folder import account

AFTER = """
import json, sys
from pathlib import Path
from tests.publish import clinic, counted_clinic
before = set()
def stage(name):
    if name == "charging" or (name == "writing" and not before):
        before.update(sys.modules)
kind, place = sys.argv[1], Path(sys.argv[2])
if kind in ("microaggregation", "swap"):
    counted_clinic.publish(place, kind, report=True, stage=stage)
else:
    clinic.publish(place, json.loads(kind), report=True, stage=stage)
print(json.dumps(sorted(set(sys.modules) - before)))
"""
KINDS = [
    json.dumps({"release.recoding": "tree", "release.output": "parquet"}),
    *(
        pytest.param(kind, marks=pytest.mark.long)
        for kind in (
            "{}",
            json.dumps({"release.views": "pairs", "unit": {"column": "patient", "max_rows": 2}}),
            json.dumps({"release.recoding": {"choose": {"epsilon": "0.2"}}}),
            "microaggregation",
            "swap",
        )
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_imported_after_the_charge(tmp_path, kind):
    """A broken module that is imported late was found after the charge."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER, kind, str(tmp_path)], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def nothing_happened(place):
    return [path.name for path in place.iterdir() if path.name != "ledger.sqlite"] == ["table.csv"] and (
        account(place).costs == ()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "shoal.publish.report.safe_k",
        "shoal.publish.verify.rebuild",
        "pyarrow.parquet",
        "shoal.publish.certificate.page",
    ],
)
def test_a_module_that_cannot_be_imported_costs_nothing(tmp_path, monkeypatch, module):
    def broken(name):
        if name == module:
            raise ImportError(f"cannot open shared object file of {name}")
        return found(name)

    found = preflight.import_module
    monkeypatch.setattr(preflight, "import_module", broken)
    with pytest.raises(UsageError, match=r"shared object.*nothing was charged"):
        clinic.publish(tmp_path, report=True)
    assert nothing_happened(tmp_path)


@pytest.mark.parametrize(
    "place",
    [
        "shoal.page.html.inline",
        "shoal.publish.certificate.seal.certificate_page",
        "shoal.chance.key.os.urandom",
        "shoal.anonymize.method.safe_k.SafeK.load_kernels",
    ],
)
def test_a_part_that_is_broken_costs_nothing(tmp_path, monkeypatch, place):
    def broken(*_, **__):
        raise OSError(errno.EIO, "broken")

    preflight.load_pages.cache_clear()
    monkeypatch.setattr(place, broken)
    with pytest.raises(ShoalError, match=r"broken.*nothing was charged"):
        clinic.publish(tmp_path, report=True)
    assert nothing_happened(tmp_path)


@pytest.mark.parametrize("where", ["release", "spill"])
def test_a_disk_that_is_full_costs_nothing(tmp_path, monkeypatch, where):
    usage = namedtuple("usage", "total used free")  # noqa: PYI024

    def disk_usage(place):
        return usage(0, 0, 0 if (".shoal-work" in str(place)) == (where == "release") else 1 << 40)

    monkeypatch.setattr(preflight.shutil, "disk_usage", disk_usage)
    monkeypatch.setattr(preflight, "IN_MEMORY", 0)
    place = tmp_path if where == "release" else tempfile.gettempdir()
    words = rf"too little space.*got {re.escape(str(place))}, where .*[\d,]+ bytes .*needed.* and 0 are free.*nothing was charged"
    with pytest.raises(UsageError, match=words):
        clinic.publish(tmp_path)
    assert nothing_happened(tmp_path)


def test_a_quota_that_is_used_up_costs_nothing(tmp_path, monkeypatch):
    def refuse(*_):
        preflight.ctypes.set_errno(errno.EDQUOT)
        return -1

    monkeypatch.setattr(preflight, "_fallocate", lambda: refuse)
    with pytest.raises(UsageError, match=r"uota.*nothing was charged"):
        clinic.publish(tmp_path)
    assert nothing_happened(tmp_path)


def test_space_is_reserved_until_it_is_needed(tmp_path):
    preflight.reserve(tmp_path, 1 << 20)
    (path,) = tmp_path.iterdir()
    if sys.platform == "linux":
        assert path.stat().st_size == 1 << 20
    preflight.free(tmp_path)
    preflight.free(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_release_without_a_price_is_prepared_too(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr("shoal.publish.certificate.seal.certificate_page", broken)
    with pytest.raises(UsageError, match="nothing was charged"):
        counted_clinic.publish(tmp_path, "microaggregation")


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT])
def test_a_place_where_nothing_can_be_made_costs_nothing(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("shoal.files.work_folder.WorkFolder.claim", refuse)
    with pytest.raises(UsageError, match=r"cannot be written there.*nothing was charged"):
        clinic.publish(tmp_path)
    assert nothing_happened(tmp_path)


def test_a_table_that_cannot_be_read_for_lack_of_space_costs_nothing(tmp_path, monkeypatch):
    def full(*_, **__):
        raise out_of_space(str(tmp_path))

    monkeypatch.setattr(DuckDB, "scan", full)
    with pytest.raises(DataError, match=r"with more room; nothing was charged"):
        clinic.publish(tmp_path)
    assert nothing_happened(tmp_path)
