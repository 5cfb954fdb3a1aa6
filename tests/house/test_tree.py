"""The tree shows the parts: folders of about a dozen entries, each one connected part, and tests that mirror them."""

from __future__ import annotations

import pytest

from tests.house.source_tree import TESTS, entries, folders, imports, mentions, modules, parts

A_DOZEN_OR_SO = 14

SIBLINGS = {
    # A folder of files that do not need each other but have one shape: the modules in which they come together.
    "shoal.anonymize.method": ("shoal.publish.plan.counted", "shoal.publish.plan.safe_k"),
    "shoal.assess": ("shoal.api", "shoal.lab.attacks.outcome", "shoal.publish.report.counted"),
    "shoal.cli.lab": ("shoal.cli.group",),
    "shoal.cli.publish": ("shoal.cli.group",),
    "shoal.cli.terminal": ("shoal.cli.check", "shoal.cli.group"),
    "shoal.data.hierarchy": ("shoal.policy.schema",),
    "shoal.engine.read.foreign": ("shoal.engine.read.csv_file", "shoal.engine.read.input"),
    "shoal.guarantee": ("shoal.anonymize.generalize.tree.safe_tree",),
    "shoal.policy.text": ("shoal.policy.validation",),
    "shoal.publish.certificate": ("shoal.publish.run.safe_k",),
    "shoal.publish.report": ("shoal.publish.run.release", "shoal.publish.run.safe_k"),
}

APART = {
    # A folder that is about one thing although its parts do not import each other: why.
    "shoal.anonymize": "pre-treatments change values before any method, and no method knows of them",
    "shoal.anonymize.kernel": "loops that Numba compiles, each for its own algorithm",
    "shoal.data": "a zip archive is opened before anything is known of what it holds",
    "shoal.datasets": "tables that are simulated from a policy, and the hospital visits of the guides",
    "shoal.lab": "attacks and reproductions of papers run methods, each for itself, and know nothing of each other",
    "shoal.publish.handbook": "the reader that lies in every release stands alone, as the one-file verifier does",
}

OTHER_TESTS = {"browser", "contract", "docs", "faults", "golden", "house", "statistical"}
"""Folders of tests that are about the whole and mirror no room."""

TOPICS = {
    "anonymize/cluster/test_optimal.py",
    "anonymize/generalize/search/test_shared.py",
    "anonymize/method/test_centroid_bounds.py",
    "anonymize/method/test_order_of_rows.py",
    "anonymize/treatment/test_promise_kept.py",
    "assess/disclosure/test_by_hand.py",
    "assess/disclosure/test_oracle.py",
    "assess/disclosure/test_shared.py",
    "assess/release/test_altered.py",
    "assess/release/test_base.py",
    "assess/release/test_stated_intervals.py",
    "cli/publish/test_centroid_refusals.py",
    "cli/publish/test_other_encodings.py",
    "cli/query/test_start.py",
    "cli/test_beginners_errors.py",
    "cli/test_examples.py",
    "cli/test_hostile_names.py",
    "cli/test_service_account.py",
    "data/hierarchy/test_dates_and_masks.py",
    "data/hierarchy/test_shared_hierarchies.py",
    "engine/read/test_altered_files.py",
    "engine/read/test_bad_input.py",
    "engine/read/test_file_format.py",
    "engine/test_appended_row.py",
    "engine/test_contribution.py",
    "ledger/test_altered.py",
    "ledger/test_answers.py",
    "ledger/test_dependent_samples.py",
    "mechanism/refinement/test_delta.py",
    "mechanism/refinement/test_sample.py",
    "policy/test_canonical.py",
    "policy/test_fuzz.py",
    "policy/test_lock.py",
    "policy/text/test_hostile.py",
    "policy/text/test_json_schema.py",
    "publish/certificate/test_curve.py",
    "publish/certificate/test_premises.py",
    "publish/plan/test_costly.py",
    "publish/plan/test_unit_words.py",
    "publish/handbook/test_parts.py",
    "publish/run/test_parts.py",
    "publish/run/test_few_rows.py",
    "publish/run/test_private_recoding.py",
    "publish/run/test_same_table.py",
    "publish/run/test_treatments.py",
    "publish/verify/test_attacks.py",
    "publish/verify/test_checks.py",
    "publish/verify/test_centroid_forgery.py",
    "publish/verify/test_forgery.py",
    "publish/verify/test_frozen.py",
    "publish/verify/test_hostile.py",
    "publish/verify/test_mutation.py",
    "publish/verify/test_odd_policies.py",
    "publish/verify/test_parts.py",
    "publish/verify/test_treated_values.py",
    "query/questions/test_sensitivity.py",
    "query/questions/test_truth.py",
    "query/test_groups.py",
    "query/test_hostile_texts.py",
    "query/test_stated_errors.py",
    "test_examples.py",
    "test_journeys.py",
    "test_objects.py",
}
"""Files of tests about a topic that no single module of their folder holds."""


@pytest.mark.parametrize("folder", folders())
def test_a_folder_has_about_a_dozen_entries(folder):
    assert len(entries(folder)) <= A_DOZEN_OR_SO


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted({*folders()} - {*SIBLINGS} - {*APART}))
def test_a_folder_is_one_connected_part(folder):
    found = parts(folder)
    assert len(found) <= 1, f"{folder} falls apart into {[sorted(part) for part in found]}"


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted(SIBLINGS))
def test_siblings_come_together_in_the_modules_that_are_named(folder):
    used = {whom for module in SIBLINGS[folder] for whom in mentions(module)}
    found = parts(folder)
    left = [part for part in found if not any(f"{whom}.".startswith(f"{name}.") for name in part for whom in used)]
    assert left == []


def test_a_folder_of_tests_is_a_folder_or_a_module_of_the_source():
    mirrors = sorted({path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")})
    missing = [path for path in mirrors if ".".join(["shoal", *path.parts]) not in modules()]
    assert [path.as_posix() for path in missing if path.parts[0] not in OTHER_TESTS] == []


def test_a_file_of_tests_names_a_module_of_its_folder_or_is_a_known_topic():
    found = topics()
    assert found == TOPICS, f"add to TOPICS: {sorted(found - TOPICS)}; take off: {sorted(TOPICS - found)}"


def topics() -> set[str]:
    """Files in mirrored folders that are named neither test_<module>.py nor test_<module>_<topic>.py."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        own = path.relative_to(TESTS)
        names = [name.rpartition(".")[2] for name in entries(".".join(["shoal", *own.parent.parts]))]
        words = own.stem.removeprefix("test_")
        if names and own.parts[0] not in OTHER_TESTS and not any(f"{words}_".startswith(f"{name}_") for name in names):
            found.add(own.as_posix())
    return found


@pytest.mark.slow
def test_the_source_is_read_with_its_imports():
    assert "shoal.publish.run" in entries("shoal.publish")
    assert "shoal.guarantee.unit" in modules()
    assert ("shoal.api", "shoal.policy.policy") in imports()
