"""Slow, independent ways to compute what guarantee/ computes: brute force and mpmath, straight from the definitions."""

from __future__ import annotations

import math

import mpmath


def published_law(n: int, k: int, beta: mpmath.mpf) -> dict[int, mpmath.mpf]:
    """The law of the published count of a class with n members: 0 means suppressed."""
    odds = beta / (1 - beta)
    law = {0: (1 - beta) ** n}
    for j in range(n):
        law[j + 1] = law[j] * odds * (n - j) / (j + 1)
    if k == 0:
        return law
    shown = {j: p for j, p in law.items() if j >= k}
    return {**shown, 0: mpmath.fsum(p for j, p in law.items() if j < k)}


def hockey_stick(p: dict[int, mpmath.mpf], q: dict[int, mpmath.mpf], ratio: mpmath.mpf) -> mpmath.mpf:
    """sum of max(0, P - ratio Q)."""
    return mpmath.fsum(max(mpmath.mpf(0), mass - ratio * q.get(x, mpmath.mpf(0))) for x, mass in p.items())


def brute_force(k: int, beta: str, epsilon: str, direction: str = "both") -> float:
    """delta* as the supremum over class sizes, stopped by the divergence of the unsuppressed counts.

    Those bound all later sizes and never increase, so the maximum found is the supremum.
    """
    with mpmath.workdps(30):
        rate, ratio = mpmath.mpf(beta), mpmath.exp(mpmath.mpf(epsilon))
        best, n = mpmath.mpf(0), 1
        while True:
            with_member, without = published_law(n, k, rate), published_law(n - 1, k, rate)
            raw_with, raw_without = published_law(n, 0, rate), published_law(n - 1, 0, rate)
            pairs, tails = [], []
            if direction in ("both", "remove"):
                pairs.append((with_member, without))
                tails.append((raw_with, raw_without))
            if direction in ("both", "add"):
                pairs.append((without, with_member))
                tails.append((raw_without, raw_with))
            best = max(best, *(hockey_stick(p, q, ratio) for p, q in pairs))
            if n >= k and max(hockey_stick(p, q, ratio) for p, q in tails) <= best:
                return float(best)
            n += 1
            if n > 3000:
                raise AssertionError("the brute force did not stop")


def tight_remove(k: int, beta: str, epsilon: str) -> mpmath.mpf:
    """delta* in the remove direction at its worst class size, as a sum of positive terms with 60 digits."""
    with mpmath.workdps(60):
        rate, ratio = mpmath.mpf(beta), mpmath.exp(mpmath.mpf(epsilon))
        gamma = 1 - (1 - rate) / ratio
        n = max(k, int(mpmath.ceil((k - 1) / gamma)))
        ways = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
        term = mpmath.exp(ways + k * mpmath.log(rate) + (n - k) * mpmath.log1p(-rate))
        total = mpmath.mpf(0)
        for j in range(k, n + 1):
            total += term * (j - gamma * n) / (n * (1 - gamma))
            term *= rate / (1 - rate) * (n - j) / (j + 1)
            if j > n * rate and term < total * mpmath.mpf(10) ** -40:
                break
        return total


def published(k: int, beta: str, epsilon: str, sizes: int = 150) -> float:
    """d of LQS11 Theorem 5 by trying many class sizes one after another."""
    with mpmath.workdps(50):
        rate, ratio = mpmath.mpf(beta), mpmath.exp(mpmath.mpf(epsilon))
        gamma = (ratio - 1 + rate) / ratio
        first = int(mpmath.ceil(k / gamma - 1))
        best = mpmath.mpf(0)
        for n in range(max(first, 1), first + sizes):
            start = int(mpmath.floor(gamma * n)) + 1
            terms = (mpmath.binomial(n, j) * rate**j * (1 - rate) ** (n - j) for j in range(start, n + 1))
            best = max(best, mpmath.fsum(terms))
        return float(best)


def relative_error(found: float, truth: object) -> float:
    """|found - truth| / truth, in high precision so that nothing underflows."""
    with mpmath.workdps(60):
        return float(abs(mpmath.mpf(found) - truth) / truth)


def not_below(found: float, truth: object) -> bool:
    """Whether a float is at least the truth."""
    with mpmath.workdps(400):
        return bool(mpmath.mpf(found) >= truth)


def composed_delta(k: int, beta: float, times: int, epsilon: float, direction: str) -> float:
    """delta of `times` fresh-sample releases by multiplying the discrete pairs out; only for tiny cases."""
    m = range(400)
    law = [math.comb(i + k - 1, i) * beta**k * (1 - beta) ** i for i in m]
    first, second = law, [0.0, *law[:-1]]
    if direction == "add":
        first, second = second, first
    joint = [(1.0, 1.0)]
    for _ in range(times):
        merged: dict[float, tuple[float, float]] = {}
        for p, q in joint:
            for a, b in zip(first, second, strict=True):
                if p * a < 1e-13 and q * b < 1e-13:
                    continue
                key = math.inf if q * b == 0 else round(math.log(p * a / (q * b)), 12) if p * a > 0 else -math.inf
                old = merged.get(key, (0.0, 0.0))
                merged[key] = (old[0] + p * a, old[1] + q * b)
        joint = list(merged.values())
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in joint)
