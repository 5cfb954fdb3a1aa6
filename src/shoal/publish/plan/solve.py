"""The numbers of a release: k and beta solved from what the policy asks for, for one table or for several repeats."""

from __future__ import annotations

from fractions import Fraction

from shoal.errors import InfeasibleError, PolicyError
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, SafeKSampling
from shoal.guarantee.rounding import exact, text_up
from shoal.guarantee.safe_k.frontier import pick
from shoal.guarantee.safe_k.promise import Promise, Whose, promise
from shoal.policy.model.release import ReleaseAsked


def numbers(asked: ReleaseAsked, whose: Whose) -> tuple[Promise, ApproxDP]:
    """k and beta of each release, and the promise of all together."""
    epsilon, delta = asked.epsilon, asked.delta
    if epsilon is None or delta is None:
        raise PolicyError("release: safe-k needs epsilon and delta")
    bound = asked.bound or "tight"
    if asked.repeat == 1:
        return one_release(asked, whose, epsilon, delta, bound), ApproxDP(epsilon, delta)
    # the largest share of epsilon for each release at which all together still fit
    low, high = asked.chosen + (epsilon - asked.chosen) / asked.repeat, epsilon
    best = one_release(asked, whose, low, delta / asked.repeat, bound)
    if whose.is_one_step and bound == "tight":
        for _ in range(10):
            middle = exact(float((low + high) / 2))
            tried = one_release(asked, whose, middle, delta / asked.repeat, bound)
            crowds = compose([(SafeKSampling(tried.k, tried.beta), asked.repeat)])
            if asked.chosen + exact(crowds.epsilon_at(delta)) <= epsilon:
                low, best = middle, tried
            else:
                high = middle
    return best, ApproxDP(epsilon, delta)


def one_release(
    asked: ReleaseAsked, whose: Whose, epsilon: Fraction, delta: Fraction, bound: str, share: Fraction | None = None
) -> Promise:
    """k and beta of one release, whichever of the two the policy leaves open; `share` of epsilon goes to the recoding."""
    sampling = asked.sampling
    already = sampling.already if sampling is not None else None
    rate = already if already is not None else sampling.beta if sampling is not None else None
    share = asked.chosen if share is None else share
    if isinstance(rate, Fraction) and asked.k is not None:
        found = promise(epsilon=epsilon, delta=None, k=asked.k, beta=rate, bound=bound, recoding=share, whose=whose)
        if found.delta > delta:
            raise InfeasibleError(
                f"k = {asked.k} and beta = {float(rate):g} do not reach the promise: delta is {text_up(found.delta)}",
                came=f"delta = {text_up(delta)} at epsilon = {text_up(epsilon)}",
                fix="raise k, lower beta, or leave one of them out and let the plan find it",
            )
        return promise_with(found, delta)
    if isinstance(rate, Fraction):
        return promise(epsilon=epsilon, delta=delta, k=None, beta=rate, bound=bound, recoding=share, whose=whose)
    if asked.k is not None:
        return promise(epsilon=epsilon, delta=delta, k=asked.k, beta=None, bound=bound, recoding=share, whose=whose)
    prefer = sampling.prefer if sampling is not None else "balance"
    return pick(epsilon=epsilon, delta=delta, recoding=share, whose=whose, bound=bound, prefer=prefer)


def promise_with(found: Promise, delta: Fraction) -> Promise:
    """The same numbers with the delta that was asked for, which is the larger one."""
    return Promise(
        found.epsilon_release,
        found.epsilon_recoding,
        delta,
        found.k,
        found.beta,
        found.bound,
        found.solved,
        found.whose,
    )
