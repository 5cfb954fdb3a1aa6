"""What keys say about each other: levels, views, samples, budgets, and the relation a method needs."""

from __future__ import annotations

import pytest

from shoal.errors import PolicyError
from shoal.policy.policy import Policy
from tests.policy.written import BASE, edited, problems, the_problem

HEAD, _, _ = BASE.partition("release:")


def released(words: str, neighbours: str = "add_remove", head: str = HEAD) -> str:
    """The policy with another release, on line 11."""
    words = words.replace("SAFE", "method: safe-k, epsilon: 1, delta: 0.1")
    words = words.replace("SYNTH", "method: synthetic, epsilon: 1, delta: 0.1")
    return head.replace("add_remove", neighbours) + f"release: {{{words}}}\n"


@pytest.mark.parametrize(
    ("words", "path", "said"),
    [
        # the keys of the method
        ("method: safe-k, delta: 0.1", "release", "the key 'epsilon' is missing"),
        ("method: k-anonymity", "release", "the key 'k' is missing"),
        ("method: k-anonymity, k: 5, epsilon: 1", "release.epsilon", "it makes no differential promise"),
        ("method: k-anonymity, k: 5, views: pairs", "release.views", "it makes no differential promise"),
        ("SAFE, t: 2", "release.t", "has no use for it"),
        ("method: k-anonymity, k: 1", "release.k", "a class of one hides nobody"),
        ("method: k-anonymity, k: 5, repeat: 2", "release.repeat", "cannot be repeated"),
        ("method: k-anonymity, k: 5, recoding: {tree: {epsilon: 1}}", "release.recoding", "nothing pays for"),
        ("method: probabilistic-k, k: 5, grouping: optimal", "release.grouping", "mdav or vmdav"),
        ("method: safe-k, epsilon: 1, delta: 0", "release.delta", "above 0"),
        # groups of near records
        ("method: microaggregation, k: 1", "release.k", "a class of one hides nobody"),
        ("method: microaggregation, k: 5, epsilon: 1", "release.epsilon", "it makes no differential promise"),
        ("method: microaggregation, k: 5, grouping: ranking", "release.grouping", "one quasi-identifier"),
        ("method: microaggregation, k: 5, gain: 1", "release.gain", "grouping: vmdav"),
        ("method: microaggregation, k: 5, t: 1.5", "release.t", "below 1"),
        ("method: microaggregation, k: 5, crowds: {answer: 3}", "release.crowds", "has no use for it"),
        ("method: t-closeness, t: 0.5", "release.t", "from 1 up"),
        ("method: probabilistic-k, k: 5, crowds: {answer: 3}", "release.crowds", "grouping: ranking"),
        ("method: probabilistic-k, k: 5, grouping: ranking, t: 0.2", "release.t", "far from the whole table"),
        ("method: probabilistic-k, k: 5, grouping: ranking, crowds: {age: 3}", "release.crowds.age", "not a confidential"),
        ("method: probabilistic-k, k: 5, grouping: ranking, crowds: {anwser: 3}", "release.crowds.anwser", "'answer'?"),
        # the share of the choices
        ("SAFE, recoding: {tree: {epsilon: 1}}", "release.recoding", "below release.eps"),
        ("SAFE, views: {choose: {epsilon: 2, count: 1}}", "release.views", "below"),
        (
            "SAFE, recoding: {choose: {epsilon: 0.6}}, views: {choose: {epsilon: 0.4, count: 1}}",
            "release.recoding",
            "got 1",
        ),
        # levels
        ("SAFE, recoding: {tree: {finest: {age: 9}}}", "release.recoding.tree.finest.age", "0..5"),
        ("SAFE, recoding: {choose: {coarsest: {agee: 1}}}", "release.recoding.choose.coarsest.agee", "'age'?"),
        ("SAFE, recoding: {tree: {finest: {age: 3}, coarsest: {age: 2}}}", "release.recoding.tree.finest.age", "at once"),
        ("SAFE, recoding: {tree: {grow: privtree}}", "release.recoding.tree.grow", "was removed"),
        ("SAFE, recoding: {tree: {depth: 0}}", "release.recoding.tree.depth", "from 1 to 256"),
        ("SAFE, recoding: {choose: {score: target}}", "release.recoding.choose.target", "belong together"),
        ("SAFE, recoding: {choose: {target: age}}", "release.recoding.choose.target", "belong together"),
        ("SAFE, recoding: {choose: {score: target, target: id}}", "release.recoding.choose.target", "never published"),
        ("SAFE, recoding: {levels: {age: 9}}", "release.recoding.levels.age", "0..5"),
        ("SAFE, recoding: {levels: {agee: 1}}", "release.recoding.levels.agee", "'age'?"),
        ("SAFE, recoding: {levels: {id: 1}}", "release.recoding.levels.id", "never"),
        ("SAFE, recoding: {levels: {age: -1}}", "release.recoding.levels.age", "from 0"),
        # views
        ("SAFE, views: {workload: [[age], [zpi]]}", "release.views.workload[1][0]", "'zip'?"),
        ("SAFE, views: {workload: [[age, id]]}", "release.views.workload[0][1]", "never"),
        ("SAFE, views: {workload: [[age, age]]}", "release.views.workload[0][1]", "twice"),
        ("SAFE, views: {workload: [[]]}", "release.views.workload[0]", "an empty view"),
        ("SAFE, views: {workload: []}", "release.views.workload", "no view at all"),
        ("SAFE, views: {groups: [[age, zip], [zip, visit, answer]]}", "release.views.groups[1][0]", "twice"),
        ("SAFE, views: {groups: [[age, zip], [visit]]}", "release.views.groups", "got answer"),
        # noisy counts
        ("SAFE, views: {choose: {count: 1}}", "release.views.choose", "the key 'epsilon' is missing"),
        ("SAFE, views: {choose: {epsilon: 0.1}}", "release.views.choose", "the key 'count' is missing"),
        ("SAFE, views: {adapt: {rounds: 3}}", "release.views.adapt", "show: counts"),
        ("SAFE, views: {every: pairs, cells: merged}", "release.views.cells", "only views that show counts"),
        ("SAFE, views: {show: count, every: pairs}", "release.views.show", "'counts'?"),
        ("SAFE, k: 9, views: {show: counts, every: pairs}", "release.k", "no class is suppressed"),
        ("SAFE, sampling: {beta: 0.2}, views: {show: counts, every: pairs}", "release.sampling", "no sample is drawn"),
        ("SAFE, bound: tight, views: {show: counts, every: pairs}", "release.bound", "about a sample"),
        ("SAFE, repeat: 2, views: {show: counts, every: pairs}", "release.repeat", "released once"),
        ("SAFE, recoding: tree, views: {show: counts, every: pairs}", "release.recoding", "cells: merged"),
        ("SAFE, views: {show: counts, every: pairs, allocation: equal}", "release.views.allocation", "equally precise"),
        ("SAFE, views: {show: counts, choose: {epsilon: 0.1}}", "release.views.choose.epsilon", "no price of its own"),
        ("SAFE, views: {show: counts, adapt: {rounds: 7}}", "release.views.adapt.rounds", "at most 6"),
        ("SAFE, views: {show: counts, every: pairs, adapt: {target: agee}}", "release.views.adapt.target", "'age'?"),
        ("SAFE, views: {show: counts, every: pairs, adapt: {target: id}}", "release.views.adapt.target", "never published"),
        ("SAFE, views: {show: counts, every: pairs, adapt: {share: 0.5}}", "release.views.adapt.share", "below 1/2"),
        ("SAFE, views: {show: counts, workload: [[age, zpi]]}", "release.views.workload[0][1]", "'zip'?"),
        ("SAFE, counts: {workload: [[age, id]]}", "release.counts.workload[0][1]", "never"),
        ("SAFE, counts: {every: pairs, share: 1}", "release.counts.share", "between 0 and 1"),
        ("SAFE, counts: pairs, views: {show: counts, every: pairs}", "release.counts", "there are no rows"),
        ("SAFE, counts: pairs, repeat: 2", "release.repeat", "released once"),
        ("SAFE, counts: pairs, sampling: {already: 0.2}", "release.counts", "nothing else may ever"),
        ("SAFE, counts: {choose: {epsilon: 0.1}}", "release.counts.choose.epsilon", "no price of its own"),
        ("SAFE, synthetic: {rows: 9}", "release.synthetic", "has no use for it"),
        ("method: k-anonymity, k: 5, counts: pairs", "release.counts", "it makes no differential promise"),
        ("SYNTH, views: {show: rows, every: pairs}", "release.views.show", "safe-k"),
        ("SYNTH, counts: pairs", "release.counts", "has no use for it"),
        ("SYNTH, k: 9", "release.k", "has no use for it"),
        ("SYNTH, recoding: tree, views: pairs", "release.recoding", "cells: merged"),
        ("SYNTH, synthetic: {rows: 0}", "release.synthetic.rows", "from 1"),
        ("SYNTH, synthetic: {rows: many}", "release.synthetic.rows", "not a whole number"),
        ("SYNTH, synthetic: {never: [age]}", "release.synthetic.never[0]", "{age: [0, 15], licence: yes}"),
        ("SYNTH, synthetic: {never: [{}]}", "release.synthetic.never[0]", "no combination"),
        ("SYNTH, synthetic: {never: [{agee: 3}]}", "release.synthetic.never[0].agee", "'age'?"),
        ("SYNTH, synthetic: {never: [{id: 3}]}", "release.synthetic.never[0].id", "never published"),
        ("SYNTH, synthetic: {never: [{age: []}]}", "release.synthetic.never[0].age", "nothing is listed"),
        ("SYNTH, synthetic: {never: [{age: 999}]}", "release.synthetic.never[0].age", "not in the domain"),
        ("SYNTH, synthetic: {never: [{age: [9, 3]}]}", "release.synthetic.never[0].age", "before it begins"),
        # the sample
        ("SAFE, sampling: {beta: 0.1}", "release.sampling.beta", "above delta, 0.1"),
        ("SAFE, sampling: {already: 0.05}", "release.sampling.already", "above delta"),
        ("SAFE, sampling: {already: 0.2}, recoding: {tree: {epsilon: 0.1}}", "release.sampling.already", "private choice"),
        ("SAFE, sampling: {already: 0.2}, views: pairs", "release.sampling.already", "its own sample"),
        ("SAFE, sampling: {already: 0.2}, repeat: 2", "release.sampling.already", "once"),
    ],
)  # fmt: skip
def test_a_release_that_cannot_be(words, path, said):
    problem = the_problem(released(words), path, line=11)
    assert said in problem.words("policy.yaml")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("method: sample, epsilon: 1, delta: 0.1", "rows that take another value"),
    ],
)
def test_the_relation_that_a_method_needs(words, reason):
    problem = the_problem(released(words), "neighbours", line=4)
    assert reason in problem.fix
    assert Policy.parse(released(words, "replace_one")).release is not None


