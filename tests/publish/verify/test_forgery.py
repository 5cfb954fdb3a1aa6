"""Forgeries of every kind of certificate: each is caught by a check that is named, or is on the list of what nobody can know."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish.verify.forgery import (
    COUNTED,
    KINDS,
    MUST_FIRE,
    MUST_FIRE_ON_CENTROIDS,
    PAID,
    STRUCTURE,
    alone,
    caught,
    certificate,
    edits,
    failing,
    honest,
    inherent,
    quick,
    said_not_verified,
    suffices,
    write,
)

__all__ = ["honest", "quick"]

FEW, FEWER = 16, 6
"""Edits of each kind in the default run, and of the slowest; all of them run in `make slow`."""
SLOWEST = ("treated",)


def papers(honest, tmp_path, kind: str) -> Path:
    return Path(shutil.copytree(honest(kind), tmp_path / "out"))


def must_fire(path: tuple[object, ...]) -> set[str]:
    """The checks of which one must fire for an edit at a path: those of its entry, and of its part where that has some."""
    named = MUST_FIRE | MUST_FIRE_ON_CENTROIDS
    return named.get(str(path[0]), set()) | named.get(".".join(map(str, path[:2])), set())


def hold(folder: Path, kind: str, chosen: list) -> None:
    """Each edit is caught by both verifiers, by a check that speaks of what was changed, or is known to be beyond them."""
    wrong = []
    for edit in chosen:
        write(folder, edit.forged, rehash=False, reword=edit.path[0] != "wording")
        place = f"{edit.what} at {'.'.join(map(str, edit.path))}"
        found = {check.id for check in verify(folder) if check.agrees is False} - {"seal", "page"}
        found -= {"page-hash"} if edit.path[0] != "wording" else set()
        code, checks = alone(folder)
        if inherent(kind, edit) is not None:
            if found - {"page-hash"}:
                wrong.append(f"thought to be inherent, and caught: {place} ({found})")
        elif not suffices(kind, edit) and not found & (must_fire(edit.path) | STRUCTURE):
            wrong.append(f"not caught, or by another check: {place} ({found})")
        if code != 3 and not said_not_verified(kind, edit, checks):
            wrong.append(f"passed by the one-file verifier: {place}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_all_small_edits_is_caught(honest, tmp_path, quick, kind):
    folder = papers(honest, tmp_path, kind)
    every = list(edits(certificate(folder)))
    assert len(every) >= 200
    step = len(every) // (FEWER if kind in SLOWEST else FEW)
    hold(folder, kind, every[KINDS.index(kind) % step :: step])


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_small_edit_is_caught(honest, tmp_path, quick, kind):
    folder = papers(honest, tmp_path, kind)
    hold(folder, kind, list(edits(certificate(folder))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_folder_is_verified_by_both(honest, kind):
    assert caught(honest(kind)) == set()
    code, checks = alone(honest(kind))
    assert code == 0
    assert all(check.agrees is not None for check in checks if check.promise)


# --- forgeries by hand: each names the check that must fire --------------------------------------------------------


def extra_claim(content):
    claim = copy.deepcopy(content["claims"][0])
    content["claims"].append({**claim, "guarantee": {"kind": "pure-dp", "epsilon": "0.001"}, "status": "proved"})


def half_epsilon(content):
    """Everywhere where the promise stands, with a ledger that adds up."""
    for place in (
        content["guarantee"],
        content["claims"][0]["guarantee"],
        content["ledger"]["total"],
        content["ledger"]["entries"][0],
    ):
        place["epsilon"] = "0.5"
    content["sentence"] = content["sentence"].replace("(1, ", "(0.5, ")


def without_condition(content):
    content["claims"][0]["conditions"] = []
    content["sentence"] = content["sentence"].partition(" Condition:")[0]


def proved(content):
    content["status"] = content["guarantee"]["status"] = content["claims"][0]["status"] = "proved"


def one_view(content):
    """One view where the lock asks for all pairs, with every number of it right."""
    content["tables"], content["samples"][0]["times"] = content["tables"][:1], 1
    content["views"]["count"] = 1


def reworded_premise(content):
    content["theorems"][0]["premises"][-1]["text"] = "nothing is needed"


def reworded_answer(content):
    content["theorems"][0]["premises"][-1]["detail"] = "checked by the program when planning"


def without_promise(content):
    content["curve"] = [point for point in content["curve"] if point["epsilon"] != content["guarantee"]["epsilon"]]


def met_by_the_program(content):
    content["theorems"][0]["premises"][-1]["how"] = "checked by the program"


BY_HAND = {
    "an extra claim": ("levels", extra_claim, "claims", True),
    "an extra claim beside views": ("pairs", extra_claim, "claims", True),
    "an extra claim beside a counted one": ("microaggregation", extra_claim, "claims", True),
    "half of epsilon": ("levels", half_epsilon, "guarantee", True),
    "half of epsilon of views": ("pairs", half_epsilon, "guarantee", True),
    "half of epsilon of trees": ("view-trees", half_epsilon, "guarantee", True),
    "a condition left out": ("already", without_condition, "conditions", True),
    "a condition reworded": ("already", lambda c: c["claims"][0].update(conditions=["on Mondays"]), "wording", False),
    "a drafted plan called proved": ("profiled", proved, "status", True),
    "a sample called proved": ("already", proved, "status", True),
    "a counted table called proved": ("microaggregation", proved, "status", True),
    "a swap called proved": ("probabilistic-k", proved, "status", True),
    "one view instead of all": ("pairs", one_view, "locked-views", True),
    "a sentence more": ("levels", lambda c: c["explanation"].append("Nobody can learn anything."), "wording", False),
    "a premise reworded": ("levels", reworded_premise, "wording", False),
    "an answer reworded": ("levels", reworded_answer, "wording", False),
    "a premise that the program met": ("levels", met_by_the_program, "premises", False),
    "limits left out": ("levels", lambda c: c["not_promised"].pop(), "wording", False),
    "a better curve": ("pairs", lambda c: c["curve"][0].update(delta="0.0001"), "curve", True),
    "a better curve of one sample": ("tree", lambda c: c["curve"][-1].update(delta="1e-9"), "curve", True),
    "a curve without the promise": ("tree", without_promise, "curve-epsilons", True),
    "views said to cost less": ("pairs", lambda c: c["views"].update(epsilon_composed="0.5"), "views-composed", True),
    "views said to add up to less": ("pairs", lambda c: c["views"].update(epsilon_added_up="1"), "views-added-up", True),
    "a smaller sample": ("levels", lambda c: c["samples"][0].update(beta="0.4"), "locked-beta", True),
    "a smaller class": ("levels", lambda c: (c["samples"][0].update(k=2), c["tables"][0].update(k=2)), "promise", True),
    "a better split": ("person", lambda c: c["samples"][0].update(epsilon_split=["1", "1"]), "delta-for-unit", True),
    "a larger k of a swap": ("probabilistic-k", lambda c: c["guarantee"].update(k=9), "guarantee", True),
    "fewer schemes": ("choose", lambda c: c["recoding_choice"].update(schemes=1), "recoding-lattice", False),
    "a scheme by another score": ("choose", lambda c: c["recoding_choice"].update(score="records"), "recoding-noise", True),
    "no limits of a swap": ("probabilistic-k", lambda c: c.update(not_promised=["x"]), "wording", False),
    "a view in another file": ("pairs", lambda c: c["tables"][0].update(name="1-x"), "view-names", True),
}  # fmt: skip
"""A kind of release, a change, the check that must fire, and whether the one-file verifier sees it too."""


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_HAND)
def test_a_forgery_by_hand_is_caught_by_its_check(honest, tmp_path, name):
    kind, change, check, both = BY_HAND[name]
    folder = papers(honest, tmp_path, kind)
    content = certificate(folder)
    change(content)
    write(folder, content)
    assert check in caught(folder)
    code, checks = alone(folder)
    assert code == (3 if both else 0)
    if both:
        assert check in {each.id for each in checks if each.agrees is False}
    else:
        assert {each.id for each in checks if each.agrees is None} & {"wording", "recoding-lattice"}


# --- tables --------------------------------------------------------------------------------------------------------


def lines(folder: Path) -> list[str]:
    return (folder / "table.csv").read_text().splitlines()


def put(folder: Path, rows: list[str]) -> None:
    (folder / "table.csv").write_text("\n".join(rows) + "\n")


def swapped(folder: Path) -> None:
    """The first two groups change places."""
    head, *rows = lines(folder)
    first = rows.count(rows[0])
    second = rows.count(rows[first])
    put(folder, [head, *rows[first : first + second], *rows[:first], *rows[first + second :]])


def listed(folder: Path) -> None:
    (folder / "original.csv").write_text("name,age\nJohn,3\n")


TABLES = {
    "rows in another order": (lambda f: put(f, [lines(f)[0], *lines(f)[:0:-1]]), "row-order"),
    "groups in another order": (swapped, "row-order"),
    "rows doubled at the end": (lambda f: put(f, [*lines(f), *lines(f)[1:]]), "row-order"),
    "a group under k": (lambda f: put(f, lines(f)[: len(lines(f)) - lines(f).count(lines(f)[-1]) + 1]), "class-size"),
    "a label of no rule": (lambda f: put(f, [line.replace("cold", "plague") for line in lines(f)]), "labels"),
    "a cell in quotes": (lambda f: put(f, [line.replace(",f,", ',"f",') for line in lines(f)]), "table-text"),
    "a column more": (lambda f: put(f, [f"{line},x" for line in lines(f)]), "table-columns"),
    "no last line end": (lambda f: (f / "table.csv").write_text("\n".join(lines(f))), "table-text"),
    "an empty row": (lambda f: put(f, [*lines(f), ""]), "table-columns"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_forged_table_is_caught_by_its_check_in_both(honest, tmp_path, name):
    change, check = TABLES[name]
    folder = papers(honest, tmp_path, "levels")
    change(folder)
    write(folder, certificate(folder))
    assert check in caught(folder)
    code, checks = alone(folder)
    assert code == 3
    assert check in {each.id for each in checks if each.agrees is False}


@pytest.mark.slow
def test_a_file_that_is_merely_listed_is_caught_by_both(honest, tmp_path):
    folder = papers(honest, tmp_path, "levels")
    listed(folder)
    content = certificate(folder)
    content["files"]["original.csv"] = "0" * 64
    write(folder, content)
    assert "no-idle-files" in caught(folder)
    assert alone(folder)[0] == 3


@pytest.mark.slow
def test_rows_doubled_in_their_place_are_beyond_anybody(honest, tmp_path):
    """A table whose groups are all twice as large could have been drawn: whoever needs to know compares the seal."""
    folder = papers(honest, tmp_path, "levels")
    head, *rows = lines(folder)
    put(folder, [head, *(row for row in rows for _ in range(2))])
    write(folder, certificate(folder))
    assert caught(folder) == set()


RULES = {
    "labels exchanged": lambda rule: rule.update(labels=rule["labels"][::-1]),
    "another edge": lambda rule: rule.update(edges=["40"]),
    "another loss": lambda rule: rule.update(loss="0.100000"),
    "a domain of its own": lambda rule: rule.update(domain="0..49"),
    "a note": lambda rule: rule.update(note="trust us"),
    "another level": lambda rule: rule.update(level=1),
}


@pytest.mark.parametrize("name", RULES)
def test_a_forged_rule_is_caught(honest, tmp_path, name):
    folder = papers(honest, tmp_path, "levels")
    file = folder / "recoding" / "01-age.json"
    rule = json.loads(file.read_text())
    RULES[name](rule)
    file.write_text(json.dumps(rule, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    write(folder, certificate(folder))
    assert "label-meaning" in caught(folder)


LOCKS = {
    "half of epsilon": ("levels", '  epsilon: "1"', '  epsilon: "0.5"', {"guarantee", "claims"}),
    "another rate": ("levels", 'beta: "0.5"', 'beta: "0.25"', {"locked-beta"}),
    "a k of its own": ("levels", '  delta: "0.001"', '  delta: "0.001"\n  k: 40', {"locked-k"}),
    "another level": ("levels", '"age": 2', '"age": 1', {"label-meaning", "recoding-levels"}),
    "a drafted domain": ("levels", 'domain: "declared"', 'domain: "profiled"', {"status"}),
    "an already drawn sample": ("levels", 'beta: "0.5"', 'already: "0.5"', {"status"}),
    "a larger k": ("microaggregation", "  k: 5", "  k: 9", {"guarantee"}),
    "another role": ("microaggregation", 'role: "confidential"', 'role: "other"', {"roles"}),
    "fewer views": ("pairs", 'every: "pairs"', 'every: "singles"', {"locked-views"}),
    "a budget": ("levels", 'budget:\n  epsilon: "3"', 'budget:\n  epsilon: "9"', {"ledger-budget"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOCKS)
def test_a_forged_lock_is_caught_by_both(honest, tmp_path, name):
    kind, old, new, checks = LOCKS[name]
    folder = papers(honest, tmp_path, kind)
    lock = folder / "policy.lock.yaml"
    assert old in lock.read_text()
    lock.write_text(lock.read_text().replace(old, new, 1))
    write(folder, certificate(folder))
    assert checks <= caught(folder)
    assert alone(folder)[0] == 3


# --- the one-file verifier by itself -------------------------------------------------------------------------------


def by_itself(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", *options, verifier.__file__, str(folder)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.slow
def test_without_pyarrow_a_parquet_table_is_not_verified_and_that_is_said_first(honest):
    done = by_itself(honest("parquet"), "-S")
    assert done.returncode == 3
    assert done.stdout.startswith("NOT VERIFIED  class-size (table.parquet)")
    assert "NOT VERIFIED, though the promise rests on it: class-size (table.parquet)" in done.stdout.splitlines()[-1]
    assert done.stdout.splitlines()[-1].endswith("Install pyarrow (python -m pip install pyarrow), and run this again.")
    assert by_itself(honest("parquet")).returncode == 0


def test_the_last_line_names_some_of_many_tables_and_counts_the_others():
    """A release of forty columns has hundreds of tables; the line says what to do and not all their names."""
    tables = [
        verifier.Check("count-cells", None, verifier.NO_PYARROW, True, f"counts/{number:03}-age.parquet")
        for number in range(465)
    ]
    lines, code = verifier.report([*tables, verifier.Check("seal", True, "it fits", True)])
    assert code == 3
    assert "count-cells (counts/005-age.parquet), and 459 more, which are listed above. Install pyarrow" in lines[-1]
    assert sum("counts/464-age.parquet" in line for line in lines) == 1
    assert len(lines[-1]) < 500


@pytest.mark.slow
def test_the_last_lines_say_what_was_not_verified_and_what_was(honest):
    done = by_itself(honest("already"), "-S")
    assert done.returncode == 0
    *_, count, promise, condition, name = done.stdout.splitlines()
    assert "0 failed, 3 not verified (label-meaning, handbook, wording; the promise does not rest on that)" in count
    assert promise.startswith("(1, 0.001)-differential privacy for one row added or removed")
    assert condition.startswith("Condition, which only the custodian can know: the table itself was drawn")
    assert name == "The custodian calls the dataset 'clinic'."


def test_an_older_python_is_told_so(monkeypatch, capsys):
    text = Path(verifier.__file__).read_text(encoding="utf-8")
    compile(text, "verifier.py", "exec", dont_inherit=True)
    import ast

    tree = ast.parse(text, feature_version=verifier.OLDEST_PYTHON)
    newer = {"bit_count", "pairwise", "removeprefix_", "batched"}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not used & newer
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert not [call for call in calls if call.func.id == "zip" and call.keywords]  # zip(strict=...) came with 3.10


def test_what_a_folder_says_is_printed_so_that_no_terminal_acts_on_it(honest, tmp_path):
    folder = papers(honest, tmp_path, "levels")
    content = certificate(folder)
    content["files"]["\x1b[2J\u202eevil.csv"] = "00" * 32
    write(folder, content)
    done = by_itself(folder)
    assert done.returncode == 3
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "\\x1b[2J\\u202eevil.csv" in done.stdout
    assert not any("\x1b" in name for name in failing(folder))


def test_kinds_are_those_that_can_be_released():
    assert len(PAID) >= 12
    assert {"microaggregation", "probabilistic-k"} <= set(COUNTED)
