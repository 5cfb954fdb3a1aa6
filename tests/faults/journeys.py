"""What is killed, starved and raced: releases of each kind, a forced replacement, a question, a share, a new ledger."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from shoal.policy.policy import Policy
from tests.faults.server import Done, Server

FORENAME = "Bartholomew"
"""Part of every name in the original table; names are never published, so it may be nowhere else."""
POLICY = """
version: 1
dataset: clinic
unit: row
neighbours: add_remove
attributes:
  patient: {role: identifier, type: text}
  age:  {role: quasi, type: integer, domain: [0, 99], hierarchy: {intervals: [50]}}
  sex:  {role: quasi, type: category, domain: [f, m]}
  diag: {role: confidential, type: category, domain: [flu, cold, rare], hierarchy: {groups: {common: [flu, cold], other: [rare]}}}
release:
  method: safe-k
  epsilon: 1
  delta: 1e-3
  recoding: {levels: {age: 1, diag: 1}}
  sampling: {beta: 0.5}
  output: csv
budget: {epsilon: 30, delta: 0.1}
"""
COUNTED = POLICY.partition("release:")[0] + "release: {method: microaggregation, k: 5, output: csv}\n"
ROWS = 200
LEDGER = "ledger.sqlite"
GIVEN = frozenset({"policy.yaml", "table.csv", LEDGER, "tmp", "home", "other.csv"})
"""What lies in a place before anything happens."""


@dataclass(frozen=True)
class Place:
    """A folder with a policy, a table, a ledger, a home and a folder for temporary files, and who acts there."""

    folder: Path
    server: Server

    def run(self, *command: object, **options: object) -> Done:
        """Run a command there."""
        return self.server.run(command, self.folder, env=self.environment(), **options)

    def race(self, *commands: tuple[object, ...]) -> list[Done]:
        """Run commands that start together."""
        return self.server.race(commands, self.folder, env=self.environment())

    def environment(self, **changes: str | None) -> dict[str, str | None]:
        """Nothing of the user who runs the tests is read or written."""
        home = str(self.folder / "home")
        unset = dict.fromkeys(("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR", "SHOAL_DEBUG"))
        return {**unset, "HOME": home, "TMPDIR": str(self.folder / "tmp"), "SHOAL_LEDGER": None, **changes}

    def copy(self, folder: Path) -> Place:
        """The same place elsewhere."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Place(folder, self.server)

    @property
    def out(self) -> Path:
        """Where releases go."""
        return self.folder / "out"


@dataclass(frozen=True)
class Journey:
    """A command, what was there before, and the commands that may come next: on the same target, on the same ledger."""

    name: str
    command: tuple[str, ...]
    target: str
    charges: int = 0
    """Charges of a run that ends well."""
    policy: str = POLICY
    changes: dict[str, object] | None = None
    before: tuple[tuple[str, ...], ...] = ()
    after: tuple[str, ...] = ()
    """The next command on the same target; the same command again where it is empty."""
    replaces: bool = False
    """Whether something whole is at the target before, and so at every moment."""

    def prepare(self, folder: Path, server: Server) -> Place:
        """Make the place, and what was there before."""
        place = furnish(folder, server, self.policy, self.changes)
        if "--new-ledger" in self.command:
            (folder / LEDGER).unlink()
        for command in self.before:
            done = place.run(*command)
            assert done.status == 0, done.said
        return place

    @property
    def following(self) -> tuple[str, ...]:
        """What the next command may be about."""
        return ("target", "ledger") if "--ledger" in self.command else ("target",)

    @property
    def is_charged(self) -> bool:
        """Whether what is released has a price."""
        return self.policy is POLICY

    @property
    def next_on_target(self) -> tuple[str, ...]:
        """What is tried next on the same target."""
        return self.after or self.command


