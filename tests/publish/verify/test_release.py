"""Verification: every field of a certificate, every file and every cell that is tampered with is caught, by both verifiers."""

import copy
import json
import shutil
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from shoal.errors import UsageError, VerificationError
from shoal.guarantee.safe_k.curve import delta_tight
from shoal.publish.share import pack
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import require, verify
from tests.publish.clinic import publish
from tests.publish.release_folder import alone, failures


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """One release as CSV and one as Parquet, made once."""
    folder = tmp_path_factory.mktemp("released")
    made = {f: publish(folder, {"release.output": f}, name=f, report=False).folder for f in ("csv", "parquet")}
    repeated = {"release.repeat": 2, "release.epsilon": 1, "dataset": "other"}
    table = folder / "other.csv"
    table.write_text((folder / "table.csv").read_text() + "p0,1,f,flu\n")
    made["repeated"] = publish(folder, repeated, name="repeated", table=table, report=False).folder
    return made


@pytest.fixture
def copied(released, tmp_path):
    def copy_of(kind):
        return Path(shutil.copytree(released[kind], tmp_path / kind))

    return copy_of


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "repeated"])
def test_an_honest_release_passes_both(released, kind):
    require(verify(released[kind]))
    assert alone(released[kind]) == 0


def leaves(value, path=()):
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    else:
        yield path, value


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "1" if value.replace(".", "").isdigit() else value + "x"
    return "x" if value is None else None


@pytest.mark.slow
def test_every_field_is_sealed(copied):
    """Changing any leaf of the certificate breaks the seal, in both verifiers' eyes."""
    folder = copied("csv")
    file = folder / "certificate.json"
    honest = json.loads(file.read_text(encoding="utf-8"))
    for path, value in leaves(honest):
        forged = copy.deepcopy(honest)
        place = forged
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = changed(value)
        assert forged["seal"] != verifier.seal(forged), path
    for path, value in list(leaves(honest))[::17]:
        forged = copy.deepcopy(honest)
        place = forged
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = changed(value)
        file.write_text(json.dumps(forged), encoding="utf-8")
        assert failures(folder), path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("parts", 0, "k"), 2),
        (("parts", 0, "beta"), "0.1"),
        (("parts", 0, "epsilon"), "0.5"),
        (("parts", 0, "delta_tight"), "1e-9"),
        (("curve", 0, "delta"), "1e-9"),
        (("guarantee", "epsilon"), "0.1"),
        (("guarantee", "delta"), "1e-9"),
        (("tables", 0, "k"), 100_000),
        (("ledger", "total", "epsilon"), "0.5"),
        (("ledger", "entries", 0, "epsilon"), "0.5"),
        (("ledger", "composed_epsilon"), "0.1"),
        (("plan",), "0" * 64),
        (("status",), "checked"),
        (("sentence",), "All is well."),
    ],
)
def test_a_forger_who_seals_again_is_caught_by_the_numbers(copied, path, value):
    folder = copied("csv")
    file = folder / "certificate.json"
    forged = json.loads(file.read_text(encoding="utf-8"))
    place = forged
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    forged["seal"] = verifier.seal(forged)
    file.write_text(json.dumps(forged), encoding="utf-8")
    assert failures(folder) - {"certificate.html"}


def put(*path, value):
    """A change of one place, as a forger would make it."""

    def change(forged):
        place = forged
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


