"""l and t of the groups that a table does not show, counted before it is published by code that the methods do not share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.anonymize.cluster.clustering import unused_name
from shoal.anonymize.method.microaggregation import ALL, MaskedMicrodata
from shoal.assess.disclosure.measures import observe
from shoal.assess.disclosure.report import Confidential
from shoal.data.domain import Values
from shoal.data.schema import Attribute, Role, Schema, Type
from shoal.engine.base import Table
from shoal.errors import DataError, VerificationError
from shoal.publish.plan.counted import SyntacticPlan

TOLERANCE = 1e-9
"""The arithmetic of a distance."""


def hidden_groups(plan: SyntacticPlan, masked: MaskedMicrodata) -> list[Confidential]:
    """What the groups that are not published show of each confidential attribute: its l and its t."""
    confidential = [without_hierarchy(one) for one in plan.policy.schema.confidential]
    column = unused_name(masked.original, "group")
    cluster = Attribute(column, Role.QUASI, Type.INTEGER)
    found: list[Confidential] = []
    for name, labels in masked.groups.items():
        numbered = masked.original.attach(column, labels.astype(np.int64))
        found += observe_classes(numbered, (cluster, *(one for one in confidential if name in (ALL, one.name))))
    return found


def refuse_alike(plan: SyntacticPlan, masked: MaskedMicrodata) -> None:
    """A CSV file writes an empty text and a missing one alike, and then groups would show fewer values than were counted."""
    if plan.method.clustering.requirement.nothing or plan.format != "csv":
        return
    texts = [
        one.name for one in plan.policy.schema.confidential if one.type in (Type.TEXT, Type.CATEGORY, Type.ORDINAL)
    ]
    held = masked.original.collect(texts) if texts else {}
    for name, values in held.items():
        gone = np.ma.getmaskarray(values)
        if gone.any() and (np.ma.getdata(values)[~gone] == "").any():
            raise DataError(
                f"attribute '{name}' has empty and missing values, which a CSV file writes alike",
                came="output: csv, with l or t",
                fix="set output: parquet",
            )


def recount(plan: SyntacticPlan, masked: MaskedMicrodata) -> None:
    """VerificationError where the hidden groups of a swap do not have the l and t that are promised."""
    wanted = plan.method.clustering.requirement
    if wanted.nothing or plan.shows_classes:
        return
    for one in hidden_groups(plan, masked):
        few = wanted.l is not None and one.measures.l < wanted.l
        far = wanted.t is not None and distance_of(one) > float(wanted.t) + TOLERANCE
        if few or far:
            raise VerificationError(
                f"the groups of '{one.name}' do not have what is promised of them",
                came=f"l = {one.measures.l}, t = {distance_of(one):.4g}",
                fix="this is a fault of ours: please report it",
            )


def distance_of(one: Confidential) -> float:
    """The largest earth mover's distance: along the order where values have one, else with any two values 1 apart."""
    along = one.measures.t_ordered
    return one.measures.t_equal if along is None else along


def observe_classes(table: Table, attributes: Sequence[Attribute]) -> tuple[Confidential, ...]:
    """What classes of equal quasi-identifiers show of the confidential attributes among these."""
    return observe(table.count_by([one.name for one in attributes]), Schema(tuple(attributes))).confidential


def without_hierarchy(one: Attribute) -> Attribute:
    """An attribute without its hierarchy: t is along its order or between equals, as it is promised."""
    return Attribute(one.name, one.role, one.type, one.domain if isinstance(one.domain, Values) else None)
