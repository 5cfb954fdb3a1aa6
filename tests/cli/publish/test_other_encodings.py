"""A table that is written otherwise: refused with the key that would read it, and released once the policy says so."""

from __future__ import annotations

import pytest

from tests.cli.custodian import asked, furnished, nothing_happened
from tests.cli.run import answer, shoal


@pytest.mark.slow
def test_another_encoding_and_delimiter(tmp_path):
    furnished(tmp_path)
    table = tmp_path / "table.csv"
    text = table.read_text()
    names = text.splitlines()[0].replace(",", ";") + ";Straße\n"
    rows = [line.replace(",", ";") + ";Köln\n" for line in text.splitlines()[1:]]
    table.write_bytes((names + "".join(rows)).encode("windows-1252"))
    refused = shoal(*asked(tmp_path))
    assert refused.exit_code == 5
    assert "the file is not in utf-8; got table.csv" in refused.stderr
    assert "`file: {encoding: windows-1252}`" in refused.stderr
    assert nothing_happened(tmp_path)
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy.read_text() + "\nfile: {encoding: windows-1252}\n")
    made = answer(*asked(tmp_path, "--json"))
    assert made["rows_published"] > 0
    assert 'encoding: "windows-1252"' in (tmp_path / "out" / "policy.lock.yaml").read_text()
    assert shoal("verify", tmp_path / "out").exit_code == 0
    assert shoal("check", table, "--policy", policy).exit_code == 0
