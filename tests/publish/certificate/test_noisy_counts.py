"""The certificate of noisy counts: it states every number of the plan, answers every premise, and its page says it to people."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import shoal.publish.certificate
from shoal.guarantee.theorem import theorem
from shoal.ledger.state import Account
from shoal.publish.certificate.model import NoisyCountsCertificate
from shoal.publish.certificate.noisy_counts import certificate, noisy_counts_answers
from shoal.publish.certificate.page import certificate_page
from shoal.publish.plan.methods import plan
from shoal.publish.plan.noisy_counts import NoisyCountsPlan
from tests.publish import clinic

SCHEMA = json.loads((Path(shoal.publish.certificate.__file__).parent / "noisy_counts.schema.json").read_text("utf-8"))
PROMISE = {"method": "safe-k", "epsilon": 1, "delta": "1e-3", "output": "csv"}
ROWS = {"counts": {"workload": [["age", "sex"]]}, "recoding": {"levels": {"age": 2}}}
KINDS = {
    "pairs": {"views": {"show": "counts", "every": "pairs"}},
    "declared": {"views": {"show": "counts", "every": "pairs", "cells": "declared"}},
    "once": {"views": {"show": "counts", "choose": {}}},
    "rounds": {"views": {"show": "counts", "adapt": {"rounds": 2}}},
    "tiny": {"delta": "1e-12", "views": {"show": "counts", "every": "pairs"}},
    "synthetic": {"method": "synthetic", "synthetic": {"never": [{"age": [0, 9]}]}},
    "rows": ROWS,
    "tree": {**ROWS, "recoding": "tree"},
}


def planned(kind: str, **changes: object) -> NoisyCountsPlan:
    found = plan(clinic.policy({"release": {**PROMISE, **KINDS[kind]}, "budget": None, **changes}))
    assert isinstance(found, NoisyCountsPlan)
    return found


def made(found: NoisyCountsPlan) -> NoisyCountsCertificate:
    """The certificate that is drawn before the charge."""
    book = Account(found.policy.dataset, None, None, None, (found.cost,), 0, 0, 0, sample_used=False)
    job = found.job()
    beside = [] if job.rows is None else [table for table, _ in job.rows.draft_tables()]
    drawn = job.synthetic_entry(30) if found.synthetic is not None else None
    return certificate(
        found, {"policy.lock.yaml": found.lock.sha256}, job.draft_counts(), beside, drawn, book, "2026-03-01"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*[*KINDS][:-1], pytest.param("tree", marks=pytest.mark.long)])
def test_a_certificate_states_what_was_planned(kind):
    found = planned(kind)
    held = made(found)
    content = held.to_json()
    jsonschema.Draft7Validator(SCHEMA).validate(content)
    assert NoisyCountsCertificate.read(content) == held
    assert content["noise"] == {**found.setting.to_saved(), "merged": found.method.merged}
    assert content["parts"] == found.cost.to_saved()["parts"]
    assert content["method"] == ("synthetic" if kind == "synthetic" else "noisy-counts")
    assert float(content["epsilon_composed"]) <= 1
    assert (
        bool(content["samples"]) == bool(content["tables"]) == (found.rows is not None) == (content["bound"] == "tight")
    )
    page = certificate_page(held)
    for sentence in (*held.explanation, *held.not_promised):
        assert sentence.replace("'", "&#39;") in page
    for table in held.counts:
        assert table.file in page
        assert f"± {table.half_width:,}" in page
    assert ("Rows beside the counts" in page) == (found.rows is not None)
    assert ("Synthetic rows" in page) == (kind == "synthetic")
    assert "<script" not in page


def test_the_page_says_which_file_has_the_cells_of_an_attribute_and_which_its_bins():
    held = made(planned("pairs"))
    files = [{name: f"recoding/{1 + 9 * (len(table.columns) > 1 and name == 'age')}-{name}.json" for name in table.columns}
             for table in held.counts]  # fmt: skip
    told = [table.model_copy(update={"recoding": own}) for table, own in zip(held.counts, files, strict=True)]
    page = certificate_page(held.model_copy(update={"counts": tuple(told)}))
    assert "<code>recoding/1-age.json</code><small>its cells, in its own table</small>" in page
    assert "<code>recoding/10-age.json</code><small>its bins, in tables of several attributes</small>" in page
    assert "<code>recoding/1-sex.json</code></td>" in page


@pytest.mark.parametrize(("rules", "said"), [(1, "has the combination of"), (2, "has any of the 2 combinations of")])
def test_what_is_ruled_out_is_counted_in_words_that_agree(rules, said):
    held = made(planned("synthetic"))
    drawn = held.synthetic.model_copy(update={"rules": rules})
    page = certificate_page(held.model_copy(update={"synthetic": drawn}))
    assert f"None of them {said} values that the policy rules out." in page


@pytest.mark.parametrize("kind", ["pairs", "once", "rounds", "tiny", "synthetic"])
def test_every_premise_has_an_answer(kind):
    found = planned(kind)
    answers = noisy_counts_answers(found)
    for name in found.claims[0].theorems:
        for premise in theorem(name).premises:
            assert premise.key in answers, f"{name}: {premise.key}"


def test_a_drafted_domain_is_no_premise_that_is_met():
    answers = noisy_counts_answers(planned("pairs", **{"attributes.age.provenance": {"domain": "profiled"}}))
    assert "for those it is not met" in answers["counts-fixed"].detail