def test_safe_k_is_converted_to_the_other_relation():
    assert Policy.parse(BASE.replace("add_remove", "replace_one")).unit.neighbours == "replace_one"


def test_a_sample_that_is_already_drawn_is_for_safe_k():
    text = released("method: sample, epsilon: 1, delta: 0.1, sampling: {already: 0.2}", "replace_one")
    assert "only safe-k" in the_problem(text, "release.sampling.already").wrong


@pytest.mark.parametrize(
    ("words", "path", "said"),
    [
        ("delta: 0.3", "release.delta", "at most 1/4"),
        ("delta: 0", "release.delta", "above 0"),
        ("delta: 0.1, recoding: tree", "release.recoding", "levels are fixed in advance"),
        ("delta: 0.1, recoding: {choose: {epsilon: 0.1}}", "release.recoding", "nothing pays for"),
        ("delta: 0.1, rare_below: 9", "release.rare_below", "rare values are not treated"),
        ("delta: 0.1, rare: refuse, rare_below: 9", "release.rare_below", "rare: drop, generalize or replace"),
        ("delta: 0.1, rare: hide", "release.rare", "keep, refuse, drop, generalize"),
        ("delta: 0.1, sampling: {prefer: rows}", "release.sampling.prefer", "nothing to prefer"),
        ("delta: 0.1, k: 5", "release.k", "has no use for it"),
    ],
)
def test_a_plain_sample_that_cannot_be(words, path, said):
    problem = the_problem(released(f"method: sample, epsilon: 1, {words}", "replace_one"), path)
    assert said in problem.words("policy.yaml")


