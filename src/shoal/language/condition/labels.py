"""Labels of a hierarchy in conditions: `region@1 = 'North'` means the declared values under that label.

Only the policy is read. The values are given as a set of ranks, so that `age@2 = '[40, 50)'` and `age between 40 and 49`
are one condition with one text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import MISSING, IntervalLevel, TopLevel
from shoal.data.schema import Attribute
from shoal.data.type import DTYPES, Type
from shoal.errors import UsageError
from shoal.language.condition.parse import Token, TokenKind
from shoal.language.condition.ranks import ListedRanks, RankedDomain, may_be_missing, ranked_domain
from shoal.language.condition.sets import RankSet, Span, TextSet, ValueSet, merge_spans
from shoal.policy.text.problem import excerpt, nearest

PURPOSE = "filter by a level"
_KINDS = {Type.INTEGER: TokenKind.NUMBER, Type.DECIMAL: TokenKind.NUMBER, Type.BOOLEAN: TokenKind.TRUTH}


def check_level(attribute: Attribute, level: int) -> Hierarchy:
    """The hierarchy of an attribute that has this level; UsageError where it has none."""
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        raise UsageError(f"attribute '{attribute.name}' has no hierarchy", came=f"@{level}", fix="compare its values")
    if not 0 <= level < len(hierarchy):
        raise UsageError(
            f"attribute '{attribute.name}' has no such level", came=f"@{level}", allowed=f"@0 to @{len(hierarchy) - 1}"
        )
    return hierarchy


def values_under(attribute: Attribute, level: int, labels: Sequence[str]) -> ValueSet:
    """The declared values whose label at a level is one of these; a label that the level does not have is refused."""
    hierarchy = check_level(attribute, level)
    known = hierarchy.labels(level)
    if known is None:
        raise UsageError(
            f"attribute '{attribute.name}': the labels of level {level} cannot be listed", fix="compare its values"
        )
    for label in labels:
        if label not in known:
            missing = label == MISSING and may_be_missing(attribute)
            fix = f"write {attribute.name} is missing" if missing else nearest(label, known)
            listed = ", ".join(known[:8]) + (f", … ({len(known)} labels)" if len(known) > 8 else "")
            raise UsageError(
                f"attribute '{attribute.name}' has no such label at level {level}",
                came=excerpt(label),
                allowed=listed,
                fix=fix,
            )
    whole = isinstance(hierarchy.level(level), TopLevel)
    domain = ranked_domain(attribute, PURPOSE)
    if domain is None:
        if whole:
            return TextSet(attribute, may_be_missing(attribute), frozenset(), inside=False)
        raise UsageError(
            f"attribute '{attribute.name}': the values under a label of level {level} cannot be listed",
            fix="compare its values",
        )
    if whole:
        return RankSet(attribute, may_be_missing(attribute), domain, ((domain.low, domain.high),))
    return RankSet(attribute, False, domain, merge_spans(_spans(attribute, hierarchy, level, set(labels), domain)))


def _spans(
    attribute: Attribute, hierarchy: Hierarchy, level: int, labels: set[str], domain: RankedDomain
) -> Iterable[Span]:
    own = hierarchy.level(level)
    if isinstance(own, IntervalLevel) and not isinstance(domain, ListedRanks):
        edges = [
            -(-edge // 1) if attribute.type is Type.INTEGER else edge for edge in own.edges
        ]  # 17.5 is reached at 18
        ranks = domain.ranks_of(np.array(edges).astype(DTYPES[attribute.type])).tolist() if edges else []
        for label, low, high in zip(own.labels, [domain.low, *ranks], [*ranks, domain.high + 1], strict=True):
            span = max(low, domain.low), min(high - 1, domain.high)
            if label in labels and span[0] <= span[1]:
                yield span
        return
    for row in hierarchy.rows:
        if row[level] in labels:
            rank = _rank(attribute, domain, row[0])
            if rank is not None:
                yield rank, rank


def _rank(attribute: Attribute, domain: RankedDomain, value: str) -> int | None:
    """The rank of a value that a hierarchy lists; None for one beyond the declared domain."""
    kind = _KINDS.get(attribute.type, TokenKind.TIME if attribute.type.numeric else TokenKind.TEXT)
    try:
        return domain.rank_of(Token(kind, value, 1))
    except UsageError:
        return None


def label_sets(attribute: Attribute, label: str) -> list[ValueSet]:
    """The sets of values that a text stands for as a label of the levels above the values; those that differ, each once."""
    hierarchy = attribute.hierarchy
    found: list[ValueSet] = []
    for level in range(1, 0 if hierarchy is None else len(hierarchy)):
        known = hierarchy.labels(level) if hierarchy is not None else None
        if known is not None and label in known:
            one = values_under(attribute, level, [label])
            if one not in found:
                found.append(one)
    return found
