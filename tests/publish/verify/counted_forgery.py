"""What a forger does: change a folder, hash its files again, and seal it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateError
from pydantic import ValidationError

from shoal.publish.certificate.model import CountedCertificate
from shoal.publish.certificate.page import certificate_page
from shoal.publish.certificate.seal import page_hash
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish.counted_clinic import publish

Change = Callable[[Path, dict[str, Any]], object]
Forger = Callable[[str, Change], Path]
KINDS = {
    "micro-csv": ("microaggregation", "csv"),
    "micro-parquet": ("microaggregation", "parquet"),
    "swap-csv": ("swap", "csv"),
    "swap-parquet": ("swap", "parquet"),
}


def failed(place: Path) -> set[str]:
    """The ids of the checks of `shoal verify` that fail."""
    return {check.id for check in verify(place) if check.agrees is False}


def alone(place: Path) -> int:
    """The exit code of the one-file verifier."""
    return verifier.main([str(place)])


def resealed(place: Path, content: dict[str, Any]) -> Path:
    """The folder with the hashes of its files, a new seal, and the page that says what the certificate says."""
    for name in content["files"]:
        if (place / name).is_file():
            content["files"][name] = hashlib.sha256((place / name).read_bytes()).hexdigest()
    content["plan_sha256"] = content["files"].get("policy.lock.yaml", content["plan_sha256"])
    with suppress(ValidationError, TemplateError, KeyError, IndexError, TypeError):
        content["wording"]["text_sha256"] = verifier.text_hash(content)
        content["wording"]["page_sha256"] = page_hash(CountedCertificate.read(content))
    content["seal"] = verifier.seal(content)
    (place / "certificate.json").write_text(json.dumps(content))
    with suppress(ValidationError, TemplateError, KeyError, IndexError, TypeError):
        (place / "certificate.html").write_text(certificate_page(CountedCertificate.read(content)))
    return place


@pytest.fixture(scope="module")
def forger(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    """A folder of some kind after a change, sealed again; honest folders are made when first asked for."""
    folder = tmp_path_factory.mktemp("forged")
    made: dict[str, Path] = {}

    def forge(kind: str, change: Change) -> Path:
        if kind not in made:
            which, output = KINDS[kind]
            table = folder / "table.csv" if made else None
            options = {"name": kind, "rows": 60, "table": table, "report": False}
            made[kind] = publish(folder, which, {"release.output": output}, **options).folder
        place = folder / "forged" / kind
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(made[kind], place)
        content = json.loads((place / "certificate.json").read_text())
        change(place, content)
        return resealed(place, content)

    return forge
