"""The policy file that a command is given: read and planned, while a terminal shows which of both."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli.terminal import progress
from shoal.errors import NextCommand, UsageError

if TYPE_CHECKING:
    from shoal.policy.policy import Policy
    from shoal.publish.plan.base import Plan


def refuse_exchanged(policy: Path, data: Path | str) -> None:
    """Raise UsageError where the endings say that policy and table were given in the wrong order; nothing is read."""
    endings = {".yaml", ".yml"}
    if Path(data).suffix.lower() in endings and policy.suffix.lower() not in endings:
        raise UsageError(
            "the table stands where the policy belongs",
            came=f"{policy}, then {data}",
            allowed="the policy, then the table",
            fix="exchange the two",
            step=NextCommand(swap=(str(policy), str(data))),
        )


def load_policy(path: Path) -> Policy:
    """Read a policy with its hierarchy files; large ones take seconds."""
    from shoal.policy.policy import Policy

    with progress.spinner("reading the policy"):
        return Policy.load(path)


def words_of_kept_files(policy: Policy, path: Path) -> str | None:
    """That files of hierarchies stay with the custodian, and what follows; None where none does."""
    profiled = policy.profiled_keys()
    names = [name for name in policy.hashes if f"attributes.{name}.hierarchy" in profiled]
    if not names:
        return None
    return (
        f"The groups of {', '.join(names)} were drafted from the table into a file, and nobody has confirmed them: the file "
        "stays with you, and whoever verifies the release reads NOT VERIFIED beside what those labels mean. Confirm them first: "
        f"shoal policy confirm {shlex.quote(str(path))}"
    )


def load_plan(path: Path) -> Plan:
    """Read a policy, and plan the release that it asks for."""
    from shoal.publish.plan.methods import plan

    asked = load_policy(path)
    with progress.spinner("planning"):
        return plan(asked)
