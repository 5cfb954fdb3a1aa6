"""LQS11 Table 1 (amplification), Table 2 (delta at k = 20; LQS10 Table 1) and the composition of section 2.7."""

from __future__ import annotations

import math

from shoal.guarantee.compose import compose
from shoal.guarantee.differential import SampledDP, allowance, amplify
from shoal.guarantee.rounding import text_up
from shoal.guarantee.safe_k import curve as safe_k
from shoal.lab.papers.comparison import Finding, Reproduction, digits, statement

ELEVEN = {"1": ("11", "2.40", "1e-5"), "0.1": ("2", "0.69", "1e-6"), "0.01": ("1.1", "0.095", "1e-7")}
"""beta: e^epsilon, epsilon and delta of an algorithm that is (ln 11, 1e-5)-DP, as LQS11 Table 1 prints them."""

ONE = {"1": "1", "0.1": "0.159", "0.01": "0.017"}
"""beta: epsilon of an algorithm that is (1, 0)-DP."""

EPSILONS = ("0.25", "0.5", "0.75", "1.0", "1.5", "2.0")

DELTAS = {
    "0.05": ("6.83e-10", "2.50e-14", "3.19e-17", "1.76e-19", "3.97e-22", "2.00e-24"),
    "0.1": ("4.19e-06", "1.61e-09", "3.44e-12", "4.07e-14", "3.22e-16", "1.89e-18"),
    "0.2": ("2.16e-03", "8.02e-06", "1.89e-07", "6.03e-09", "4.79e-11", "1.59e-12"),
}
"""beta: delta at each of EPSILONS for k = 20, as LQS11 Table 2 and LQS10 Table 1 print it."""


def table_1() -> Reproduction:
    """Sampling amplifies: two algorithms at three rates."""
    findings: list[Finding] = []
    for rate, (ratio, epsilon, delta) in ELEVEN.items():
        found = amplify(math.log(11), "1e-5", rate)
        findings += [
            digits(f"e^epsilon at beta {rate}, from (ln 11, 1e-5)", ratio, math.exp(found.epsilon)),
            digits(f"epsilon at beta {rate}, from (ln 11, 1e-5)", epsilon, found.epsilon),
            digits(f"delta at beta {rate}, from (ln 11, 1e-5)", delta, found.delta),
        ]
    findings += [
        digits(f"epsilon at beta {rate}, from (1, 0)", epsilon, amplify(1, 0, rate).epsilon)
        for rate, epsilon in ONE.items()
    ]
    spare = allowance("0.1", 0, "0.01").epsilon
    remark = (
        f"The other way round: a target of 0.1 on data that are a 1 % sample allows epsilon {spare:.4g} on the sample."
    )
    return Reproduction(findings, [remark])


def table_2() -> Reproduction:
    """The published d to every printed digit, with the tight delta* beside it."""
    findings = []
    for beta, row in DELTAS.items():
        for epsilon, printed in zip(EPSILONS, row, strict=True):
            ours, tight = (safe_k.delta(20, beta, epsilon, bound) for bound in ("published", "tight"))
            better = f"{text_up(tight, 3)} ({ours / tight:.3g} times smaller)"
            findings.append(digits(f"delta at beta {beta}, epsilon {epsilon}", printed, ours, better))
    return Reproduction(
        findings, ["Improved: delta*, for which the release is (epsilon, delta*)-DP; d bounds a bad outcome."]
    )


def section_2_7() -> Reproduction:
    """Fifty publications, each from its own sample at rate 0.2 and (0.2, 0.02, 0)-DPS."""
    total = compose([(SampledDP("0.2", "0.02", 0).on_fresh_sample(), 50)])
    missed = 0.8**50
    composed = total.epsilon_at("1e-6")
    return Reproduction(
        [
            digits(
                "epsilon of 50 outputs at epsilon 0.02 and delta 0",
                "1",
                total.basic(0),
                f"{composed:.4g} at delta 1e-6",
            ),
            statement(
                "a tuple is in at least one of 50 samples at rate 0.2",
                "with high probability",
                f"{1 - missed:.6f}",
                missed < 1e-4,
            ),
        ],
        [
            "Improved: the same 50 outputs through privacy-loss distributions, which allow a small delta to pay for epsilon."
        ],
    )
