"""Alter a release folder at random: its bytes, its JSON values, its lock, its files; sealed anew or not.

    python -m tests.publish.verify.mutation FIRST LAST

tries both verifiers on the cases of these numbers, within bounds of memory and time, and prints a line of JSON for each. Folders
of kinds of which none is frozen are made first.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

from shoal.errors import ShoalError
from shoal.publish.verify import standalone as verifier
from tests.publish import box_clinic, centroid_clinic, clinic, grouped_clinic, level_clinic, noisy_clinic, sample_clinic
from tests.publish.verify.freeze import FROZEN, KINDS

MADE: dict[str, Callable[[Path], Any]] = {
    "k-anonymity": lambda place: level_clinic.publish(place, "every", rows=60),
    "k-anonymity-local": lambda place: level_clinic.publish(place, "local", rows=60),
    "t-closeness": lambda place: grouped_clinic.publish(place, "linked", rows=60),
    "anatomy": lambda place: grouped_clinic.publish(place, "anatomy", rows=60),
    "sample": sample_clinic.publish,
    "treated": lambda place: clinic.publish(place, clinic.TREATED, rows=400, report=False),
    "counts": lambda place: noisy_clinic.publish(place, "counts-declared", rows=200),
    "synthetic": lambda place: noisy_clinic.publish(place, "synthetic", rows=200),
    "centroids": centroid_clinic.publish,
    "boxes": lambda place: box_clinic.publish(place, rows=60),
}
"""How a small folder is made of each kind of which none is frozen."""
MEMORY = 3 << 30
"""Bytes of address space: what DuckDB, Arrow and Numba reserve for themselves takes half of it."""
SECONDS = 120
"""Processor seconds for one case."""
TEXTS = (
    "", "x", "\x1b[2Jall agree", "0", "1", "1e999", "1e999999999", "-1", "nan", "0.5", "1/3", "99999999999999999999", "../x",
    "/etc/passwd", "recoding/01-age.json", "table.csv", "*", "[0, 50)", "(a+)+b", "2024-01-01", "9" * 5000, "proved",
    "approx-dp", "\ud800", "\u202e",
)  # fmt: skip
VALUES: tuple[Any, ...] = (None, True, False, 0, 1, -1, 2, 10**10, 10**39, 1.5, [], {}, [[]], [None], {"a": 1}, *TEXTS)


def alter(folder: Path, random: Random) -> str:
    """Change something of a folder; what was done, in words."""
    content = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    before, old_seal = json.dumps(content), content["seal"]
    ways = (_bytes, _certificate, _certificate, _certificate, _rule, _lock, _lock, _table, _files)
    done = " and ".join(random.choice(ways)(folder, content, random) for _ in range(random.choice((1, 1, 1, 2))))
    if random.random() < 0.75 and isinstance(content, dict):
        with suppress(KeyError, TypeError, AttributeError, IndexError, OSError, ValueError, RecursionError):
            _seal(folder, content, old_seal)
            return f"{done}, sealed"
    if json.dumps(content) != before and (folder / "certificate.json").is_file():
        (folder / "certificate.json").write_text(json.dumps(content))
    return done


def _seal(folder: Path, content: dict[str, Any], old_seal: str) -> None:
    """Hash everything anew, the page with the new seal on it too."""
    for name in content["files"]:
        if isinstance(name, str) and "\0" not in name and (folder / name).is_file() and ".." not in name:
            content["files"][name] = verifier.sha256(folder / name)
    content["plan_sha256"] = content["files"].get("policy.lock.yaml", content["plan_sha256"])
    content["wording"]["text_sha256"] = verifier.text_hash(content)
    if not (folder / "certificate.html").is_file():
        raise OSError("no page")
    page = (folder / "certificate.html").read_bytes()
    hidden = page.replace(old_seal.encode(), b"0" * 64)
    content["wording"]["page_sha256"] = hashlib.sha256(hidden).hexdigest()
    content["seal"] = verifier.seal(content)
    (folder / "certificate.html").write_bytes(page.replace(old_seal.encode(), content["seal"].encode()))
    if (folder / "certificate.json").is_file():
        (folder / "certificate.json").write_text(json.dumps(content))


def _bytes(folder: Path, _: Any, random: Random) -> str:
    file = random.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    body = bytearray(file.read_bytes())
    way = random.choice(("turned", "cut", "doubled", "filled"))
    for _time in range(random.choice((1, 1, 3, 20))):
        at = random.randrange(len(body) + 1)
        if way == "turned" and at < len(body):
            body[at] ^= 1 << random.randrange(8)
        elif way == "cut":
            del body[at : at + random.choice((1, 8, 1000))]
        elif way == "doubled":
            body[at:at] = body[at : at + random.choice((1, 8, 1000))]
        elif way == "filled":
            body[at : at + 8] = random.randbytes(8)
    file.write_bytes(body)
    return f"bytes of {file.name} {way}"


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(item, (*path, key))


def _alter_value(content: Any, random: Random) -> str:
    places = list(_places(content))
    if not places:
        return "nothing"
    path = random.choice(places)
    place = content
    for step in path[:-1]:
        place = place[step]
    last, old = path[-1], place[path[-1]]
    way = random.choice(("replaced", "replaced", "removed", "renamed", "many", "deep", "near", "other"))
    if way == "removed":
        del place[last]
    elif way == "renamed" and isinstance(place, dict):
        place[random.choice(TEXTS)] = place.pop(last)
    elif way == "many" and isinstance(old, list) and old:
        place[last] = old * random.choice((2, 1000))
    elif way == "deep":
        place[last] = json.loads("[" * 80 + "1" + "]" * 80)
    elif way == "near" and isinstance(old, int):
        place[last] = old + random.choice((-1, 1, 1000))
    elif way == "near" and isinstance(old, str):
        place[last] = old + random.choice(("0", " ", "x", "1")) if random.random() < 0.5 else old[:-1]
    elif way == "other":
        others = [json.loads(json.dumps(_at(content, each))) for each in random.sample(places, min(3, len(places)))]
        place[last] = random.choice(others)
    else:
        place[last] = random.choice(VALUES)
    return f"{'.'.join(map(str, path))} {way}"


def _at(content: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        content = content[step]
    return content


def _certificate(_: Path, content: Any, random: Random) -> str:
    return _alter_value(content, random)


def _rule(folder: Path, _: Any, random: Random) -> str:
    files = sorted(
        file
        for file in (*folder.glob("recoding/*.json"), *folder.glob("views.json"), *folder.glob("counts.json"))
        if file.is_file()
    )
    if not files:
        return "nothing"
    file = random.choice(files)
    try:
        rule = json.loads(file.read_text())
    except ValueError:
        return "nothing"
    done = _alter_value(rule, random)
    file.write_text(json.dumps(rule, indent=1, ensure_ascii=False, sort_keys=True) + "\n", errors="surrogatepass")
    return f"{file.name}: {done}"


def _lock(folder: Path, _: Any, random: Random) -> str:
    file = folder / "policy.lock.yaml"
    if not file.is_file():
        return "nothing"
    lines = file.read_bytes().decode("utf-8", "replace").split("\n")
    at = random.randrange(len(lines))
    way = random.choice(("value", "value", "value", "removed", "doubled", "moved", "deeper", "anchor", "key"))
    old = lines[at]
    if way == "value":
        key, colon, _rest = old.partition(": ")
        lines[at] = f"{key}: {json.dumps(random.choice(VALUES), ensure_ascii=False)}" if colon else old
    elif way == "removed":
        del lines[at]
    elif way == "doubled":
        lines.insert(at, old)
    elif way == "moved":
        lines.insert(random.randrange(len(lines)), lines.pop(at))
    elif way == "deeper":
        lines[at] = f"  {old}"
    elif way == "anchor":
        lines[at] = old.replace(": ", random.choice((": &a ", ": *a ", ": !!set ")))
    else:
        lines.insert(at, f"{old[: len(old) - len(old.lstrip())]}{random.choice(('note', 'seed', 'k', 'l'))}: 1")
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return f"lock: {old.strip()[:40]} {way}"


def _table(folder: Path, _: Any, random: Random) -> str:
    files = sorted(file for file in folder.rglob("*.csv") if file.is_file() and file.name != "codebook.csv")
    if not files:
        return "nothing"
    file = random.choice(files)
    lines = file.read_bytes().decode("utf-8", "replace").split("\n")
    at = random.randrange(len(lines))
    way = random.choice(("row removed", "row doubled", "rows exchanged", "cell replaced", "row many", "quoted"))
    if way == "row removed":
        del lines[at]
    elif way == "row doubled":
        lines.insert(at, lines[at])
    elif way == "rows exchanged":
        other = random.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif way == "row many":
        lines[at:at] = [lines[at]] * 1000
    elif way == "quoted":
        lines[at] = f'"{lines[at]}'
    else:
        cells = lines[at].split(",")
        cells[random.randrange(len(cells))] = random.choice(TEXTS)
        lines[at] = ",".join(cells)
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return f"{file.name}: {way}"


def _files(folder: Path, content: Any, random: Random) -> str:
    file = random.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    way = random.choice(("added", "folder added", "removed", "linked", "pipe", "renamed", "case", "listed", "emptied"))
    if way == "added":
        (file.parent / "notes.txt").write_text("mine")
    elif way == "folder added":
        (file.parent / "more").mkdir(exist_ok=True)
    elif way == "removed":
        file.unlink()
    elif way == "linked":
        elsewhere = folder.parent / "elsewhere"
        file.rename(elsewhere)
        file.symlink_to(elsewhere)
    elif way == "pipe":
        file.unlink()
        os.mkfifo(file)
    elif way == "renamed":
        file.rename(file.with_name("x" + file.name))
    elif way == "case":
        (file.parent / file.name.upper()).write_bytes(file.read_bytes())
    elif way == "listed" and isinstance(content, dict) and isinstance(content.get("files"), dict):
        content["files"][random.choice(TEXTS)] = "0" * 64
    else:
        file.write_bytes(b"")
    return f"{file.name} {way}"


# --- trying ------------------------------------------------------------------------------------------------------------


def alone(folder: Path) -> int:
    """The exit code of the one-file verifier; what it prints must be plain."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = verifier.main([str(folder)])
    if not all(letter == "\n" or letter.isprintable() for letter in out.getvalue() + err.getvalue()):
        raise AssertionError("something was printed that a terminal acts on")
    return code


