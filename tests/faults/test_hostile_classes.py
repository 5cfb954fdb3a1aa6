"""Every kind of hostile folder and file has a test of its own beside the code that meets it; this is the list."""

from __future__ import annotations

import ast

import pytest

from tests.gate import ROOT

VERIFY, ALTERED = "publish/verify/test_hostile.py", "assess/release/test_altered.py"
PARQUET, ARROW, SOURCE = (
    "engine/read/test_parquet_file.py",
    "engine/read/test_arrow_file.py",
    "engine/read/test_source.py",
)
LEDGER, SHARE, FOLDER = "ledger/test_file.py", "publish/test_share.py", "publish/test_folder.py"
RECOVER = "publish/run/test_recover.py"

OWNERS = {
    # --- what is shown on the screen
    "names in a release folder that clear the terminal and print a verdict": (
        VERIFY,
        "no_text_of_a_folder_acts_on_the_terminal",
    ),
    "names in an archive that a terminal would obey": (VERIFY, "names_in_an_archive_are_shown_as_they_are_not"),
    "names of a policy and of a table": ("cli/test_hostile_names.py", "names_of_a_policy_and_of_a_table"),
    "names in a ledger": ("cli/test_hostile_names.py", "names_in_a_ledger"),
    "words of the command line": ("cli/test_hostile_names.py", "words_of_the_command_line"),
    # --- tables
    "a Parquet footer whose statistics lie": (PARQUET, "no_verb_believes_the_footer"),
    "a Parquet value outside its domain": (PARQUET, "every_value_is_compared_with_its_domain"),
    "a Parquet file that claims another number of rows": (PARQUET, "a_footer_that_claims_another_number_of_rows"),
    "a Parquet page that claims to unpack to gigabytes": (PARQUET, "a_page_that_claims_to_unpack_to_gigabytes"),
    "a Parquet page of two columns": (PARQUET, "pages_that_another_column_has_too"),
    "a Parquet page in another file": (PARQUET, "pages_that_lie_in_another_file"),
    "a Parquet footer that ends the process": (
        PARQUET,
        "a_footer_that_makes_the_bindings_of_arrow_end_the_process_is_refused",
    ),
    "Arrow offsets and codes beyond the buffer": (ARROW, "offsets_codes_and_letters_of_a_file_are_validated"),
    "a frame that was never validated": (ARROW, "a_frame_is_validated_before_a_cell_is_read"),
    "an Arrow buffer that claims to unpack to gigabytes": (ARROW, "a_buffer_that_claims_to_unpack_to_gigabytes"),
    "tables altered at random": (
        "engine/read/test_altered_files.py",
        "an_altered_file_is_refused_or_read_as_others_read_it",
    ),
    "a pipe for a table": (SOURCE, "a_pipe_is_refused_before_opening_it_would_wait"),
    "a device for a table": (SOURCE, "a_link_to_a_device_is_refused"),
    "cells that a spreadsheet takes for formulas": ("engine/test_write.py", "what_a_spreadsheet_takes_for_a_formula"),
    "a query that opens a file": ("engine/duckdb/test_engine_set_up.py", "a_query_opens_no_file_and_sets_nothing"),
    # --- release folders
    "numbers, nesting, anchors, patterns and rows without end": (
        VERIFY,
        "what_is_too_large_is_refused_before_any_work",
    ),
    "a pattern that backtracks": (VERIFY, "no_pattern_takes_more_than_a_step_for_each_letter_and_place"),
    "links, pipes, sockets, folders, absolute names and ../": (VERIFY, "only_plain_files_of_the_folder_are_read"),
    "a certificate that is a link or a pipe": (VERIFY, "the_certificate_itself_is_a_plain_file"),
    "a folder that is changed meanwhile": (VERIFY, "a_folder_that_is_changed_meanwhile_is_not_believed"),
    "a carried hierarchy nested without end": (
        VERIFY,
        "a_carried_hierarchy_that_is_nested_without_end_is_refused_at_once",
    ),
    "labels of no declared value": (VERIFY, "labels_of_clusters_are_made_of_declared_values"),
    "an edited certificate, lock, rule or ledger budget": ("publish/verify/test_checks.py", "every_check_fires"),
    "folders altered at random": ("publish/verify/test_mutation.py", "altered_folders_end_in_a_verdict"),
    "an edited beta that is loaded": (ALTERED, "an_edited_beta_is_refused"),
    "a certificate without a seal": (ALTERED, "a_certificate_without_a_seal_is_refused"),
    "altered releases that are loaded": (ALTERED, "altered_releases_end_in_our_errors_or_in_the_genuine_estimates"),
    "archives with names that lead elsewhere": ("data/test_archive.py", "a_name_that_leads_elsewhere_is_refused"),
    # --- policies and questions
    "YAML of anchors, depth and length": ("policy/text/test_hostile.py", "a_hostile_text_is_refused_in_a_few_words"),
    "policies that keep a plan busy": ("publish/plan/test_costly.py", "policies_that_kept_a_plan_busy"),
    "policies, questions and hierarchies altered at random": (
        "query/test_hostile_texts.py",
        "altered_texts_are_read_or_refused",
    ),
    "a pattern that is not matched in time proportional to the text": (
        "data/test_pattern.py",
        "other_patterns_are_refused_with_words",
    ),
    "a pipe or a device for a policy": (
        "data/test_plain_file.py",
        "a_pipe_a_device_and_a_folder_are_refused_before_they_are_waited_for",
    ),
    # --- ledgers
    "an emptied ledger": (LEDGER, "an_emptied_file_is_no_new_ledger"),
    "a ledger with a table dropped or added": (LEDGER, "a_ledger_with_a_part_missing_altered_or_added_is_refused"),
    "a ledger whose end was cut off": (LEDGER, "an_end_that_is_cut_off_is_found"),
    "a pipe, a device or a link for a ledger": (LEDGER, "folders_pipes_devices_and_links_to_nothing_are_refused"),
    "a ledger that everybody can read": (LEDGER, "a_ledger_that_everybody_can_read_is_warned_of"),
    "a ledger under two names": ("ledger/test_question_lock.py", "a_ledger_under_two_names_has_one_lock"),
    "ledgers altered at random": ("ledger/test_altered.py", "altered_ledgers_end_in_clear_errors"),
    # --- what is written
    "a share with ../ in its entries": (SHARE, "names_that_lead_out_of_the_folder_are_refused"),
    "a share that follows a link": (SHARE, "links_are_not_followed"),
    "a folder to replace that is not ours": (FOLDER, "a_folder_that_is_not_as_it_was_released_is_not_replaced"),
    "a forged journal that asks for a replacement": (RECOVER, "a_forged_journal_replaces_and_notes_nothing"),
    "a target that is no place": (FOLDER, "what_names_no_new_folder_is_refused"),
    "an older Python": (VERIFY, "an_older_python_is_told_so"),
}
"""The file and the name of the test that owns each kind."""


@pytest.mark.parametrize("kind", list(OWNERS))
def test_a_hostile_kind_has_a_test_of_its_own(kind):
    file, name = OWNERS[kind]
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    assert f"test_{name}" in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
