"""Questions to a table, each answered with noise, with its price known before a row is read.

A question is a frozen value that a person wrote: `Count("age >= 65")`, `Mean("income", where="sex = 'female'")`, or plain
values from a batch file, by `read_question({"count": {"where": "age >= 65"}})`. Its condition is a text in a small language
(`shoal.language.condition`), parsed and typed against the policy, and never handed on to an engine.

    query = question.resolve(schema, unit)   the query that it means under the policy; refused here, or never
    query.identity                           one text for one meaning: asked again, it is the same question

`VectorQuery`: counts, sums, means, variances, histograms, contingency tables, and several of them as a `Workload`.
Every component is a whole number of steps of a grid that the policy fixes; `query.sensitivity` has its L0, L1 and L∞.

    noise = Laplace.for_target(target, sensitivity=query.scaled_sensitivity, grid=query.scaled_grid)
    noise.expected_error × query.sensitivity.linf       the error that the price buys
    ... the ledger is charged here ...
    steps = query.truth(table) + noise.noise(source, 1)[0]
    query.finish(steps)                                 plain values: post-processing, the rows are not read again

`SelectionQuery`: quantiles. `query.scores(table)` are whole numbers, one for each of `query.candidates`, of L∞
sensitivity `query.linf`; the exponential mechanism draws an index, and `query.finish(index)` is the value.

`PersonQuery`: the value of one person. `query.truth(table)` is None for an absent person, who is answered from the
prior as it is. `query.values` or `query.domain` say what a prior may range over.

Where the unit of privacy is a person, `truth` and `scores` take a table after contribution bounding (`dataset.bound_rows`),
with one choice of rows for all questions of a session.
"""
