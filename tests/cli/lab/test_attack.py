"""`shoal attack`: the list, what is printed, JSON, pictures and refusals; the examples of its help run, with fewer people."""

from __future__ import annotations

import shlex

import click
import pytest

from shoal.cli import main
from shoal.datasets.visits import write_policy
from shoal.lab.attacks.catalogue import ATTACKS
from tests.cli.run import answer, refused, shoal

SMALL = ("--rows", "60", "--runs", "6")


def test_the_list_names_every_attack_with_or_without_the_option():
    text = shoal("attack").stdout
    assert shoal("attack", "--list").stdout == text
    assert all(name in text and attack.summary[:30] in text for name, attack in ATTACKS.items())
    assert [entry["name"] for entry in answer("attack")["attacks"]] == list(ATTACKS)


@pytest.mark.slow
def test_what_is_printed():
    text = shoal("attack", "k-duplication", *SMALL).stdout
    assert text.startswith("k-duplication: k equal rows, all of them one person's  [LQS10 Algorithm 1]\n")
    row = next(line for line in text.splitlines() if line.startswith("  k-duplication, k = 5"))
    assert "100 % (54.1 to 100)" in row  # 6 of 6: 0.025^(1/6)
    assert "What was recovered of generated people" in text
    assert "Every class of the duplicated table has 5 equal rows" in text


@pytest.mark.slow
def test_the_answer_in_json_repeats_with_the_seed(tmp_path):
    first, again, other = (answer("attack", "linkage", *SMALL, "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again
    assert first["recovered"] != other["recovered"]
    assert (first["rows"], first["runs"], first["seed"], first["picture"]) == (60, 6, 1, None)
    assert first["outcomes"][0]["success"]["value"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_picture_is_drawn_and_not_replaced(tmp_path, kind, begins):
    file = tmp_path / f"attack.{kind}"
    assert shoal("attack", "k-duplication", *SMALL, "--plot", file).exit_code == 0
    assert file.read_bytes().startswith(begins)
    assert refused("attack", "k-duplication", *SMALL, "--plot", file, code=2)["wrong"] == "the file exists"


def test_refusals(tmp_path):
    assert "linkage" in refused("attack", "nothing", code=2)["allowed"]
    assert refused("attack", "linkage", "--policy", "p.yaml", code=2)["allowed"] == "membership"
    assert refused("attack", "linkage", "--plot", tmp_path / "a.gif", code=2)["allowed"] == ".svg, .png"


@pytest.mark.slow
def test_the_examples_of_the_help_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_policy(tmp_path)
    examples = main.get_command(click.Context(main), "attack").examples
    assert len(examples) == 2
    for line in examples:
        done = shoal(*shlex.split(line)[1:], "--rows", "80", "--runs", "3")
        assert done.exit_code == 0, click.unstyle(done.output)
    assert (tmp_path / "linkage.svg").exists()
