"""Every mechanism, method, partition and clustering says what it promises, what it requires and what it reads.

What counts is found by its base class or by what it can do, so a new one is held to this without being listed.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module

import pytest

from shoal.anonymize.cluster.clustering import METHODS
from shoal.anonymize.generalize.base import Partition
from shoal.guarantee.theorem import THEOREMS
from shoal.mechanism.base import Mechanism

ROOMS = ("shoal.anonymize.generalize", "shoal.anonymize.cluster", "shoal.anonymize.method", "shoal.mechanism")
LINES = ("Promise", "Requires", "Reads")
FIELD = re.compile(r"^(?P<name>[A-Z][a-z]+) {2,}(?P<body>\S.*)$")


def modules():
    for room in ROOMS:
        package = import_module(room)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{room}."):
            yield import_module(found.name)


def has_contract(kind: type) -> bool:
    """Whether a class is a mechanism, a partition, a method (it claims and runs) or a clustering (it makes clusters)."""
    if issubclass(kind, Mechanism | Partition):
        return kind not in (Mechanism, Partition)
    is_method = callable(getattr(kind, "claims", None)) and callable(getattr(kind, "run", None))
    return is_method or callable(getattr(kind, "clusters", None))


def things():
    """Each class that has a contract, and each function that is a method of clustering, once."""
    found = {}
    for module in modules():
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if (inspect.isclass(value) and has_contract(value)) or (inspect.isfunction(value) and name in METHODS):
                found[f"{module.__name__}.{name}"] = value
    return found


THINGS = things()


def lines(thing) -> dict[str, str]:
    """The lines of the contract in a docstring, each with the lines that continue it."""
    found: dict[str, str] = {}
    last = None
    for line in inspect.cleandoc(thing.__doc__ or "").splitlines():
        if match := FIELD.match(line):
            last = match["name"]
            found[last] = match["body"]
        elif line.startswith(" ") and last is not None:
            found[last] += " " + line.strip()
        else:
            last = None
    return found


def missing(thing) -> list[str]:
    return [name for name in LINES if len(lines(thing).get(name, "")) < 3]


@pytest.mark.parametrize("name", THINGS)
def test_promise_requires_and_reads_are_said(name):
    assert "__doc__" in vars(THINGS[name]) or inspect.isfunction(THINGS[name]), "the docstring is inherited"
    assert missing(THINGS[name]) == []


@pytest.mark.parametrize("name", THINGS)
def test_every_theorem_that_a_promise_names_is_proved(name):
    promise = lines(THINGS[name]).get("Promise", "")
    named = re.findall(r"theorems? `([a-z0-9-]+)`", promise)
    assert set(named) <= set(THEOREMS)


def test_each_kind_is_found():
    found = {name.rpartition(".")[2] for name in THINGS}
    assert found >= {
        "SafeK",
        "Microaggregation",
        "Swap",
        "FixedScheme",
        "PrivateScheme",
        "SafeTree",
        "Clustering",
        "Laplace",
    }
    assert set(METHODS) <= found


def test_a_class_without_the_lines_fails():
    class Silent(Partition):
        """A partition that says nothing of it."""

    class Brief:
        """A method.

        Promise   nothing at all.
        Requires  nothing either.
        """

        def claims(self) -> None: ...

        def run(self) -> None: ...

    assert has_contract(Silent)
    assert missing(Silent) == ["Promise", "Requires", "Reads"]
    assert has_contract(Brief)
    assert missing(Brief) == ["Reads"]
    assert not has_contract(dict)
