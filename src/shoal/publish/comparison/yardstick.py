"""Yardsticks of a comparison: differentially private synthetic data by MST and AIM, at the epsilon and delta of a policy.

Both are run as OpenDP has them, in a process of their own: this Python where the extra `synthesizers` is installed, or another
one. The table goes there as codes of the cells that the policy declares, and comes back as codes, for which values are drawn
inside their cells. What is read of the table is what Shoal's own method would read: at most `max_rows` rows of each person.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.tree.model import CellCounts
from shoal.anonymize.method.safe_k import bound_rows
from shoal.chance.source import Source
from shoal.data.cells import AttributeCells, cells_of
from shoal.data.schema import Schema
from shoal.datasets.cell_values import synthetic_columns
from shoal.engine.base import Table
from shoal.errors import DataError, ParameterError, UsageError
from shoal.files.work_folder import temporary_folder
from shoal.guarantee.centroids import largest_rho
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import text_up
from shoal.guarantee.unit import Unit
from shoal.publish.comparison import synthesizer_process
from shoal.publish.plan.base import Plan

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = {"mst": "MST", "aim": "AIM"}
"""The yardsticks that there are, and what they are called in a comparison."""
SECONDS = 1800
"""After so many seconds a yardstick is stopped, unless somebody says otherwise."""
MOST_CELLS = 128
"""An attribute goes to a yardstick in no more cells than this, where its hierarchy has a level of so few labels."""
INSTALL = '`pip install "shoal[synthesizers]"`, or name a Python that has `opendp[mbi]` (--yardstick-python)'
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "PYTHONSAFEPATH": "1",
}
"""So that CPU seconds compare with those of methods that use one thread."""


@dataclass(frozen=True)
class Yardsticks:
    """Which yardsticks are run, by which Python, and how long each may take.

    Raises     UsageError for a yardstick that is none, or a Python that is not there or lacks a library; ParameterError for no
               time.
    """

    kinds: tuple[str, ...]
    python: str | None = None
    """The Python that has the libraries; None for this one."""
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown or len(set(self.kinds)) < len(self.kinds):
            raise UsageError(
                "not a list of yardsticks", came=", ".join(self.kinds), allowed=f"{', '.join(KINDS)}, each once"
            )
        if not self.seconds > 0:
            raise ParameterError("a yardstick needs time", came=self.seconds, allowed="seconds above 0")
        _ = self.version  # a library that is missing is told before a table is read

    @property
    def version(self) -> str:
        """The version of OpenDP that runs them."""
        try:
            done = subprocess.run(  # noqa: S603 - the Python that was named, and a file of this package
                self._command("check"), check=True, capture_output=True, text=True, env=self._environment
            )
            found = json.loads(done.stdout)
        except (OSError, subprocess.CalledProcessError, ValueError):
            raise UsageError(
                "the Python of the yardsticks cannot be run",
                came=self.python or sys.executable,
                allowed="the path of a Python",
            ) from None
        lacking = [name for name, version in found.items() if version is None]
        if lacking:
            raise UsageError(
                "MST and AIM need libraries that are not installed", came=f"no {', '.join(lacking)}", fix=INSTALL
            )
        return str(found["opendp"])

    def _command(self, word: str) -> list[str]:
        return [self.python or sys.executable, "-W", "ignore", synthesizer_process.__file__, word]

    @property
    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        # A stand-in or an installation beside this one is found where this Python finds it.
        paths = {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
        return {**kept, **ONE_THREAD, **(paths if self.python is None else {})}

    def run(self, kind: str, target: YardstickTarget, table: Table, source: Source) -> tuple[pa.Table, float]:
        """Synthetic rows in place of a table, and the CPU seconds that they took.

        Raises     PolicyError where a domain is not declared; DataError where it fails, or is not finished in time.
        """
        cells = [cells_of(attribute, most=MOST_CELLS) for attribute in table.schema.published]
        with source.stream("bound") as chance:
            bounded = bound_rows(table, target.unit, chance.row_mask(1).words, "noisy-tables", lambda _: None)
        codes = encode(bounded, cells)
        with temporary_folder("a yardstick") as place:
            job = {
                "kind": kind, "table": str(place / "table.csv"), "output": str(place / "drawn.csv"), "rho": target.rho,
                "domains": {f"c{number}": len(each) for number, each in enumerate(cells)}, "contributions": target.contributions,
            }  # fmt: skip
            _write(Path(place / "table.csv"), codes)
            (place / "job.json").write_text(json.dumps(job), encoding="utf-8")
            spent = self._wait(kind, place / "job.json")
            drawn = _read(place / "drawn.csv", len(cells))
        with source.stream("values") as chance:
            return synthetic_columns(cells, drawn, chance), spent

    def _wait(self, kind: str, job: Path) -> float:
        """CPU seconds of the process, which ends with this call whatever happens."""
        with subprocess.Popen(  # noqa: S603 - as above
            self._command(str(job)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self._environment
        ) as process:
            try:
                said, wrong = process.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                raise DataError(f"not finished within {self.seconds:,.10g} s") from None
            finally:
                process.kill()
        if process.returncode:
            # The kind of the error alone: what follows it may quote a code of the table.
            last = (wrong.strip().splitlines() or ["no word"])[-1].partition(":")[0]
            raise DataError(f"{KINDS[kind]} of OpenDP failed", came=last[:80])
        return float(json.loads(said.strip().splitlines()[-1])["cpu"])


@dataclass(frozen=True)
class YardstickTarget:
    """The promise at which yardsticks are run: that of some policies of a comparison."""

    epsilon: Fraction
    delta: Fraction
    unit: Unit
    schema: Schema = field(compare=False, repr=False)
    """How the table is read: as the first policy with this promise reads it."""

    @property
    def rho(self) -> float:
        """The largest rho of zero-concentrated privacy that gives the promise."""
        return float(largest_rho(self.epsilon, self.delta))

    @property
    def contributions(self) -> int:
        """By how many rows neighbouring tables differ at most; a row that is replaced goes and comes."""
        return self.unit.max_rows * (2 if self.unit.neighbours == "replace_one" else 1)

    @property
    def words(self) -> str:
        """The promise in few words."""
        return f"({text_up(self.epsilon)}, {text_up(self.delta)})-DP of {self.unit.words()}"


def yardstick_targets(plans: Sequence[Plan]) -> list[YardstickTarget]:
    """The different promises of some plans at which yardsticks can be run.

    Raises     UsageError where no plan has a differential promise with a delta.
    """
    found: list[YardstickTarget] = []
    for plan in plans:
        guarantee = plan.claims[0].guarantee
        own = guarantee.own if isinstance(guarantee, DifferentialPrivacy) and plan.cost is not None else None
        if own is not None and own[1] > 0:
            found.append(YardstickTarget(Fraction(own[0]), Fraction(own[1]), plan.unit, plan.schema))
    if not found:
        raise UsageError(
            "MST and AIM are run at the epsilon and delta of a policy, and no policy has both",
            allowed="a policy with a differential promise and a delta above 0",
        )
    return list(dict.fromkeys(found))


def encode(table: Table, cells: Sequence[AttributeCells]) -> npt.NDArray[np.int64]:
    """A row of cell numbers for each record, in no order that tells anything of it.

    Raises     DomainError for a value in no cell.
    """
    counted = table.recode({each.name: each.level for each in cells}).count_by([each.name for each in cells])
    found = CellCounts.of(counted, cells)
    return np.repeat(np.stack([own.astype(np.int64) for own in found.cells], axis=1), found.counts, axis=0)


def _write(path: Path, codes: npt.NDArray[np.int64]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"c{number}" for number in range(codes.shape[1])])
        writer.writerows(codes.tolist())


def _read(path: Path, width: int) -> npt.NDArray[np.int64]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return np.array(rows, dtype=np.int64).reshape(-1, width)
