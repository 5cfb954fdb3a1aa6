"""pyCANON beside `shoal check` on Adult: the same numbers where the definitions agree, and how long each takes.

Run it from the project's environment; it makes build/peers/pycanon for pyCANON, which pins other versions than ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

from shoal.assess.disclosure.check import check
from shoal.data.schema import Schema
from shoal.policy.policy import Policy

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "peers" / "pycanon"
DATA = Path(os.environ.get("SHOAL_DATA", ROOT.parent / "shared" / "data")) / "adult" / "adult.csv"
VERSION = "1.3.6"
CONFIDENTIAL = "salary-class"

PROGRAM = """
import json, sys, time
import pandas as pd
from pycanon import anonymity
path, quasi, secret = sys.argv[1], sys.argv[2].split(","), [sys.argv[3]]
data = pd.read_csv(path, sep=";")
found, spent = {}, {}
for name in ("k_anonymity", "l_diversity", "entropy_l_diversity", "alpha_k_anonymity", "t_closeness",
             "basic_beta_likeness", "delta_disclosure"):
    start = time.process_time()
    measure = getattr(anonymity, name)
    value = measure(data, quasi) if name == "k_anonymity" else measure(data, quasi, secret)
    found[name] = [float(part) for part in value] if isinstance(value, tuple) else float(value)
    spent[name] = time.process_time() - start
print(json.dumps({"found": found, "spent": spent}))
"""


def run(*arguments):
    """A program's output, or None when it fails."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    return done.stdout if done.returncode == 0 else None


def environment():
    """The Python of pyCANON's environment, made on first use; None where it cannot be had."""
    python = HOME / "bin" / "python"
    if not python.exists():
        print(f"making {HOME}", file=sys.stderr)
        venv.create(HOME, with_pip=True, clear=True)
    if (
        run(python, "-c", "import pycanon") is None
        and run(python, "-m", "pip", "install", "-q", f"pycanon=={VERSION}") is None
    ):
        return None
    return python


def compare(python, policy, quasi):
    """Both on the same columns: the numbers side by side, then the seconds."""
    names = (*quasi, CONFIDENTIAL)
    schema = Schema(tuple(attribute for attribute in policy.schema.attributes if attribute.name in names))
    check(DATA, schema)  # loads what is loaded once
    start = time.process_time()
    ours = check(DATA, schema)
    own = time.process_time() - start
    theirs = json.loads(run(python, "-W", "ignore", "-c", PROGRAM, DATA, ",".join(quasi), CONFIDENTIAL))
    measures = ours.confidential[0].measures
    pairs = {
        "k_anonymity": ours.k, "l_diversity": ours.l, "entropy_l_diversity": int(measures.entropy_l + 1e-9),
        "alpha_k_anonymity": measures.alpha, "t_closeness": measures.t_equal, "basic_beta_likeness": measures.basic_beta,
        "delta_disclosure": measures.delta_disclosure_present,
    }  # fmt: skip
    print(f"{f'Adult, {len(quasi)} quasi-identifiers':28}{'ours':>12}{'pyCANON':>12}{'its CPU s':>12}")
    for name, mine in pairs.items():
        value = theirs["found"][name]
        value = value[0] if isinstance(value, list) else value
        agree = "" if abs(value - mine) < 1e-9 else "   differs"
        print(f"{name:28}{mine:12.6g}{value:12.6g}{theirs['spent'][name]:12.2f}{agree}")
    print(f"CPU seconds: ours {own:.3f} for everything, pyCANON {sum(theirs['spent'].values()):.1f} for these\n")


def main():
    """Compare twice, fine and coarse; say so where pyCANON or the table is missing, and leave."""
    if not DATA.exists():
        print(f"skipped: no {DATA}")
        return
    python = environment()
    if python is None:
        print("skipped: pyCANON could not be installed here")
        return
    policy = Policy.load(ROOT / "examples" / "adult" / "policy.yaml")
    compare(python, policy, [attribute.name for attribute in policy.schema.quasi])
    compare(python, policy, ["sex", "race"])


if __name__ == "__main__":
    main()
