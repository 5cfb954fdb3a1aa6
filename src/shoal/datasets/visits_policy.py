"""What the generated visits mean: their policy with its hierarchies, from the same lists that the visits are drawn from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from shoal.datasets import hospital
from shoal.page import files

WHOLE = "*"


def policy_files() -> dict[str, str]:
    """The texts of `policy.yaml` and of the hierarchies beside it: a table in ARX's form, and a tree."""
    policy = resources.files("shoal.datasets").joinpath("visits.yaml").read_text(encoding="utf-8")
    return {"policy.yaml": policy, "hierarchies/diagnosis.csv": _diagnoses(), "hierarchies/region.yaml": _regions()}


def write_policy(folder: Path | str, *, force: bool = False) -> Path:
    """Write policy and hierarchies into a folder, which is made if need be; gives the path of the policy."""
    texts = {Path(folder) / name: text for name, text in policy_files().items()}
    for path in texts:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.refuse_overwriting(path, force=force)
    for path, text in texts.items():
        files.write(path, text, force=force)
    return Path(folder) / "policy.yaml"


def _diagnoses() -> str:
    """Code, block, chapter."""
    rows = [
        (f"{letter}{block}{code}", f"{letter}{block} {name}", f"{letter} {chapter}", WHOLE)
        for letter, chapter, blocks in hospital.CHAPTERS
        for block, name in enumerate(blocks, start=1)
        for code in range(1, hospital.CODES_PER_BLOCK + 1)
    ]
    return "".join(";".join(row) + "\n" for row in rows)


def _regions() -> str:
    parts: dict[str, list[str]] = {}
    for name, part, _, _ in hospital.REGIONS:
        parts.setdefault(part, []).append(name)
    return "Anywhere:\n" + "".join(f"  {part}: [{', '.join(names)}]\n" for part, names in parts.items())
