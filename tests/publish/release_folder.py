"""What tests ask of the folder of a release: its certificate, forged or honest, its account, and what verifiers say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.ledger.ledger import Ledger
from shoal.ledger.state import Account
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify


def account(folder: Path) -> Account:
    """Where the clinic stands in the ledger that lies beside its releases."""
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        return ledger.account("clinic")


def certificate(folder: Path) -> dict[str, Any]:
    """The certificate of a release."""
    content: dict[str, Any] = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    return content


def forge(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the certificate and seal it again."""
    content = certificate(folder)
    change(content)
    content["files"] = {name: verifier.sha256(folder / name) for name in content["files"] if (folder / name).is_file()}
    content["seal"] = verifier.seal(content)
    (folder / "certificate.json").write_text(json.dumps(content), encoding="utf-8")


def failures(folder: Path) -> set[str]:
    """The ids of the checks that do not agree."""
    return {check.id for check in verify(folder) if check.agrees is False}


def alone(folder: Path) -> int:
    """The exit code of the one-file verifier in a Python that cannot see the package."""
    command = [sys.executable, "-I", verifier.__file__, str(folder)]
    return subprocess.run(command, check=False, capture_output=True, text=True).returncode