def both(folder: Path) -> int:
    """The exit code that `shoal verify` would have."""
    from shoal.publish.verify.release import verify

    try:
        checks = verify(folder)
    except ShoalError as error:
        return error.exit_code
    if not all((check.name + check.detail).isprintable() for check in checks):
        raise AssertionError("something is shown that a terminal acts on")
    return 3 if any(check.agrees is False or (check.agrees is None and check.promise) for check in checks) else 0


def meaning(folder: Path) -> dict[str, Any]:
    """What a folder says: the certificate without its hashes, by its entries, and the hash of every other file."""
    found = {"certificate": json.loads((folder / "certificate.json").read_text(encoding="utf-8"))}
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("certificate.json", "certificate.html"):
            found[path.relative_to(folder).as_posix()] = verifier.sha256(path)
    return found


def changes(folder: Path, source: Path) -> list[str]:
    """What differs from the honest folder: entries of the certificate, and files."""
    told, honest = meaning(folder), meaning(source)
    entries, own = told.pop("certificate"), honest.pop("certificate")
    hashes = ("seal", "plan_sha256", "files")
    found = [name for name in {**entries, **own} if entries.get(name) != own.get(name) and name not in hashes]
    if "wording" in found and entries["wording"]["version"] == own["wording"]["version"]:
        found.remove("wording")
    return sorted([*found, *(name for name in {**told, **honest} if told.get(name) != honest.get(name))])


