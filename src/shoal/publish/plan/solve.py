"""The numbers of a release: k and beta solved from what the policy asks for, for one table or for several repeats."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from shoal.errors import InfeasibleError, PolicyError
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, SafeKSampling
from shoal.guarantee.rounding import exact, text_up
from shoal.guarantee.safe_k.frontier import setting_by_preference
from shoal.guarantee.safe_k.setting import Setting, solve
from shoal.guarantee.unit import Unit
from shoal.policy.model.release import ReleaseAsked


def numbers(asked: ReleaseAsked, unit: Unit) -> tuple[Setting, ApproxDP]:
    """k and beta of each release, and the promise of all together."""
    epsilon, delta = asked.epsilon, asked.delta
    if epsilon is None or delta is None:
        raise PolicyError("release: safe-k needs epsilon and delta")
    bound = asked.bound or "tight"
    if asked.repeat == 1:
        return one_release(asked, unit, epsilon, delta, bound), ApproxDP(epsilon, delta)
    # the largest share of epsilon for each release at which all together still fit
    low, high = asked.chosen + (epsilon - asked.chosen) / asked.repeat, epsilon
    best = one_release(asked, unit, low, delta / asked.repeat, bound)
    if unit.is_one_step and bound == "tight":
        for _ in range(10):
            middle = exact(float((low + high) / 2))
            tried = one_release(asked, unit, middle, delta / asked.repeat, bound)
            crowds = compose([(SafeKSampling(tried.k, tried.beta), asked.repeat)])
            if asked.chosen + exact(crowds.epsilon_at(delta)) <= epsilon:
                low, best = middle, tried
            else:
                high = middle
    return best, ApproxDP(epsilon, delta)


def one_release(
    asked: ReleaseAsked, unit: Unit, epsilon: Fraction, delta: Fraction, bound: str, share: Fraction | None = None
) -> Setting:
    """k and beta of one release, whichever of the two the policy leaves open; `share` of epsilon goes to the recoding."""
    sampling = asked.sampling
    already = sampling.already if sampling is not None else None
    rate = already if already is not None else sampling.beta if sampling is not None else None
    share = asked.chosen if share is None else share
    if isinstance(rate, Fraction) and asked.k is not None:
        found = solve(epsilon=epsilon, k=asked.k, beta=rate, bound=bound, epsilon_recoding=share, unit=unit)
        if found.delta > delta:
            raise InfeasibleError(
                f"k = {asked.k} and beta = {float(rate):g} do not reach the promise: delta is {text_up(found.delta)}",
                came=f"delta = {text_up(delta)} at epsilon = {text_up(epsilon)}",
                fix="raise k, lower beta, or leave one of them out and let the plan find it",
            )
        return promise_with(found, delta)
    if isinstance(rate, Fraction):
        return solve(epsilon=epsilon, delta=delta, beta=rate, bound=bound, epsilon_recoding=share, unit=unit)
    if asked.k is not None:
        return solve(epsilon=epsilon, delta=delta, k=asked.k, bound=bound, epsilon_recoding=share, unit=unit)
    prefer = sampling.prefer if sampling is not None else "balance"
    return setting_by_preference(
        epsilon=epsilon, delta=delta, epsilon_recoding=share, unit=unit, bound=bound, prefer=prefer
    )


def promise_with(found: Setting, delta: Fraction) -> Setting:
    """The same numbers with the delta that was asked for, which is the larger one."""
    return replace(found, delta=delta)
