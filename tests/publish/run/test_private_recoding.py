"""Releases whose recoding was drawn or grown: from the policy to the verifiers, and what a forger may try."""

import csv
import json
import math
import shutil
import subprocess
import sys
from fractions import Fraction

import pytest
from jsonschema import Draft7Validator

from shoal.errors import PreconditionError
from shoal.guarantee.claim import Status
from shoal.guarantee.safe_k.setting import Setting
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import require, verify
from tests.publish.certificate.test_page import SCHEMA
from tests.publish.clinic import planned, publish, write_table
from tests.publish.release_folder import account, alone, certificate, failures, forge

TREE = {"release.recoding": {"tree": {"epsilon": "0.3"}}}
SAMPLED = {"release.recoding": {"tree": {"epsilon": "0.3", "sample": "0.25"}}}
DRAWN = {"release.recoding": {"choose": {"epsilon": "0.3"}}}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release of each kind, made once."""
    found = {}
    kinds = {
        "sampled": SAMPLED,
        "tree": TREE,
        "drawn": DRAWN,
        "parquet": TREE | {"release.output": "parquet"},
    }
    for kind, changes in kinds.items():
        folder = tmp_path_factory.mktemp(kind)
        found[kind] = publish(folder, changes, rows=3000).folder
    return found


@pytest.fixture
def copied(released, tmp_path):
    def copy(kind):
        return shutil.copytree(released[kind], tmp_path / "out")

    return copy


# --- what is made -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "sampled", "drawn", "parquet"])
def test_both_verifiers_agree_and_the_schema_knows_it(released, kind):
    require(verify(released[kind]))
    assert alone(released[kind]) == 0
    Draft7Validator(SCHEMA).validate(certificate(released[kind]))


@pytest.mark.slow
def test_the_share_is_set_aside_and_charged(tmp_path):
    plan = planned(TREE)
    assert plan.promise.epsilon_recoding == Fraction("0.3")
    assert plan.promise.epsilon_release == Fraction("0.7")
    assert plan.promise.k > planned().promise.k  # less is left for the crowd
    assert plan.claims[0].status is Status.PROVED
    assert {"eps-safe-recoding", "measured-tree"} <= set(plan.claims[0].theorems)
    publish(tmp_path, TREE)
    (cost,) = account(tmp_path).costs
    assert cost.epsilon == 1
    assert [part.to_saved()["kind"] for part, _ in cost.parts] == ["pure-dp", "safe-k-sampling"]


@pytest.mark.slow
def test_labels_are_sides_of_listed_boxes(released):
    folder = released["tree"]
    header, *rows = csv.reader((folder / "table.csv").read_text(encoding="utf-8").splitlines())
    listed, *boxes = csv.reader((folder / "recoding" / "boxes.csv").read_text(encoding="utf-8").splitlines())
    assert header == listed == ["age", "sex", "diag"]
    assert set(map(tuple, rows)) <= set(map(tuple, boxes))
    assert len({row[0] for row in rows}) > 1


@pytest.mark.slow
def test_a_person_with_several_rows_pays_for_each(tmp_path):
    changes = TREE | {
        "unit": {"column": "patient", "max_rows": 2},
        "neighbours": "replace_one",
        "release.epsilon": "4",
        "budget": None,
    }
    plan = planned(changes)
    partition = plan.method.partition
    assert partition.steps == 4
    assert partition.epsilon == Fraction("0.3")
    table = write_table(tmp_path / "people.csv", 3000, patients=1200)
    done = publish(tmp_path, changes, table=table)
    require(verify(done.folder))
    assert certificate(done.folder)["recoding_choice"]["rows_changed"] == 4


@pytest.mark.slow
def test_repeats_share_one_recoding(tmp_path):
    done = publish(tmp_path, TREE | {"release.repeat": 2, "release.epsilon": "2"}, rows=3000)
    require(verify(done.folder))
    made = certificate(done.folder)
    assert len(made["tables"]) == 2
    assert made["tables"][0]["recoding"] == made["tables"][1]["recoding"]
    assert alone(done.folder) == 0


@pytest.mark.slow
def test_levels_that_were_drawn_stay_within_their_range(tmp_path):
    changes = {"release.recoding": {"choose": {"epsilon": "0.3", "finest": {"age": 1}, "coarsest": {"diag": 0}}}}
    done = publish(tmp_path, changes, rows=2000)
    require(verify(done.folder))
    rules = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((done.folder / "recoding").iterdir())]
    levels = {rule["attribute"]: rule["level"] for rule in rules}
    assert levels["age"] >= 1
    assert levels["diag"] == 0


def test_the_table_that_is_the_sample_may_not_choose():
    fixed = planned({"release.sampling": {"already": "0.2"}, "release.recoding": {"levels": {"age": 2}}})
    grown = planned(TREE).method.partition
    with pytest.raises(PreconditionError, match="eps-safe-recoding"):
        type(fixed.method)(planned(TREE).promise, grown, fixed.method.unit, drawn_before=True)


def test_a_recoding_dearer_than_its_share_is_refused():
    plan = planned(TREE)
    poor = Setting(Fraction("1.1"), Fraction(1, 1000), 14, Fraction(1, 2), "tight", "k", Fraction("0.1"))
    with pytest.raises(PreconditionError, match="eps-safe-recoding"):
        type(plan.method)(poor, plan.method.partition, plan.method.unit)


# --- what a forger may try ----------------------------------------------------------------------------------------


MEASURED = "measurements"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda c: c["recoding_choice"].update(epsilon="0.1"), "recoding-price"),
        (lambda c: c["recoding_choice"][MEASURED][0].update(epsilon_count="9"), "recoding-noise"),
        (lambda c: c["recoding_choice"][MEASURED].append(dict(c["recoding_choice"][MEASURED][0])), "recoding-noise"),
        (lambda c: c["recoding_choice"][MEASURED][0].update(attributes=1), "recoding-noise"),
        (lambda c: c["recoding_choice"].update(rows_changed=2), "recoding-price"),
        (lambda c: c.update(recoding_choice=None), "recoding-price"),
        (lambda c: c.pop("recoding_choice"), "keys"),
        (lambda c: c["recoding_choice"].update(kind="choose"), "keys"),
        (lambda c: c["guarantee"].update(epsilon_recoding="0"), "guarantee"),
        (lambda c: c["claims"][0].update(theorems=["safe-k-tight", "eps-safe-recoding"]), "claims"),
        (lambda c: c["tables"][0].update(boxes=None), "table-files"),
        (lambda c: c["tables"][0].pop("boxes"), "keys"),
    ],
)
def test_a_price_that_was_not_paid_is_caught_by_its_check(copied, change, check):
    folder = copied("tree")
    forge(folder, change)
    assert check in failures(folder)
    assert alone(folder) == 3


def lines(folder):
    return (folder / "recoding" / "boxes.csv").read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "parquet"])
@pytest.mark.parametrize("edit", [lambda rows: rows[:-1], lambda rows: [*rows, rows[-1]], lambda rows: rows[:1]])
def test_boxes_with_a_gap_or_an_overlap_are_caught(copied, kind, edit):
    folder = copied(kind)
    (folder / "recoding" / "boxes.csv").write_text("\n".join(edit(lines(folder))) + "\n", encoding="utf-8")
    forge(folder, lambda _: None)
    assert alone(folder) == 3
    assert failures(folder) & {"boxes", "boxes-divide"}


@pytest.mark.slow
def test_a_row_outside_every_box_is_caught(copied):
    folder = copied("tree")
    file = folder / "table.csv"
    header, *rows = file.read_text(encoding="utf-8").splitlines()
    ages = sorted({row.rsplit(",", 2)[0] for row in rows})
    swapped = [row.replace(ages[0], ages[-1]) for row in rows]
    file.write_text("\n".join([header, *sorted(swapped)]) + "\n", encoding="utf-8")
    forge(folder, lambda _: None)
    known = set(lines(folder))
    assert ("boxes" in failures(folder)) == (not set(swapped) <= known)


@pytest.mark.slow
def test_levels_outside_the_locked_range_are_caught(tmp_path):
    changes = {"release.recoding": {"choose": {"epsilon": "0.3", "finest": {"age": 1}}}}
    folder = publish(tmp_path, changes, rows=2000).folder
    place = certificate(folder)["tables"][0]["recoding"]["age"]
    rule = json.loads((folder / place).read_text(encoding="utf-8"))
    (folder / place).write_text(json.dumps(rule | {"level": 0}), encoding="utf-8")
    forge(folder, lambda _: None)
    assert {"recoding-levels", "label-meaning"} <= failures(folder)


def everywhere(folder, old, new):
    """A label under another name, in the table, the rules and the list of boxes."""
    for path in [folder / "table.csv", *folder.glob("recoding/*")]:
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "drawn"])
def test_a_label_that_nobody_declared_is_caught(copied, kind):
    folder = copied(kind)
    rule = json.loads(next(iter(sorted(folder.glob("recoding/*age*")))).read_text(encoding="utf-8"))
    label = next(label for label in rule["labels"] or ["0"] if label.startswith("["))
    everywhere(folder, label, "John Smith, 35M")
    forge(folder, lambda _: None)
    assert "label-meaning" in failures(folder)


@pytest.mark.slow
def test_a_delta_out_of_thin_air_is_caught_by_the_one_file_verifier(copied):
    folder = copied("tree")

    def change(content):
        content["samples"][0] |= {"delta_for_unit": "0", "delta": "1e-30"}
        content["guarantee"]["delta"] = "1e-30"

    forge(folder, change)
    assert alone(folder) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda c: c.update(input_rows=3000), "keys"),
        (lambda c: c.update(not_promised=["nothing"]), "wording"),
        (lambda c: c.pop("how_to_verify"), "keys"),
    ],
)
def test_keys_that_do_not_belong_are_caught(copied, change, check):
    folder = copied("tree")
    forge(folder, change)
    assert check in failures(folder)


@pytest.mark.slow
def test_the_verifier_runs_where_it_lies(released):
    done = subprocess.run([sys.executable, verifier.__file__, str(released["tree"])], check=False, capture_output=True)
    assert done.returncode == 0


@pytest.mark.slow
def test_a_tree_grown_on_a_separate_sample_pays_the_amplified_price(copied):
    folder = copied("sampled")
    choice = certificate(folder)["recoding_choice"]
    inner = sum(
        Fraction(each["epsilon_count"]) + each["attributes"] * Fraction(each["epsilon_histogram"])
        for each in choice["measurements"]
    )
    assert inner == pytest.approx(math.log(1 + (math.exp(0.3) - 1) / 0.25), rel=1e-9)
    assert choice["sample_rate"] == "0.25"
    forge(folder, lambda c: c["recoding_choice"].update(sample_rate="0.1"))
    assert "recoding-noise" in failures(folder)
    forge(folder, lambda c: c["recoding_choice"].update(sample_rate=None))
    assert alone(folder) == 3
