"""Kernels compile whatever the cache is like: missing, damaged, full, shared, read-only, or of another user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal import compilation
from shoal.anonymize.kernel.grow import refine
from shoal.anonymize.kernel.remaining_points import PlainPoints, remaining_points
from shoal.compilation import cache, compile_kernel, is_compiled, load_kernels, takes

OTHERS = [value for value in (65534, 65533) if value != os.geteuid()]


@pytest.fixture(autouse=True)
def forget():
    """Every test compiles anew, and leaves nothing compiled behind."""
    compile_kernel.cache_clear()
    compilation._FAILED.clear()
    yield
    compile_kernel.cache_clear()
    compilation._FAILED.clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The only folder that is looked at."""
    path = tmp_path / "kernels"
    monkeypatch.setattr(cache, "candidate_folders", lambda: iter([(path, True)]))
    return path


@takes("float64[::1], float64")
def scale(values, factor):
    """A loop that compiles in no time."""
    for i in range(len(values)):
        values[i] *= factor
    return values


def scale_at_once(values, factor):
    """The same, by NumPy."""
    values *= factor
    return values


def scaled(function):
    """What a loop makes of three numbers."""
    return function(np.array([1.0, 2.0, 3.0]), 2.0).tolist()


def hits(function):
    """How many times machine code was loaded instead of made."""
    return sum(function._cache_hits.values())


def compiled_again():
    """The kernel as the next process finds it."""
    compile_kernel.cache_clear()
    return compile_kernel(scale, scale_at_once)


def only_file(folder):
    (found,) = folder.iterdir()
    return found


@pytest.mark.slow
def test_machine_code_is_kept_for_the_next_process(folder):
    first = compile_kernel(scale, scale_at_once)
    assert hits(first) == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    assert only_file(folder).name.startswith("scale-")
    again = compiled_again()
    assert hits(again) == 1
    assert scaled(first) == scaled(again) == scaled(scale) == scaled(scale_at_once) == [2.0, 4.0, 6.0]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["empty", "short", "bit", "code", "noise", "pickle", "folder", "fifo", "link"])
