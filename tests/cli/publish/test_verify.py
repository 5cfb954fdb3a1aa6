"""`shoal verify` and `shoal share`: what was tampered with is exit 3 and is not packed; the holder's report stays."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shoal.publish.verify import standalone
from shoal.publish.verify.release import verify
from tests.cli.run import answer, refused, shoal
from tests.publish import counted_clinic, grouped_clinic, sample_clinic


@pytest.fixture
def copied(made, tmp_path):
    return Path(shutil.copytree(made / "out", tmp_path / "out"))


@pytest.mark.slow
def test_an_honest_folder_is_verified(made):
    done = shoal("verify", made / "out")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "all agree" in done.stdout
    seal = json.loads((made / "out" / "certificate.json").read_text())["seal"]
    assert done.stdout.splitlines()[1:] == [
        f"seal: {seal}; compare it with the one that the custodian published elsewhere"
    ]
    found = answer("verify", made / "out")
    assert found["agrees"] is True
    assert found["folder"] == str(made / "out")
    assert all(check["agrees"] for check in found["checks"])
    listed = shoal("verify", made / "out", "--all").stdout.splitlines()
    assert len(listed) == len(found["checks"]) + 2
    assert "ok      seal: SHA-256 over the certificate" in listed


@pytest.mark.slow
def test_what_rests_on_the_program_alone_is_said_below_the_verdict(tmp_path):
    made = sample_clinic.publish(tmp_path)
    verdict, rests, seal = shoal("verify", made.folder).stdout.splitlines()
    assert "all agree" in verdict
    assert "rests on the program that drew the sample" in rests
    assert seal.startswith("seal: ")
    assert answer("verify", made.folder)["unseen"] == [rests]
    assert rests in standalone.statement(made.folder)


@pytest.mark.parametrize(
    ("policy", "is_unseen"),
    [
        (counted_clinic.policy("swap"), True),
        (counted_clinic.policy("mondrian"), False),
        (grouped_clinic.policy("permuted"), True),
        (grouped_clinic.policy("anatomy-permuted"), True),
        (grouped_clinic.policy("linked"), False),
        (sample_clinic.policy(), True),
    ],
)
def test_methods_that_hide_what_they_rest_on_say_so(policy, is_unseen):
    said = standalone.unseen(standalone.read_lock(policy.lock().text))
    assert ["rests on the program" in each for each in said] == [True] * is_unseen


@pytest.mark.slow
def test_the_stages_of_a_verification_are_named(made):
    seen: list[str] = []
    verify(made / "out", seen.append)
    assert list(dict.fromkeys([stage.partition(":")[0] for stage in seen])) == ["1 of 3", "2 of 3", "3 of 3"]


def one_cell(folder):
    lines = (folder / "table.csv").read_text().splitlines()
    assert ",f," in lines[1]
    lines[1] = lines[1].replace(",f,", ",m,")
    (folder / "table.csv").write_text("\n".join(lines) + "\n")


def one_number(folder):
    file = folder / "certificate.json"
    content = json.loads(file.read_text())
    content["samples"][0]["k"] += 1
    file.write_text(json.dumps(content))


def one_more_file(folder):
    (folder / "notes.txt").write_text("mine")


def one_file_less(folder):
    (folder / "policy.lock.yaml").unlink()


def another_page(folder):
    page = folder / "certificate.html"
    page.write_text(page.read_text().replace("Proved", "Proven"))


TAMPERING = {
    one_cell: "file-hash (table.csv)",
    one_number: "seal",
    one_more_file: "no-other-files",
    one_file_less: "file-hash (policy.lock.yaml)",
    another_page: "page-hash",
}


@pytest.mark.slow
@pytest.mark.parametrize("tamper", TAMPERING, ids=lambda tamper: tamper.__name__)
def test_tampering_is_exit_3(copied, tamper):
    tamper(copied)
    done = shoal("verify", copied)
    assert done.exit_code == 3
    assert f"FAILED  {TAMPERING[tamper]}: " in done.stdout
    assert done.stdout.endswith("do not rely on this folder\n")
    found = answer("verify", copied, code=3)
    assert found["agrees"] is False
    assert TAMPERING[tamper] in {check["name"] for check in found["checks"] if not check["agrees"]}
    error = refused("share", copied, code=3)
    assert error["kind"] == "VerificationError"
    assert TAMPERING[tamper] in error["came"]
    assert not copied.with_suffix(".zip").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table.csv", "policy.lock.yaml", "recoding/01-age.json"])
def test_a_file_that_is_not_there_is_named_and_nothing_else_is(copied, name):
    (copied / name).unlink()
    failed, outcome = shoal("verify", copied).stdout.splitlines()
    assert failed == f"FAILED  file-hash ({name}): the file is not there"
    assert "1 failed" in outcome
    done = subprocess.run(
        [sys.executable, "-I", standalone.__file__, copied], check=False, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stdout.splitlines()[0] == f"FAILED        file-hash ({name}): the file is not there"
    assert done.stdout.count("FAILED  ") == 1


@pytest.mark.slow
def test_a_certificate_that_cannot_be_read(copied):
    (copied / "certificate.json").write_text("{")
    assert shoal("verify", copied).exit_code == 3
    (copied / "certificate.json").write_text('{"format": 99}')
    done = shoal("verify", copied)
    assert done.exit_code == 3
    assert "this verifier knows format 1" in done.stdout


def test_what_is_no_release_folder(tmp_path):
    assert refused("verify", tmp_path, code=2)["wrong"] == "this is no release folder"
    refused("verify", tmp_path / "none", code=2)
    refused("share", tmp_path, code=2)


# --- share ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_public_files_are_packed_with_a_verifier_that_needs_python_alone(made, tmp_path):
    packed = tmp_path / "out.zip"
    assert shoal("share", made / "out", "--out", packed).stdout == f"packed in {packed}\n"
    with zipfile.ZipFile(packed) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path)
    folder = made / "out"
    public = {f"out/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*") if path.is_file()}
    assert names == public | {"verifier.py", "README.txt"}
    command = [sys.executable, "-I", tmp_path / "verifier.py", tmp_path / "out"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    one_cell(tmp_path / "out")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stdout.startswith("FAILED        file-hash (table.csv)")


@pytest.mark.slow
def test_share_has_a_default_name_json_and_never_overwrites(copied):
    found = answer("share", copied)
    assert found["file"] == str(copied.with_suffix(".zip"))
    assert found["bytes"] == copied.with_suffix(".zip").stat().st_size
    first = copied.with_suffix(".zip").read_bytes()
    assert refused("share", copied, code=2)["wrong"] == "the file exists"
    assert shoal("share", copied, "--force").exit_code == 0
    assert copied.with_suffix(".zip").read_bytes() == first


@pytest.mark.slow
def test_the_custodians_folder_is_not_packed(made):
    assert "custodian's folder" in refused("share", made / "out.holder", code=2)["wrong"]