FORGERIES = {
    "no tables": put("tables", value=[]),
    "no parts": put("parts", value=[]),
    "run no times": put("parts", 0, "times", value=0),
    "a negative share": put("guarantee", "epsilon_recoding", value="-0.99"),
    "another bound": put("bound", value="published"),
    "not basic": put("basic", value=False),
    "a larger crowd claimed": put("claims", 1, "guarantee", "k", value=1000),
    "another unit": put("guarantee", "unit", "whose", value="person"),
    "another relation": put("guarantee", "unit", "neighbours", value="replace_one"),
    "other words": put("words", 0, value="No one can learn anything."),
    "fewer premises": put("theorems", 0, "premises", value=[]),
    "another title": put("theorems", 0, "title", value="A great theorem"),
    "no curve": put("curve", value=[]),
    "a budget below the total": put("ledger", "budget", value={"epsilon": "0.1", "delta": "0.1"}),
    "another dataset": put("dataset", value="elsewhere"),
    "a singleton allowed": put("tables", 0, "k", value=1),
    "a version that is not known": put("software", "shoal", value="0.0.1"),
    "other limits": put("not_promised", value=["Everything is safe."]),
    "another way to verify": put("verify", value="there is no need"),
    "a note inside": put("guarantee", "note", value="trust us"),
    "a note deep inside": put("ledger", "entries", 0, "parts", 0, "note", value="trust us"),
    "fewer releases than none": put("ledger", "unbounded_releases", value=-5),
    "a table elsewhere": put("tables", 0, "file", value="../csv/table.csv"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_with_a_new_seal_are_caught(copied, name):
    folder = copied("csv")
    file = folder / "certificate.json"
    forged = json.loads(file.read_text(encoding="utf-8"))
    FORGERIES[name](forged)
    forged["seal"] = verifier.seal(forged)
    file.write_text(json.dumps(forged), encoding="utf-8")
    assert failures(folder) - {"certificate.html"}, name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"), [('beta: "0.5"', 'beta: "0.9"'), ('"age": 2', '"age": 1'), ("clinic", "clinik")]
)
def test_a_lock_that_says_something_else_is_caught(copied, old, new):
    folder = copied("csv")
    lock = folder / "policy.lock.yaml"
    assert old in lock.read_text()
    lock.write_text(lock.read_text().replace(old, new))
    reseal(folder, "policy.lock.yaml", plan=verifier.sha256(lock))
    assert failures(folder) - {"certificate.html"}


@pytest.mark.slow
@pytest.mark.parametrize("added", ["# trust us\n", 'note: "trust us"\n', "\n"])
def test_a_lock_holds_what_was_locked_and_nothing_else(copied, added):
    folder = copied("csv")
    lock = folder / "policy.lock.yaml"
    lock.write_text(lock.read_text() + added)
    reseal(folder, "policy.lock.yaml", plan=verifier.sha256(lock))
    assert failures(folder) & {"text of the lock", "certificate of the lock"}


@pytest.mark.slow
def test_another_version_says_so_and_its_words_are_not_believed(copied):
    folder = copied("csv")
    reseal(folder, "table.csv", software={"shoal": "0.0.1"}, not_promised=["Everything is safe."])
    assert failures(folder) == {"software", "wording of not_promised"}
    with pytest.raises(VerificationError, match=r"this one knows those of 0\.1\.0"):
        require(verify(folder))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "repeated"])
def test_a_file_that_is_merely_listed_is_caught(copied, kind):
    folder = copied(kind)
    (folder / "original.csv").write_text("name,age\nJohn,3\n")
    reseal(folder, "original.csv")
    assert failures(folder) == {"files and tables"}


@pytest.mark.slow
def test_a_cell_beyond_the_columns_is_caught_by_both(copied):
    """A cell that all rows of a group have makes no group smaller."""
    folder = copied("csv")
    table = folder / "table.csv"
    head, *lines = table.read_text().splitlines()
    table.write_text("\n".join([head, *(f"{line},John" for line in lines)]) + "\n")
    reseal(folder, "table.csv")
    assert "columns of table.csv" in failures(folder)
    assert alone(folder) == 3