def furnish(folder: Path, server: Server, policy: str = POLICY, changes: dict[str, object] | None = None) -> Place:
    """A policy, a table of made-up people and an empty ledger."""
    from shoal.ledger.ledger import Ledger

    folder.mkdir()
    for name in ("tmp", "home"):
        (folder / name).mkdir(mode=0o700)
    read = Policy.parse(policy)
    (folder / "policy.yaml").write_text((read.with_changes(changes) if changes else read).dump(), encoding="utf-8")
    write_table(folder / "table.csv")
    Ledger(str(folder / LEDGER)).close()
    return Place(folder, server)


def write_table(path: Path, rows: int = ROWS, seed: int = 1) -> Path:
    """A CSV of made-up patients, readable by its owner alone."""
    chance = random.Random(seed)  # noqa: S311 - made-up patients
    lines = ["patient,age,sex,diag"]
    for number in range(rows):
        diag = "rare" if chance.random() < 0.01 else chance.choice(["flu", "cold"])
        lines.append(f"{FORENAME} {number},{chance.randrange(100)},{chance.choice('fm')},{diag}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def release(*more: str, out: str = "out", table: str = "table.csv") -> tuple[str, ...]:
    """The command line of a release."""
    return ("release", "policy.yaml", table, "--out", out, "--ledger", LEDGER, *more)


_REGISTER = ("dataset", "register", "policy.yaml", "table.csv", "--ledger", LEDGER)
ASK = ("ask", "clinic", "count", "age >= 50", "--epsilon", "0.1", "--ledger", LEDGER)
_TREE: dict[str, object] = {"release.recoding": {"tree": {"epsilon": "0.3"}}}


def _method(**release: object) -> dict[str, object]:
    """Another method in the place of the policy's own."""
    return {"release": {"output": "csv", **release}}


_COUNTS = _method(method="safe-k", epsilon="1", delta="1e-3", views={"show": "counts", "every": "singles"})
_SYNTHETIC = _method(method="synthetic", epsilon="1", delta="1e-3", views={"every": "singles"}, synthetic={"rows": 50})
_TREATED: dict[str, object] = {"treatments": [{"round": {"age": 10}}]}

JOURNEYS = {
    journey.name: journey
    for journey in (
        Journey("fixed levels", release(), "out", charges=1),
        Journey("grown tree", release("--no-report"), "out", charges=1, changes=_TREE),
        Journey("views", release("--no-report"), "out", charges=1, changes={"release.views": "pairs"}),
        Journey("treated", release("--no-report"), "out", charges=1, changes=_TREATED),
        Journey("noisy counts", release("--no-report"), "out", charges=1, changes=_COUNTS),
        Journey("synthetic", release("--no-report"), "out", charges=1, changes=_SYNTHETIC),
        Journey("microaggregation", release("--no-report"), "out", policy=COUNTED),
        *(
            Journey(changes["release"]["method"], release("--no-report"), "out", policy=COUNTED, changes=changes)
            for changes in (
                _method(method="k-anonymity", k=3, suppression="0.1", recoding={"levels": {"age": 1, "sex": 0}}),
                _method(method="t-closeness", t=3, k=20),
                _method(method="anatomy", grouping="confidential", k=10),
                _method(method="sample", epsilon="0.5", delta="0.01", recoding={"levels": {"age": 1}}, rare="drop")
                | {"neighbours": "replace_one"},
            )
        ),
        Journey(
            "forced replacement",
            release("--force", "--again", "--no-report"),
            "out",
            charges=1,
            before=(release(),),
            after=release(),
            replaces=True,
        ),
        Journey("question", ASK, "", charges=1, before=(_REGISTER,)),
        Journey("share", ("share", "out"), "out.zip", before=(release("--no-report"),)),
        Journey(
            "forced share",
            ("share", "out", "--force"),
            "out.zip",
            before=(release("--no-report"), ("share", "out")),
            replaces=True,
        ),
        Journey("new ledger", (*_REGISTER, "--new-ledger"), "", after=_REGISTER),
        Journey(
            "first release with a new ledger",
            release("--new-ledger", "--no-report"),
            "out",
            charges=1,
            after=release("--no-report"),
        ),
    )
}
"""By name."""

NEXT_ON_LEDGER: tuple[str, ...] = ("ledger", "show", "--ledger", LEDGER)