def test_a_plain_sample_is_not_charged_so_no_budget_is_below_it():
    text = released("method: sample, epsilon: 1, delta: 0.1, sampling: {beta: 0.05}", "replace_one")
    found = Policy.parse(text + "\nbudget: {epsilon: 0.1, delta: 1e-9}\n")
    assert found.release.rare == "keep"


# --- units and attributes -----------------------------------------------------------------------------------------


def test_the_column_of_a_person():
    problem = the_problem(edited(("unit: row", "unit: {column: idd, max_rows: 2}")), "unit.column", line=3)
    assert problem.fix == "did you mean 'id'?"
    problem = the_problem(edited(("unit: row", "unit: {column: age, max_rows: 2}")), "unit.column", line=3)
    assert problem.fix == "set attributes.age.role: identifier"


@pytest.mark.parametrize("role", ["quasi", "confidential", "other"])
def test_what_is_published_needs_a_domain(role):
    text = edited(
        (
            "role: quasi, type: integer, domain: [0, 110], hierarchy: {intervals: [5, 10, 20, 40]}",
            f"role: {role}, type: integer",
        )
    )
    problem = the_problem(text, "attributes.age", line=7)
    assert "may not read it off the data" in problem.fix


def test_other_attributes_need_no_domain_where_crowds_are_quasi_identifiers_alone():
    head = HEAD.replace(
        "role: confidential, type: category, domain: [no, yes], hierarchy: auto", "role: other, type: text"
    )
    assert Policy.parse(released("method: k-anonymity, k: 5", head=head)).schema["answer"].domain is None


