"""Versions of Python and of what Shoal needs, each imported for real, and every module of Shoal itself."""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib import import_module, metadata

from shoal.cli.doctor.diagnosis import Diagnosis, fine, note, wrong

PART = "software"
MODULES = {
    "pyarrow": ("pyarrow", "pyarrow.csv", "pyarrow.parquet", "pyarrow.dataset"),
    "matplotlib": (
        "shoal.page",  # keeps it from making a home that is missing
        "matplotlib",
        "matplotlib.figure",
        "matplotlib.backends.backend_agg",
        "matplotlib.backends.backend_svg",
    ),
    "ruamel-yaml": ("ruamel.yaml",),
    "scikit-learn": ("sklearn.ensemble", "sklearn.linear_model"),
    "scipy": ("scipy.special", "scipy.optimize"),
    "sqlalchemy": ("sqlalchemy", "sqlalchemy.dialects.sqlite"),
}
"""What is imported of a library whose name alone loads little; of the others, the module of their name."""
_SPECIFIER = re.compile(r"(>=|<=|==|!=|<|>)\s*([0-9]+(?:\.[0-9]+)*)")
_COMPARE = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}


def look() -> Iterator[Diagnosis]:
    """Look at Python, at each library, and at our own modules."""
    try:
        about = metadata.metadata("shoal")
        declared = [line for line in metadata.requires("shoal") or [] if "extra ==" not in line]
    except metadata.PackageNotFoundError:
        yield note(
            PART, "Shoal is run from its source and is not installed", "install it, so that versions can be checked"
        )
        return
    own = ".".join(map(str, sys.version_info[:3]))
    needed = about["Requires-Python"] or ""
    if fits(own, needed):
        yield fine(PART, f"Python {own}, Shoal {about['Version']}")
    else:
        yield wrong(PART, f"Python {own} is not one that Shoal runs on", f"use Python {needed}")
    found = [_library(line) for line in declared]
    yield from (each for each in found if isinstance(each, Diagnosis))
    good = [each for each in found if isinstance(each, str)]
    yield fine(PART, f"{len(good)} libraries are there and can be imported: {', '.join(good)}")
    yield from _own_modules()


def fits(version: str, specifiers: str) -> bool:
    """Whether a version lies in a range such as `>=8.1,<9`; letters after the numbers are not compared."""
    own = _numbers(version)
    return all(_COMPARE[sign](*_padded(own, _numbers(limit))) for sign, limit in _SPECIFIER.findall(specifiers))


def _numbers(version: str) -> tuple[int, ...]:
    leading = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    return tuple(int(part) for part in leading.group().split(".")) if leading else ()


def _padded(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    longest = max(len(first), len(second))
    return first + (0,) * (longest - len(first)), second + (0,) * (longest - len(second))


def _library(line: str) -> Diagnosis | str:
    """A library that is missing, too old or broken; or its name and version."""
    matched = re.match(r"[A-Za-z0-9._-]+", line)
    name = matched.group() if matched else line
    range_ = line[len(name) :].partition(";")[0].strip()
    install = f'install it: python -m pip install "{name}{range_}"'
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return wrong(PART, f"{name} is not installed", install)
    if not fits(version, range_):
        return wrong(PART, f"{name} {version} does not lie in the range {range_}", install)
    for module in MODULES.get(name.lower().replace(".", "-"), (name.replace("-", "_"),)):
        failure = _import(module)
        if failure is not None:
            return wrong(PART, f"{name} {version} is broken: {module} cannot be imported ({failure})", f"re{install}")
    return f"{name} {version}"


def _own_modules() -> Iterator[Diagnosis]:
    """Import every module of ours: most are imported only when a command needs them."""
    import shoal

    names = [found.name for found in pkgutil.walk_packages(shoal.__path__, "shoal.", onerror=lambda _: None)]
    broken = [(name, failure) for name in names if not name.endswith("__main__") and (failure := _import(name))]
    for name, failure in broken[:5]:
        yield wrong(PART, f"a part of Shoal cannot be imported: {name} ({failure})", "install Shoal anew")
    if not broken:
        yield fine(PART, f"all {len(names)} modules of Shoal can be imported")


def _import(module: str) -> str | None:
    """The kind of the error that importing a module raises; None where it can be imported."""
    try:
        import_module(module)
    except Exception as error:  # noqa: BLE001 - a broken installation can raise anything
        return type(error).__name__
    return None
