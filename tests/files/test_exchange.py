"""Names that change hands: never over what is there, and with no moment at which a folder is missing."""

from __future__ import annotations

import errno

import pytest

from shoal.files import exchange as module
from shoal.files.exchange import appear, exchange, finish_exchange


@pytest.fixture(params=["one step", "in steps"])
def way(request, monkeypatch):
    """With the system's own call where there is one, and without it."""
    if request.param == "in steps":
        monkeypatch.setattr(module, "_renameat2", lambda: None)
    return request.param


def folder(path, text):
    path.mkdir()
    (path / "file").write_text(text)
    return path


def test_a_folder_appears(tmp_path, way):
    appear(folder(tmp_path / "made", "new"), tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert (tmp_path / "target" / "file").read_text() == "new"


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_there_is_not_replaced(tmp_path, way, kind):
    made, target = folder(tmp_path / "made", "new"), tmp_path / "target"
    {"folder": target.mkdir, "file": target.touch, "link": lambda: target.symlink_to("nowhere")}[kind]()
    with pytest.raises(FileExistsError):
        appear(made, target)
    assert (made / "file").read_text() == "new"


def test_a_file_appears_and_replaces_nothing(tmp_path, way):
    (tmp_path / "made").write_text("new")
    appear(tmp_path / "made", tmp_path / "target")
    assert (tmp_path / "target").read_text() == "new"
    (tmp_path / "made").write_text("newer")
    with pytest.raises(FileExistsError):
        appear(tmp_path / "made", tmp_path / "target")
    assert (tmp_path / "target").read_text() == "new"


def test_two_folders_change_places(tmp_path, way):
    made, target = folder(tmp_path / "made", "new"), folder(tmp_path / "target", "old")
    exchange(made, target)
    assert ((target / "file").read_text(), (made / "file").read_text()) == ("new", "old")
    finish_exchange(made, target)  # nothing was interrupted: nothing is done
    assert ((target / "file").read_text(), (made / "file").read_text()) == ("new", "old")


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_an_exchange_in_steps_that_was_interrupted_is_finished(tmp_path, monkeypatch, renames):
    monkeypatch.setattr(module, "_renameat2", lambda: None)
    made, target = folder(tmp_path / "made", "new"), folder(tmp_path / "target", "old")
    steps = [lambda: target.rename(tmp_path / "made.aside"), lambda: made.rename(target)]
    for step in steps[:renames]:
        step()
    assert {path.read_text() for path in tmp_path.glob("*/file")} == {"old", "new"}
    finish_exchange(made, target)
    expected = ("new", "old") if renames else ("old", "new")
    assert ((target / "file").read_text(), (made / "file").read_text()) == expected


def test_a_file_system_that_knows_no_flags_is_served_in_steps(tmp_path, monkeypatch):
    def refuse(*_):
        module.ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(module, "_renameat2", lambda: refuse)
    made, target = folder(tmp_path / "made", "new"), folder(tmp_path / "target", "old")
    exchange(made, target)
    assert (target / "file").read_text() == "new"
    with pytest.raises(FileExistsError):
        appear(made, target)


def test_another_failure_is_said(tmp_path, way):
    with pytest.raises(FileNotFoundError):
        appear(tmp_path / "nothing", tmp_path / "target")