@pytest.mark.slow
def test_another_order_and_notes_in_the_file_are_caught(copied):
    folder = copied("parquet")
    table = folder / "table.parquet"
    honest = pq.read_table(table)
    pq.write_table(honest.take(list(range(len(honest)))[::-1]), table)
    reseal(folder, "table.parquet")
    assert "order of table.parquet" in failures(folder)
    pq.write_table(honest.replace_schema_metadata({"note": "p17 was sampled"}), table)
    reseal(folder, "table.parquet")
    assert "nothing else in table.parquet" in failures(folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_file_counts(copied, kind):
    folder = copied(kind)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        if file.name != "certificate.json":  # blanks around its content change nothing
            file.write_bytes(content + b" ")
            assert failures(folder), file.name
        file.unlink()
        if file.name == "certificate.json":
            with pytest.raises(UsageError, match="no release folder"):
                verify(folder)
        else:
            assert failures(folder), file.name
        file.write_bytes(content)
    require(verify(folder))
    (folder / "extra.txt").write_text("x")
    assert failures(folder) == {"no other files"}


def reseal(folder, name, **changes):
    """What a forger would do: hash the changed file and seal again."""
    file = folder / "certificate.json"
    forged = json.loads(file.read_text(encoding="utf-8")) | changes
    forged["files"][name] = verifier.sha256(folder / name)
    forged["seal"] = verifier.seal(forged)
    file.write_text(json.dumps(forged), encoding="utf-8")


@pytest.mark.slow
def test_one_cell_of_a_csv_is_caught_even_after_resealing(copied):
    folder = copied("csv")
    table = folder / "table.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines[:-1], lines[1] if lines[1] != lines[-1] else lines[-1] + "x"]) + "\n")
    assert "file table.csv" in failures(folder)
    lines[-1] = lines[-1].replace("flu", "plague").replace("cold", "plague")
    table.write_text("\n".join(lines) + "\n")
    reseal(folder, "table.csv")
    assert {"groups of table.csv", "labels of diag"} <= failures(folder)
    assert alone(folder) == 3


@pytest.mark.slow
def test_one_cell_of_a_parquet_table_is_caught_even_after_resealing(copied):
    folder = copied("parquet")
    rows = pq.read_table(folder / "table.parquet").to_pylist()
    rows[0]["diag"] = "plague"
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(rows), folder / "table.parquet")
    reseal(folder, "table.parquet")
    assert {"groups of table.parquet", "labels of diag"} <= failures(folder)


@pytest.mark.slow
def test_require_names_what_failed(copied):
    folder = copied("csv")
    (folder / "policy.lock.yaml").write_text("version: 2\n")
    with pytest.raises(VerificationError, match=r"policy.lock.yaml.*do not rely") as caught:
        require(verify(folder))
    assert caught.value.exit_code == 3


@pytest.mark.slow
def test_nonsense_is_a_failure_and_not_a_crash(copied):
    folder = copied("csv")
    for text in ("", "{}", "[]", "null", '{"version": 1}', '{"version": 99}', '{"version": 1, "files": 3}'):
        (folder / "certificate.json").write_text(text)
        assert failures(folder)
        assert alone(folder) == 3


@pytest.mark.slow
def test_the_pack_holds_the_public_files_and_verifies_with_python_alone(released, tmp_path):
    packed = pack(released["csv"], tmp_path / "csv.zip")
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "out")
    assert not any("holder" in name or "report" in name for name in names)
    done = subprocess.run(
        [sys.executable, "-I", str(tmp_path / "out" / "verifier.py"), str(tmp_path / "out" / "csv")], check=False
    )
    assert done.returncode == 0
    again = pack(released["csv"], tmp_path / "again.zip")
    assert again.read_bytes() == packed.read_bytes()
    with pytest.raises(UsageError, match="exists"):
        pack(released["csv"], tmp_path / "csv.zip")


@pytest.mark.slow
def test_a_broken_release_is_not_packed(copied, tmp_path):
    folder = copied("csv")
    (folder / "table.csv").write_text("age,sex,diag\n")
    with pytest.raises(VerificationError):
        pack(folder, tmp_path / "broken.zip")
    assert not (tmp_path / "broken.zip").exists()


VECTORS = [
    (20, "1/10", "1"),
    (20, "3/10", "1/5"),
    (5, "1/5", "0"),
    (58, "0.632", "1"),
    (1, "1/40", "2"),
    (107, "0.85", "1.9"),
]


@pytest.mark.parametrize(("k", "beta", "epsilon"), VECTORS)
def test_vectors_of_the_one_file_verifier(k, beta, epsilon):
    """It sums over M against M + 1, the package over the worst class: two ways to one number."""
    assert float(verifier.delta(k, Fraction(beta), Fraction(epsilon))) == pytest.approx(
        delta_tight(k, Fraction(beta), Fraction(epsilon)), rel=1e-14
    )


def test_the_one_file_verifier_says_how_to_use_it(tmp_path):
    assert alone(tmp_path) == 2