def test_a_damaged_file_is_compiled_anew_and_replaced(folder, damage, tmp_path):
    compile_kernel(scale, scale_at_once)
    file = only_file(folder)
    content = file.read_bytes()
    if damage == "empty":
        file.write_bytes(b"")
    elif damage == "short":
        file.write_bytes(content[: len(content) // 2])
    elif damage in ("bit", "code"):
        at = 5 if damage == "bit" else content.index(b"\x7fELF") + 200
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    elif damage == "noise":
        file.write_bytes(os.urandom(1000))
    elif damage == "pickle":  # whole, and not what a kernel is
        import hashlib
        import pickle

        payload = pickle.dumps(("what", 1))
        file.write_bytes(hashlib.sha256(payload).digest() + payload)
    else:
        file.unlink()
        if damage == "folder":
            file.mkdir()
        elif damage == "fifo":
            os.mkfifo(file)
        else:
            (tmp_path / "elsewhere").write_bytes(content)
            file.symlink_to(tmp_path / "elsewhere")
    again = compiled_again()
    assert hits(again) == 0
    assert scaled(again) == [2.0, 4.0, 6.0]
    if damage != "folder":
        assert hits(compiled_again()) == 1  # replaced by a whole one


@pytest.mark.slow
@pytest.mark.parametrize("what", ["folder", "file"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_machine_code_that_others_can_write_is_not_run(folder, what, mode):
    compile_kernel(scale, scale_at_once)
    place = folder if what == "folder" else only_file(folder)
    place.chmod(place.stat().st_mode | mode)
    again = compiled_again()
    assert hits(again) == 0
    assert scaled(again) == [2.0, 4.0, 6.0]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="cannot run here: files are given to another user")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_machine_code_of_another_user_is_not_run(folder, what):
    compile_kernel(scale, scale_at_once)
    os.chown(folder if what == "folder" else only_file(folder), OTHERS[0], OTHERS[0])
    assert hits(compiled_again()) == 0


@pytest.mark.slow
def test_a_linked_folder_is_not_used(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert scaled(compile_kernel(scale, scale_at_once)) == [2.0, 4.0, 6.0]
    assert not list((tmp_path / "elsewhere").iterdir())
    assert cache.cache_folder() is None


@pytest.mark.slow
@pytest.mark.parametrize("call", ["write", "rename", "mkdir"])
def test_a_full_disk_leaves_no_file_behind(folder, call, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    if call == "write":
        real = os.fdopen

        class Full:
            def __init__(self, made):
                self.made = made

            def __enter__(self):
                return self

            def __exit__(self, *_):
                os.close(self.made)

            write = full

        monkeypatch.setattr(cache.os, "fdopen", lambda made, mode: Full(made) if mode == "wb" else real(made, mode))
    elif call == "rename":
        monkeypatch.setattr(cache.os, "rename", full)
    else:
        monkeypatch.setattr(cache.Path, "mkdir", full)
    made = compile_kernel(scale, scale_at_once)
    assert scaled(made) == [2.0, 4.0, 6.0]
    assert not folder.exists() or not list(folder.iterdir())


def test_two_processes_that_write_at_once_leave_a_whole_file(tmp_path):
    payloads = [os.urandom(100_000) for _ in range(2)]
    stop = False

    def write(payload):
        while not stop:
            with cache.open_folder(tmp_path) as opened:
                cache._write(opened, "one", payload)

    writers = [threading.Thread(target=write, args=(payload,)) for payload in payloads]
    with cache.open_folder(tmp_path) as opened:
        cache._write(opened, "one", payloads[0])
        for writer in writers:
            writer.start()
        try:
            for _ in range(200):
                assert cache._read(opened, "one") in payloads
        finally:
            stop = True
            for writer in writers:
                writer.join()
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_old_files_give_way(tmp_path):
    for at in range(20):
        (tmp_path / f"route-{at}{cache.SUFFIX}").write_bytes(b"")
        os.utime(tmp_path / f"route-{at}{cache.SUFFIX}", (at, at))
    (tmp_path / f".route-killed{cache.SUFFIX}.0").write_bytes(b"")
    os.utime(tmp_path / f".route-killed{cache.SUFFIX}.0", (1, 1))
    (tmp_path / f"refine-1{cache.SUFFIX}").write_bytes(b"")
    with cache.open_folder(tmp_path) as opened:
        cache._prune(opened, "route")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"refine-1{cache.SUFFIX}"} | {f"route-{at}{cache.SUFFIX}" for at in range(12, 20)}


def test_the_folders_in_their_order(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    beside = Path(cache.__file__).parent / "__pycache__"
    assert [path for path, _ in cache.candidate_folders()] == [
        tmp_path / "named", beside, tmp_path / "caches" / "shoal" / "kernels",
    ]  # fmt: skip
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [path for path, _ in cache.candidate_folders()][1:] == [tmp_path / ".cache" / "shoal" / "kernels"]
    monkeypatch.setenv("HOME", str(tmp_path / "missing"))
    assert [path for path, _ in cache.candidate_folders()][1:] == []  # a home is not made


# --- where nothing can be compiled --------------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch):
    """Numba cannot be imported, as where LLVM is missing."""
    monkeypatch.setitem(sys.modules, "numba", None)


def test_a_machine_that_cannot_compile_uses_the_twins_and_says_so(broken):
    assert compile_kernel(scale, scale_at_once) is scale_at_once
    assert compile_kernel(refine) is refine
    assert not is_compiled(scale)
    (note,) = load_kernels([scale, refine])
    assert note.startswith("loops cannot be compiled here (ModuleNotFoundError)")
    assert load_kernels([]) == ()


def test_clusters_where_nothing_compiles(broken, monkeypatch):
    monkeypatch.setattr("shoal.anonymize.kernel.remaining_points.MUCH", 0)
    points = np.random.default_rng(1).normal(size=(30, 2))
    assert type(remaining_points(points, 3)) is PlainPoints


def test_compiling_that_is_switched_off(monkeypatch):
    import numba

    monkeypatch.setattr(numba, "njit", lambda **_: lambda function: function)  # as NUMBA_DISABLE_JIT=1 does
    assert compile_kernel(scale, scale_at_once) is scale_at_once
    assert load_kernels([scale])


@pytest.mark.slow
def test_another_version_of_numba_compiles_without_a_cache(folder, monkeypatch):
    monkeypatch.setattr(cache, "KernelCache", None)
    made = compile_kernel(scale, scale_at_once)
    assert scaled(made) == [2.0, 4.0, 6.0]
    assert not folder.exists()


@pytest.mark.slow
def test_kernels_are_compiled_before_they_are_called_and_not_again(monkeypatch):
    """The declared types are those of the calls, so that what is loaded before the charge is all that is used after it."""
    monkeypatch.setattr("shoal.anonymize.kernel.remaining_points.MUCH", 0)
    points = np.random.default_rng(1).normal(size=(300, 2))
    wide = np.random.default_rng(1).normal(size=(300, 12))
    from shoal.anonymize.cluster.approx import approx
    from shoal.anonymize.cluster.mdav import mdav, vmdav
    from shoal.anonymize.cluster.ranking import optimal, shortest_path
    from shoal.anonymize.kernel.remaining_points import loops

    monkeypatch.setattr("shoal.anonymize.cluster.ranking.MUCH", 0)
    assert load_kernels([*loops(), shortest_path]) == ()
    for values in (points, wide):
        mdav(values, 3)
        vmdav(values, 3)
        approx(values, 3)
    optimal(points[:, 0], 3)
    for loop in (*loops(), shortest_path):
        assert len(compile_kernel(loop).signatures) == 1, loop.__name__


# --- a service account --------------------------------------------------------------------------------------------------


def service_account():
    """The beginning of a command that runs as a user who can write nothing; one that is not root is such a user.

    It may read what only root can, since that is where the interpreter may lie.
    """
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("cannot run here: there is no setpriv to become another user")
    kept = "-all,+dac_read_search"
    return [
        "setpriv", f"--reuid={OTHERS[0]}", f"--regid={OTHERS[0]}", "--clear-groups",
        f"--inh-caps={kept}", f"--ambient-caps={kept}", f"--bounding-set={kept}",
    ]  # fmt: skip


AS_SERVICE = """
import os, sys
import numpy as np
from shoal.compilation import cache, compile_kernel, load_kernels
from shoal.anonymize.kernel.grow import route, route_levels
print(cache.cache_folder())
print(load_kernels([route]))
print(type(compile_kernel(route, route_levels)).__name__)
"""


@pytest.mark.slow
def test_a_service_account_without_home_and_package_of_its_own(tmp_path):
    """Neither the package's folder nor a home can be written, where Numba's own cache ends in a RuntimeError."""
    package = tmp_path / "installed"
    shutil.copytree(Path(shoal.__file__).parent, package / "shoal", ignore=shutil.ignore_patterns("__pycache__"))
    root = os.geteuid() == 0
    if not root:
        for place in [package, *(path for path in package.rglob("*") if path.is_dir())]:
            place.chmod(0o555)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    }
    environment |= {"HOME": "/nonexistent", "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        made = subprocess.run(
            [*service_account(), sys.executable, "-c", AS_SERVICE],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        if not root:
            for place in [package, *(path for path in package.rglob("*") if path.is_dir())]:
                place.chmod(0o755)
    assert made.stderr == ""
    assert made.stdout.split("\n")[:3] == ["None", "()", "CPUDispatcher"]