def attempt(number: int, place: Path, honest: dict[str, Path]) -> dict[str, Any]:
    """One case on one of the honest folders: what was altered, what each verifier says, how long it took."""
    random = Random(number)  # noqa: S311 - cases that can be made again
    kind = random.choice(sorted(honest))
    folder = Path(shutil.copytree(honest[kind], place / "release"))
    done: dict[str, Any] = {"number": number, "kind": kind}
    try:
        done["what"] = alter(folder, random)
        for name, how in (("alone", alone), ("both", both)):
            start = time.process_time()
            try:
                done[name] = how(folder)
            except Exception as error:  # noqa: BLE001 - what a verifier must not do is what is looked for
                done[name] = f"{type(error).__name__}: {error}"[:300]
            done[f"{name} seconds"] = round(time.process_time() - start, 3)
        if 0 in (done["alone"], done["both"]):
            done["changes"] = changes(folder, honest[kind])
    finally:
        for path in (folder, place / "elsewhere"):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    return done


def make(place: Path) -> dict[str, Path]:
    """A folder of each kind of which none is frozen."""
    found = {}
    for kind, publish in MADE.items():
        (place / kind).mkdir()
        found[kind] = publish(place / kind).folder
    return found


def main(first: int, last: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as place:
        honest = {**{kind: FROZEN / kind for kind in KINDS}, **make(Path(place))}
        both(FROZEN / "microaggregation")  # everything is imported before the clock runs
        for number in range(first, last):
            spent = int(time.process_time())
            resource.setrlimit(resource.RLIMIT_CPU, (spent + SECONDS, resource.RLIM_INFINITY))
            print(json.dumps(attempt(number, Path(place), honest)), flush=True)  # noqa: T201
    print(json.dumps({"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
