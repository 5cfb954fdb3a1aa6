"""Files that a person names: plain ones alone, and no more of them than is needed."""

from __future__ import annotations

import os

import pytest

from shoal.data.hierarchy.table import read_rows
from shoal.data.plain_file import LARGEST_YAML, near_path, read_plain_file
from shoal.data.taxonomy import read_tree
from shoal.datasets.marginals import load
from shoal.errors import PolicyError, UsageError
from shoal.policy.policy import Policy
from shoal.query.batch import plain_values

READERS = [Policy.load, read_rows, read_tree, load, lambda path: plain_values(path, "the file of questions")]


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_a_device_and_a_folder_are_refused_before_they_are_waited_for(reader, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path, "/dev/zero", "/dev/stdin" if os.isatty(0) else "/dev/null"):
        with pytest.raises(UsageError, match="cannot be read"):
            reader(type(tmp_path)(name))


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_too_large_is_refused_before_it_is_read(reader, tmp_path):
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no space, and reading it whole would take a terabyte of memory
    with pytest.raises(UsageError, match="too large"):
        reader(large)


def test_a_plain_file_and_a_link_to_one_are_read(tmp_path):
    (tmp_path / "plain").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("plain")
    assert read_plain_file(tmp_path / "link", 3) == b"abc"
    with pytest.raises(PolicyError, match="at most 2 bytes"):
        read_plain_file(tmp_path / "plain", 2)
    with pytest.raises(OSError, match="No such file"):
        read_plain_file(tmp_path / "none", LARGEST_YAML)


def test_a_name_beside_a_path_is_near_without_its_ending(tmp_path):
    for name in ("visits.xlsx", "visits.csv", "t.csv"):
        (tmp_path / name).touch()
    assert near_path(tmp_path / "vissits.csv") == tmp_path / "visits.csv"
    assert near_path(tmp_path / "Visit.xlsx") == tmp_path / "visits.xlsx"
    assert near_path(tmp_path / "visits.yml", (".yaml",)) is None
    assert near_path(tmp_path / "abcd.csv") is None
    assert near_path(tmp_path / "none" / "visits.csv") is None
