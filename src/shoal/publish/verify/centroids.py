"""Make the certificate of noisy centroids or of boxes again, from its locked plan and the noise that it states.

Every published value is looked at.

Claims, sentences, theorems and what the files are called follow from the lock. Where the policy leaves k and the kind of noise to
the program, both are taken from the certificate with the noise itself, and put together to a plan, which refuses noise that does
not keep its promise; so a better rule never makes a folder fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from shoal.anonymize.cluster.lattice import ConceptLattice, NumberLattice
from shoal.anonymize.method.box_microaggregation import BoxMicroaggregation
from shoal.anonymize.method.dp_microaggregation import DPMicroaggregation
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.engine.write import table_files
from shoal.errors import PreconditionError
from shoal.guarantee.centroids import CentroidAttribute, CentroidEntry
from shoal.guarantee.rounding import exact
from shoal.policy.policy import Policy
from shoal.publish.certificate.boxes import certificate as make_boxes_certificate
from shoal.publish.certificate.centroids import certificate as make_certificate
from shoal.publish.certificate.model import BoxesCertificate, CentroidNoiseEntry, CentroidsCertificate, ClustersEntry
from shoal.publish.plan.boxes import BoxesPlan
from shoal.publish.plan.centroids import CONCEPT, CentroidsPlan, total_of
from shoal.publish.verify.compare import compare
from shoal.publish.verify.counted import read_published
from shoal.publish.verify.rebuild import account_as_told, in_published_order
from shoal.publish.verify.standalone import Check


def centroids_checks(folder: Path, policy: Policy, certificate: CentroidsCertificate) -> list[Check]:
    """The certificate against the one that its locked plan makes with its numbers, and every table read and looked at."""
    plan = plan_with_numbers(in_published_order(policy, certificate.tables), certificate)
    account, is_composed = account_as_told(plan, plan.cost, certificate.ledger)
    wanted = make_certificate(plan, certificate.files, account, certificate.date)
    open_ = Check("ledger-composed", None, "for information; there are too many different charges to compose here")
    return [
        *compare(certificate, wanted),
        *([] if is_composed else [open_]),
        *_table_checks(folder, plan, certificate),
    ]


# --- the plan ---------------------------------------------------------------------------------------------------------


def plan_with_numbers(policy: Policy, certificate: CentroidsCertificate) -> CentroidsPlan:
    """The plan of a lock with the numbers of a certificate; PreconditionError where they do not keep the promise."""
    locked, told = CentroidsPlan.of(policy), certificate.clusters
    own = locked.setting
    if (told.k != own.k and not own.k_found) or (told.noise != own.noise and not own.noise_found):
        raise PreconditionError(own.cluster_theorem, "another k or another kind of noise than the locked plan names")
    numbers = {entry.name: entry for entry in certificate.attributes}
    attributes = [entry.attribute for entry in own.entries]
    if set(numbers) != {each.name for each in attributes}:
        raise PreconditionError(own.cluster_theorem, "noise of other attributes than the locked plan publishes")
    setting = replace(
        own,
        k=told.k,
        noise=told.noise,
        entries=tuple(_entry(own.cluster_theorem, told, each, numbers[each.name]) for each in attributes),
    )
    return CentroidsPlan(policy, DPMicroaggregation(setting, locked.method.lattices), total_of(setting), locked.format)


def _entry(theorem: str, told: ClustersEntry, attribute: CentroidAttribute, noise: CentroidNoiseEntry) -> CentroidEntry:
    """The noise of one attribute as it is told; a setting refuses it where it is too little for what it is said to cost."""

    def number(text: str | None) -> Fraction | None:
        return None if text is None else exact(text)

    numbers = (noise.epsilon, noise.rho, noise.scale, noise.sigma, noise.choice_epsilon)
    epsilon, rho, scale, sigma, choice = map(number, numbers)
    given = (scale is not None, noise.side is not None, sigma is not None, choice is not None)
    kinds = {"laplace": 0, "optimal": 1, "gaussian": 2}
    wanted = 3 if attribute.kind == "categorical" else kinds[told.noise]
    concentrated = told.noise == "gaussian"
    if given != tuple(place == wanted for place in range(4)) or (epsilon is None, rho is None) != (
        concentrated,
        not concentrated,
    ):
        raise PreconditionError(theorem, "noise of another kind than the clusters have")
    return CentroidEntry(attribute, epsilon, rho, scale, noise.side, sigma, choice)


# --- the tables -------------------------------------------------------------------------------------------------------


def _table_checks(folder: Path, plan: CentroidsPlan, certificate: CentroidsCertificate) -> Iterator[Check]:
    """Every published table: its values are centroids that the plan can make, in its number of rows, in clusters of k."""
    for file, columns in zip(plan.files, plan.groups, strict=True):
        if table_files(certificate.files, file)[0] not in certificate.files:
            yield Check("file-list", False, "a table is missing", promise=True, about=file)
            continue
        shown = Schema(tuple(plan.displayed[name] for name in columns))
        read, checks = read_published(folder, file, shown, certificate.files)
        yield from checks
        if read is None:
            continue
        yield from (_value_check(read, plan, name) for name in columns)
        yield from _size_checks(read, plan, file, columns)


def _value_check(read: Table, plan: CentroidsPlan, name: str) -> Check:
    """Whether a column shows nothing but what a centroid can be: points of its grid, its values, or concepts of its tree."""
    lattice, values = plan.lattice(name), read.collect([name])[name]
    if np.ma.getmaskarray(values).any():
        return Check("labels", False, "a centroid is missing", promise=True, about=name)
    if isinstance(lattice, NumberLattice):
        held = np.ma.getdata(values)
        again = lattice.shown(lattice.codes(values))
        return Check("labels", bool((again == held).all()), "points of its grid", promise=True, about=name)
    if not isinstance(lattice, ConceptLattice) or plan.shows[name] != CONCEPT:
        return Check("labels", True, "values of its domain", promise=True, about=name)
    shown = set(np.ma.getdata(values).tolist())
    return Check("labels", shown <= set(lattice.candidates), "concepts of its hierarchy", promise=True, about=name)


def _size_checks(read: Table, plan: CentroidsPlan, file: str, columns: tuple[str, ...]) -> Iterator[Check]:
    """How many rows there are, and whether equal rows can be whole clusters: multiples of k, but where the last one is."""
    setting = plan.setting
    rows, left = read.rows(), setting.rows % setting.k
    detail = f"{rows:,}, as the locked plan says"
    yield Check("row-count", rows == setting.rows, detail, promise=True, about=file)
    sizes = read.class_sizes(list(columns))
    odd = {size: many for size, many in sizes.items() if size % setting.k}
    whole = not odd if not left else all(many == 1 and size % setting.k == left for size, many in odd.items())
    fits = whole and len(odd) <= 1 and all(size >= setting.k for size in sizes) and (bool(odd) == bool(left))
    yield Check("class-size", fits, f"equal rows are whole clusters of {setting.k:,}", promise=True, about=file)


# --- rows inside boxes ------------------------------------------------------------------------------------------------


def boxes_checks(folder: Path, policy: Policy, certificate: BoxesCertificate) -> list[Check]:
    """The certificate against the one that its locked plan makes with its numbers, and the table read and looked at."""
    plan = boxes_plan_with_numbers(in_published_order(policy, certificate.tables), certificate)
    account, is_composed = account_as_told(plan, plan.cost, certificate.ledger)
    rows = certificate.tables[0].rows
    wanted = make_boxes_certificate(plan, certificate.files, account, certificate.date, rows=rows)
    open_ = Check("ledger-composed", None, "for information; there are too many different charges to compose here")
    return [
        *compare(certificate, wanted),
        *([] if is_composed else [open_]),
        *_box_table_checks(folder, plan, certificate),
    ]


def boxes_plan_with_numbers(policy: Policy, certificate: BoxesCertificate) -> BoxesPlan:
    """The plan of a lock with the noise of a certificate; PreconditionError where that does not keep the promise."""
    locked, told = BoxesPlan.of(policy), certificate.boxes
    own, means = locked.setting, told.means
    if (means.numbers, means.side, means.inner) != (own.numbers, own.side, own.inner):
        raise PreconditionError(
            "box-means", "other numbers of a box, or other steps of noise, than the locked plan has"
        )
    if (None if told.values is None else told.values.attributes) != (tuple(each.name for each in own.counted) or None):
        raise PreconditionError("box-means", "histograms of other attributes than the locked plan has")
    setting = replace(
        own,
        scale=exact(told.tree.scale),
        bias=told.tree.bias,
        threshold=told.tree.threshold,
        tree_epsilon=exact(told.tree.epsilon),
        value_epsilon=None if told.values is None else exact(told.values.epsilon),
        mean_epsilon=exact(means.epsilon),
    )
    return replace(locked, method=BoxMicroaggregation(setting, locked.method.lattices))


def _box_table_checks(folder: Path, plan: BoxesPlan, certificate: BoxesCertificate) -> Iterator[Check]:
    """The published table: values of the declared domains and their grids, as many rows as are stated."""
    (file,) = plan.files
    if table_files(certificate.files, file)[0] not in certificate.files:
        yield Check("file-list", False, "the table is missing", promise=True, about=file)
        return
    read, checks = read_published(folder, file, plan.displayed, certificate.files)
    yield from checks
    if read is None:
        return
    for own in plan.method.lattices:
        values = read.collect([own.name])[own.name]
        whole = not np.ma.getmaskarray(values).any()
        if whole and isinstance(own, NumberLattice):
            whole = bool((own.shown(own.codes(values)) == np.ma.getdata(values)).all())
        yield Check("labels", whole, "values of the declared domain, on its grid", promise=True, about=own.name)
    stated = certificate.tables[0].rows
    yield Check("row-count", read.rows() == stated, f"{stated:,}, as it is stated", promise=True, about=file)
