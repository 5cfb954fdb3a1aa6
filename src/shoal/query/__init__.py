"""One answer: questions to a table, with their price known before a row is read.

A question is a frozen value that a person wrote: `Count("age >= 65")`, `Mean("income", where="sex = 'female'")`, or plain
values from a batch file, by `question({"count": {"where": "age >= 65"}})`. Its condition is a text in a small language of its
own (`predicate`), parsed and typed against the policy, never handed on to an engine.

    asked = question.plan(schema, unit)      what it means under the policy: refused here, or never
    asked.identity                           one text for one meaning: asked again, it is the same question
    asked.kind                               "add", "choose" or "refine"

"add": counts, sums, means, variances, histograms, contingency tables, and several of them `Together` as one vector. Every
component is a whole number of steps of a grid that the policy fixes; `asked.sensitivity` says how far one unit moves it.

    noise = Laplace.for_target(target, sensitivity=asked.even_sensitivity, grid=asked.even_grid)     the price, with
    noise.expected_error × asked.sensitivity.linf                                              what it buys
    ... the ledger is charged here ...
    steps = asked.truth(table) + noise.noise(source, 1)[0]
    asked.finish(steps)                      plain values: post-processing, the rows are not looked at again

"choose": quantiles. `asked.scores(table)` are whole numbers, one for each of `asked.candidates`, each moved by at most
`asked.reach`; a mechanism picks an index and `asked.finish(index)` names the value.

"refine": the value of one person. `asked.truth(table)` is None for somebody who is not there, which is an answer like any
other: the prior as it was. `asked.values` or `asked.domain` say what a prior may range over.

Where the unit is a person, `truth` and `scores` take a table with at most `unit.max_rows` rows of each: the caller sees to
that (`dataset.at_most`), with one choice for all questions of a session.
"""