def test_intervals_give_no_domain():
    problem = the_problem(edited(("domain: [0, 110], ", "")), "attributes.age.hierarchy", line=7)
    assert problem.fix == "declare the domain beside the hierarchy"


def test_a_method_for_confidential_attributes_needs_one():
    head = HEAD.replace("confidential", "other")
    assert "there is none" in the_problem(released("method: anatomy, l: 2", head=head), "attributes").wrong


def test_names_of_people_are_not_clamped():
    text = edited(
        ("unit: row", "unit: {column: id, max_rows: 1}"),
        ("id: {role: identifier}", "id: {role: identifier, type: integer, domain: [0, 100], outside: clamp}"),
    )
    assert "several people one" in the_problem(text, "attributes.id.outside", line=6).words("policy.yaml")


def test_nothing_to_publish():
    text = "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes: {a: {role: drop}}\n"
    (problem,) = problems(released("method: microaggregation, k: 3", head=text))
    assert problem.wrong == "nothing to publish"
    found = problems(released("SAFE, views: pairs", head=text))
    assert [p.wrong for p in found] == ["nothing to publish", "fewer than 2 published attributes"]


def test_levels_of_an_attribute_without_a_hierarchy():
    head = HEAD.replace(", hierarchy: auto", "")
    text = released("SAFE, recoding: {levels: {answer: 1}}", head=head)
    problem = the_problem(text, "release.recoding.levels.answer")
    assert problem.fix == "it has no hierarchy: declare attributes.answer.hierarchy"


def test_a_budget_below_its_release():
    assert (
        the_problem(edited(("epsilon: 3", "epsilon: 0.9")), "budget.epsilon", 17).allowed
        == "at least release.epsilon, 1"
    )
    assert the_problem(edited(("delta: 1e-5", "delta: 1e-7")), "budget.delta", 17).came == "1e-7"
    assert Policy.parse(edited(("epsilon: 3", "epsilon: 1"), ("delta: 1e-5", "delta: 1e-6"))).budget.epsilon == 1


def test_gaussian_accounting_leaves_three_tenths_of_delta_for_releases():
    named = ("delta: 1e-5}", "delta: 1e-5, accounting: gaussian}")
    assert Policy.parse(edited(named)).budget.accounting == "gaussian"
    assert Policy.parse(edited(named)).lock() == Policy.parse(edited()).lock()  # a release is the same under either
    problem = the_problem(edited(("delta: 1e-5}", "delta: 2e-6, accounting: gaussian}")), "budget.delta", 17)
    assert problem.allowed == "at least 1/300000, or `accounting: basic`"
    assert the_problem(edited(("delta: 1e-5}", "delta: 1e-5, accounting: renyi}")), "budget.accounting", 17)


def test_no_value_and_no_label_is_one_that_is_kept_for_something_else():
    def refusal(spec):
        text = "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n  a: " + spec
        with pytest.raises(PolicyError) as caught:
            Policy.parse(text)
        return str(caught.value)

    listed = refusal('{role: quasi, type: category, domain: [x, "(missing)"]}')
    assert "a value that is the label of a missing value; got (missing)" in listed
    assert "outside: suppress" in listed
    assert "label of the whole domain; got *" in refusal('{role: quasi, type: ordinal, domain: [x, "*"]}')
    given = refusal('{role: quasi, type: category, hierarchy: {groups: {g: [x, "*"]}}}')
    assert "attributes.a.hierarchy" in given
    cut = refusal('{role: quasi, type: integer, domain: [0, 9], hierarchy: {cuts: [5], labels: [low, "(missing)"]}}')
    assert "level 1 has a label that is the label of a missing value" in cut
    # what is never published may be called anything
    free = '{role: identifier, type: category, domain: [x, "(missing)"]}'
    Policy.parse("version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n  a: " + free)


@pytest.mark.parametrize("domain", ["[2020-01-01, 9999-12-31]", "{values: [9999-12-31, 2020-01-01]}"])
def test_a_day_without_a_day_after_it_ends_no_domain(domain):
    # its boxes could not be named, which came out after the charge
    text = "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n  a: "
    with pytest.raises(PolicyError, match="the last day that there is"):
        Policy.parse(f"{text}{{role: quasi, type: date, domain: {domain}}}")
