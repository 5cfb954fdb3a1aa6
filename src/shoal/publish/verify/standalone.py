"""Verify a release folder with Python alone: `python verifier.py FOLDER`.

This file travels with every release that is shared. It needs Python 3.9 or newer and nothing else, and it shares no code with
Shoal, so that its opinion is its own. A table in Parquet, one file or a folder of parts, is read through pyarrow where that is
installed; where it is not, that table is NOT VERIFIED. An older Python is told so in a sentence, with exit code 2, and nothing is
looked at.

Contents. Each section answers one question, and can be read after those before it.

     1. Checks                    What is a check, and which are there?
     2. Reading                   How are files, numbers, JSON and the locked plan read, and within which limits?
     3. The certificate           Which keys does it have? (what is missing or too much is named)
     4. Files and hashes          Are all files as they were sealed, and is nothing there beside them?
     5. The locked plan           What was asked for before any row was read?
     6. Promise and claims        Does the certificate promise what the locked plan asks for, and nothing more?
     7. One sample                What is delta of one random sample at an epsilon?
     8. Composition               What do several samples cost together?
     9. The numbers               Do k and beta suffice for the promise? Are the printed numbers true?
    10. The ledger                What was charged, and is it within the budget?
    11. The recoding              What did the choice of the labels cost, and is it one that was locked?
    12. Tables                    Is every class of equal rows large enough, every label known, every row in its place?
    13. Counted guarantees        The same for releases by microaggregation and probabilistic k-anonymity.
    14. k-anonymity by levels     The same for tables whose quasi-identifiers show labels of levels found on the table.
    15. Noisy counts              The same for tables of counts with noise, alone or beside rows, and for synthetic rows.
    16. Plain samples             The same for a random sample of rows, at a rate that is safe for the table that it is of.
    17. Groups and buckets        The same for t-closeness by buckets and for Anatomy: two linked tables, or one permuted one.
    18. Noisy centroids           The same for tables of noisy centroids of clusters.
    19. Rows inside boxes         The same for rows that are spread inside boxes with noisy counts and means.
    20. The program               What is printed, and which exit code?

What is compared. Everything follows from two files: the locked plan (`policy.lock.yaml`) and the certificate. Some numbers must
be EQUAL to what the locked plan says or to what a formula gives: epsilon, delta, the unit of privacy, what was charged, sums, the
delta of a sample at its own k and beta. Others must SUFFICE: k and beta are not searched for again; instead delta is computed
from them and must be no larger than the promised one. So a folder stays valid when a later program would find better numbers.

What is not compared. Sentences and premises (the hash of all sentences is), what labels stand for, how many schemes a private
choice had, and whether cells were merged, and tables chosen, as the published counts and scores decide: that they were is one of
the premises. The program says at its end, in words of its own, what it has verified. `shoal verify` compares more.

What nobody can verify from a folder. That the sample and the noise were drawn as stated and with good randomness, that the ledger
lists everything, and that nobody looked at results before the plan was fixed: premises about a run that nobody else saw. Nor that
the rate of a plain sample is safe for its table, whose counts are not published.

A folder comes from a stranger. Only plain files inside it are opened, never a link, a pipe or a device. Sizes, depths, digits and
the work that a number leads to are bounded before the work is begun, far above what Shoal writes (section 2 has the limits). What
is printed from a file has everything that a terminal might act on made visible. Nobody may change the folder meanwhile; if
somebody does, that is noticed and said.

Exit code 0: everything that the promise rests on was verified, and nothing failed. Exit code 3: something failed, or something
that the promise rests on could not be verified. Exit code 2: there is nothing to verify, or this Python is too old.
"""

import sys

OLDEST_PYTHON = (3, 9)

if sys.version_info < OLDEST_PYTHON:  # before anything that an older Python does not have
    sys.stderr.write(
        "this verifier needs Python {}.{} or newer, and this is Python {}.{}: nothing was looked at\n".format(
            *OLDEST_PYTHON, *sys.version_info[:2]
        )
    )
    sys.exit(2)

import csv  # noqa: E402
import hashlib  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import stat  # noqa: E402
import threading  # noqa: E402
import unicodedata  # noqa: E402
from bisect import bisect_right  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Iterable, Iterator  # noqa: E402
from contextlib import closing, contextmanager  # noqa: E402
from datetime import date, datetime  # noqa: E402
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext  # noqa: E402
from fractions import Fraction  # noqa: E402
from itertools import accumulate, combinations, groupby, islice, product  # noqa: E402
from math import comb, erfc, exp, fsum, gcd, isfinite, isnan, lgamma, log, log1p, sqrt  # noqa: E402
from pathlib import Path, PurePosixPath  # noqa: E402
from typing import Any, BinaryIO, Callable, NamedTuple, Optional  # noqa: E402

FORMAT = 1
"""The format of certificates that this file knows."""

# === 1. Checks =====================================================================================================

CHECKS = {
    # files and hashes
    "format": "the format of the certificate is one that the verifier knows",
    "keys": "the certificate has the keys of its format, each with a value of its type, and no others",
    "readable": "the certificate and the files beside it can be read to their end",
    "bounds": "sizes, depths, digits and the work that they lead to are within the limits of the verifier",
    "plain-files": "the folder holds plain files and folders alone, whose names lead nowhere else and differ in more than case",
    "seal": "the certificate is as it was sealed",
    "file-hash": "a file has the SHA-256 that the certificate lists",
    "no-other-files": "the folder holds no file that the certificate does not list, and no folder without one",
    "no-idle-files": "every listed file is the plan, a table, a rule, a hierarchy, a list of boxes, an index or of the handbook",
    "plan-hash": "the locked plan is the one whose hash was charged",
    "wording-hash": "the sentences are those whose hash the certificate holds",
    "page-hash": "certificate.html is the page whose hash the certificate holds",
    "handbook": "README, codebook, datapackage.json and read_release.py are what the version that made them writes",
    "wording": "every sentence is the one that this wording has for this plan",
    # the locked plan
    "lock-text": "the locked plan is written as locked plans are",
    "lock-keys": "the locked plan has the keys of its format, each with a value of its type, and no others",
    "lock-method": "the method of the locked plan makes certificates of this kind",
    "lock-allowed": "the theorems can be applied to what the locked plan asks for",
    # promise and claims
    "dataset": "the dataset is that of the locked plan",
    "date": "the date is a day of the calendar",
    "method": "the method is that of the locked plan",
    "bound": "the bound is that of the locked plan",
    "guarantee": "epsilon and delta (or k, l and t) are those of the locked plan",
    "unit": "the unit of privacy is that of the locked plan",
    "status": "the status is the one that the locked plan and the looks on record support",
    "claims": "the claims are those of the locked plan, and no others",
    "conditions": "every claim has as many conditions as the locked plan implies",
    "theorems": "the theorems are those that the promise rests on",
    # the numbers of samples
    "samples": "every table has the numbers of a sample, and every sample as many tables as it says",
    "locked-k": "k is the one that the locked plan names, if it names one",
    "locked-beta": "beta is the one that the locked plan names, if it names one",
    "sample-delta": "k and beta of a sample suffice for the delta that it is planned to keep",
    "delta-tight": "the exact delta of one sample is what the formula gives",
    "delta-for-unit": "the delta of one sample for the unit of privacy is what the formula gives",
    "delta-published": "the delta by the published theorem is what its formula gives",
    "promise": "everything that is published keeps the promised epsilon and delta",
    "curve-epsilons": "the curve lists the epsilons of this format in rising order, the promised one among them",
    "curve-falls": "the curve never rises, and keeps the promise at the promised epsilon",
    "curve": "every delta of the curve is what the whole release gives",
    "treatments": "the steps before the method are those of the locked plan, and what they depend on is said",
    "treated-values": "a column shows no value that the steps before the method rule out",
    # views
    "view-count": "as many views as are listed",
    "view-choice": "what the private choice of the views cost is what the locked plan sets aside",
    "view-names": "every view is in the file of its number and name",
    "locked-views": "the views are those of the locked plan, all of them, each once",
    "view-index": "views.json says what the certificate says",
    "views-composed": "the epsilon of all views together is what they compose to",
    "views-added-up": "the sum of the epsilons of all views is what they add up to",
    # the ledger
    "ledger-order": "the charges are numbered in their order",
    "ledger-charge": "the last charge is this release, with its parts",
    "ledger-total": "the total is the sum of the charges",
    "ledger-parts": "no earlier charge is cheaper than its own parts",
    "ledger-budget": "the budget is that of the locked plan, if it names one, and the total is within it",
    "ledger-composed": "what all charges compose to is what is printed",
    "ledger-looks": "looks at the real table are listed once for each kind, with as many of another plan as there can be",
    # the recoding
    "recoding-price": "the choice of the recoding cost what the locked plan sets aside for it",
    "recoding-noise": "the noise that the choice says it drew costs what is said",
    "recoding-lattice": "the number of schemes and the sensitivity of their score follow from the locked plan",
    "recoding-levels": "the level of each column is one that was locked",
    "label-meaning": "what each label stands for follows from the locked domains and hierarchies",
    # tables
    "table-files": "the tables are in the files of the locked plan",
    "table-parts": "the parts of a table are numbered from 0 without a gap, and each has rows and the same columns",
    "table-columns": "every table has the columns that are declared, in every row",
    "table-text": "a table is written as tables are written, so nothing is hidden in its spelling",
    "table-notes": "a table carries no notes beside its rows",
    "class-size": "no class of equal rows is smaller than k; equal centroids are whole clusters",
    "labels": "every label is one that its rule can show",
    "row-order": "rows are sorted by their own values, so their order shows nothing",
    "boxes": "every row is in a box of the tree, and each box is listed once",
    "boxes-divide": "the boxes divide the declared domain: no gap, no overlap",
    # noisy counts
    "noise": "how many tables of counts there are, and how they are chosen, follows from the locked plan",
    "noise-parts": "the parts that are composed are those that the noise and the samples cost",
    "composed": "the epsilon of everything together is what the parts compose to",
    "count-tables": "the tables of counts are those of the locked plan, or as many of its candidates as were to be chosen",
    "count-files": "every table of counts is in the file of its number and name",
    "count-noise": "the noise of every table is the one that is paid for, and its intervals are as wide as it makes them",
    "count-cells": "a table of counts has every combination of its labels once, in their order, and none is left out",
    "count-numbers": "counts are whole numbers, each in the middle of its interval",
    "count-labels": "the labels of counts divide the cells of their attribute, in one way for the whole release",
    "count-index": "counts.json says what the certificate says",
    "count-choice": "the tables that were chosen are those that the published scores speak for",
    "count-bins": "cells are merged as the published tables of single attributes decide",
    "synthetic-file": "synthetic rows are in a file that says so in its name, with as many rows as are stated",
    "synthetic-number": "there are as many synthetic rows as the published counts add up to, where the policy states no number",
    "synthetic-values": "synthetic rows have values of the declared domains alone, and no combination that must never be",
    # plain samples
    "sample-rate": "the rate is declared in the locked plan or has two digits, and is not above what any table allows",
    # rows inside boxes
    "box-numbers": "a box has a count and a sum for each attribute, and values without an order have their histograms",
    "box-tree": "the noise of the tree of boxes costs no more than is set aside for it, by its formula",
    "box-shares": "histograms, tree and means cost no more together than the promise leaves for one row",
    "box-error": "noise moves the count of a box as far as is printed",
    "box-grid": "how many values of an attribute are told apart follows from its locked domain",
    # noisy centroids
    "clusters": "how many rows there are, and how they were clustered and noised, follows from the locked plan",
    "centroid-steps": "how far one record can move a sum, or a choice, follows from the locked domain and hierarchy",
    "centroid-noise": "an attribute has the noise that its part of the promise asks for",
    "centroid-shares": "the promise is divided between attributes by their weights alone",
    "found-k": "k and the kind of noise, where the locked plan leaves them open, make the bound on the error least",
    "half-width": "noise moves a centroid as far as is said, in 95 of 100 cases",
    # counted guarantees
    "grouping": "records were grouped as the locked plan asks for",
    "single-table": "there is one table beside the locked plan and its hierarchies, and nothing else",
    "roles": "every published attribute has the role of the locked plan",
    "display": "what each column shows follows from the locked plan",
    "row-count": "the table has as many rows as are public, or enough for two groups",
    "distinct-values": "every group (or the table) has at least l different confidential values",
    "closeness": "the confidential values of every group are within t of the table's",
    "prior-charges": "without charges there is nothing spent",
    # groups and buckets
    "buckets": "the buckets of an attribute divide its declared values in their order, and are called by what they hold",
    "group-counts": "each combination of a group is there once, with a whole number of records from 1 up",
    "linked-groups": "groups are numbered from 1, and each has as many records in one table as in the other",
    "group-size": "no group has fewer than k records",
    "value-share": "no confidential value makes up more than 1/l of a group",
    "achieved-t": "the t that is said to be reached is the one that is counted",
    "search": "levels were fixed, or searched for, as the locked plan asks",
    "entropy-diversity": "every class has the entropy of confidential values that is promised",
    "recursive-diversity": "no confidential value of a class is too frequent beside the rare ones",
    "largest-share": "no confidential value has a larger share of a class than alpha",
    "likeness": "no confidential value is more frequent in a class than beta allows",
    "disclosure": "every class has all confidential values, with shares within delta of the table's",
    "k-map": "every class stands for enough people of the population",
}
"""Every check that this file can make, by its id. Which of them are made depends on the release."""


class Check(NamedTuple):
    """One thing that was looked at.

    `agrees` is True, False, or None for what could not be looked at; `promise` says whether the promise rests on it; `about` is
    the file, the column or the number of the sample, where there are several.
    """

    id: str
    agrees: Optional[bool]
    detail: str
    promise: bool = False
    about: str = ""

    @property
    def name(self) -> str:
        """The id, with what it is about."""
        return f"{self.id} ({self.about})" if self.about else self.id


def must(id_: str, agrees: Optional[bool], detail: str, about: str = "") -> Check:
    """A check that the promise rests on."""
    return Check(id_, agrees, detail, promise=True, about=about)


LONGEST_SHOWN = 1000
"""Letters of a text from the folder that are printed: a file name has 255, a sentence of a certificate a few hundred."""
UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters that count as printable and show nothing."""


def visible(text: object, longest: int = LONGEST_SHOWN) -> str:
    r"""A text that comes from the folder, with everything that a terminal might act on, or that cannot be seen, made visible.

    Control characters, marks that turn the direction of writing, letters without width, line ends of all kinds and halves of
    letters are written as escapes; a text that is too long is cut.

    >>> visible("a\x1b[2J\u202eb\u200b")
    'a\\x1b[2J\\u202eb\\u200b'
    """
    whole = str(text)
    shown, marks = [], 0
    for letter in whole[:longest]:
        marks = marks + 1 if unicodedata.combining(letter) or unicodedata.category(letter) == "Me" else 0
        varies = "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef"
        seen = letter.isprintable() and letter not in UNSEEN and not varies and marks <= 2
        shown.append(letter if seen else letter.encode("unicode_escape").decode("ascii"))
    rest = len(whole) - longest
    return "".join(shown) + (f"... ({rest} letters more)" if rest > 0 else "")


def shown(check: Check) -> Check:
    """A check whose texts can be printed."""
    return check._replace(about=visible(check.about, 300), detail=visible(check.detail))


def pairs(first: Iterable[Any], second: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Two lists side by side; ValueError where one is longer."""
    ours, theirs = list(first), list(second)
    if len(ours) != len(theirs):
        raise ValueError("two lists that belong together have different lengths")
    return list(zip(ours, theirs))


# === 2. Reading ====================================================================================================
#
# The limits. A folder that exceeds one fails the check "bounds", before anything is done with what is too large. Tables have no
# limit: they are read row by row, and the time is proportional to their size.

MOST_FILES = 100_000
"""Files and folders in a release: a view has two, and no release has 50,000 views."""
DEEPEST_FOLDER = 8
"""Folders inside each other: `recoding/boxes/NAME.csv` is the deepest that there is."""
LARGEST_TEXT = 1 << 26
"""Bytes of the certificate, its page, a rule or the index of views: 64 MiB, where thousands of views take a few."""
LARGEST_LOCK = 1 << 23
"""Bytes of the locked plan: 8 MiB, where a domain of 200,000 listed values takes two or three."""
MOST_VALUES = 4_000_000
"""Values in one JSON file."""
DEEPEST_VALUE = 64
"""How deep values may lie inside each other; a certificate has depth 6, a taxonomy in a lock perhaps 20."""
LONGEST_NUMBER = 4000
"""Letters of an exact number. A split of epsilon has some hundreds; Python refuses integers of more than 4,300 digits."""
LONGEST_INTEGER = 40
"""Digits of an integer in a JSON file."""
LONGEST_KEY = 10_000
"""Letters of a name in the locked plan."""
LONGEST_ROW = 1 << 24
"""Bytes of a row of a table: 16 MiB."""
LONGEST_CELL = 1 << 20
"""Letters of a cell of a Parquet table, where one cell can stand for a million of them."""
MOST_ROWS = 10**10
"""Rows that a Parquet table says it has, all its parts together; they may be written in a few bytes."""
MOST_BOXES = 2_000_000
"""Boxes of a tree."""
MOST_BITS = 1 << 32
"""Sides of boxes are sets of cells, a bit for each cell: half a GiB of them."""
MOST_WORK = 100_000_000
"""Steps of decimal arithmetic for the numbers of one folder, each about a microsecond. Usual releases take a hundred thousand."""


class BoundError(ValueError):
    """Something is larger than this file works with; the limit is named."""


class UnreadableError(Exception):
    """A table that this Python cannot read, because pyarrow is not installed."""


NO_PYARROW = "a Parquet table needs pyarrow, which is not installed here"


class Work(threading.local):
    """How much work is left for the folder that is being verified; without end while none is."""

    left = float("inf")


WORK = Work()


def spend(steps: Any) -> None:
    """Count steps before they are made; BoundError where they are too many."""
    WORK.left -= int(min(steps, 2.0 * MOST_WORK)) + 1
    if WORK.left < 0:
        raise BoundError(f"its numbers lead to more than {MOST_WORK:,} steps of arithmetic")


def bounded(what: str, found: int, most: int) -> None:
    """BoundError where there is too much of something."""
    if found > most:
        raise BoundError(f"{what}: {found:,}, where the limit is {most:,}")


# --- files ---


FILE_NAME = re.compile("[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}")
"""The name of a file or a folder, as releases have them: it means the same on every system."""


def parts_of(name: Any) -> list[str]:
    """The folders and the file that a name consists of; ValueError for a name that is none of ours or leads elsewhere."""
    parts = name.split("/") if isinstance(name, str) and len(name) <= 2000 else []
    if not parts or len(parts) > DEEPEST_FOLDER or not all(FILE_NAME.fullmatch(part) for part in parts):
        raise ValueError("the name of a file that leads out of the folder, or has letters that no name here has")
    return parts


def open_inside(folder: Path, name: Any) -> BinaryIO:
    """Open a plain file below the folder; ValueError for a name that leads elsewhere, a link, or something that is no file.

    Each folder on the way is opened by itself, where the system can do that, so nobody can put a link in between.
    """
    parts = parts_of(name)
    walks = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
    opening = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    held = os.open(str(folder), os.O_RDONLY) if walks else None
    path = str(folder)
    try:
        for place, part in enumerate(parts, 1):
            path = os.path.join(path, part)  # noqa: PTH118 - as text, for systems without handles of folders
            where = part if walks else path
            mode = os.stat(where, dir_fd=held, follow_symlinks=False).st_mode
            if not (stat.S_ISREG(mode) if place == len(parts) else stat.S_ISDIR(mode)):
                raise ValueError("a link, or something else that is no plain file")
            if walks:
                inner = os.open(where, opening, dir_fd=held)
                os.close(held)  # type: ignore[arg-type]
                held = inner
        handle, held = (os.open(path, opening) if held is None else held), None
    except OSError as error:
        raise ValueError(f"{visible(name, 100)} is not there, or cannot be opened") from error
    finally:
        if held is not None:
            os.close(held)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError("a link, or something else that is no plain file")
    return os.fdopen(handle, "rb")


def read_bytes(folder: Path, name: Any, most: int = LARGEST_TEXT) -> bytes:
    """What a plain file of the folder holds, if it is not too large."""
    with open_inside(folder, name) as file:
        found = file.read(most + 1)
    bounded(f"bytes of {visible(name, 100)}", len(found), most)
    return found


def read_text(folder: Path, name: Any, most: int = LARGEST_TEXT) -> str:
    """The same as text."""
    return read_bytes(folder, name, most).decode("utf-8")


def read_json(folder: Path, name: Any) -> Any:
    """What a JSON file of the folder holds."""
    return strict_json(read_text(folder, name))


class Listing(NamedTuple):
    """What a folder holds: plain files, folders, and everything else (links, pipes, devices), each with what it is known by."""

    files: dict[str, Any]
    folders: dict[str, Any]
    others: dict[str, Any]


def list_folder(folder: Path) -> Listing:
    """Everything below a folder; no link is followed. BoundError where there is too much of it."""
    found = Listing({}, {}, {})
    waiting = [("", folder)]
    while waiting:
        prefix, place = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                name = prefix + entry.name
                about = os.stat(entry.path, follow_symlinks=False)  # noqa: PTH116 - what `scandir` knows may be old
                known = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
                if stat.S_ISDIR(about.st_mode):
                    found.folders[name] = known
                    bounded("folders inside each other", name.count("/") + 1, DEEPEST_FOLDER)
                    waiting.append((f"{name}/", Path(entry.path)))
                else:
                    (found.files if stat.S_ISREG(about.st_mode) else found.others)[name] = known
                bounded("files and folders", sum(map(len, found)), MOST_FILES)
    return found


# --- numbers, JSON and the locked plan ---

EXACT_NUMBER = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]{1,3})?|[1-9][0-9]*/[1-9][0-9]*")


def number(text: Any) -> Fraction:
    """A number of a guarantee: exact text, never a float."""
    if not isinstance(text, str) or len(text) > LONGEST_NUMBER or not EXACT_NUMBER.fullmatch(text):
        raise ValueError("not a number written as exact text")
    return Fraction(text)


def decimal(value: Fraction) -> Decimal:
    """A fraction in the digits of the current context."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def strict_json(text: str) -> Any:
    """JSON in which no key is said twice (of two, readers would take different ones) and every number is a number."""

    def once(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) != len(found):
            raise ValueError("a key is said twice")
        return dict(found)

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no number")

    def integer(digits: str) -> int:
        bounded("digits of an integer", len(digits), LONGEST_INTEGER)
        return int(digits)

    def fraction(digits: str) -> float:
        bounded("digits of a number", len(digits), LONGEST_NUMBER)
        if not isfinite(float(digits)):
            raise BoundError("a number that is too large for a float")
        return float(digits)

    bounded("values of a JSON file", sum(map(text.count, ",[{")), MOST_VALUES)
    spend(len(text) / 20)
    try:
        found = json.loads(text, object_pairs_hook=once, parse_constant=refuse, parse_int=integer, parse_float=fraction)
    except RecursionError:
        raise BoundError(f"values inside each other, where the limit is {DEEPEST_VALUE}") from None
    refuse_depth(found)
    return found


def refuse_depth(value: Any) -> None:
    """BoundError where values lie too deep inside each other."""
    level, depth = [value], 0
    while level:
        depth += 1
        bounded("values inside each other", depth, DEEPEST_VALUE)
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list)))
        level = [item for items in inner for item in items if isinstance(item, (dict, list))]


LOCK_LINE = re.compile(r'((?:  )*)([a-z_]+|"[^"\\]*(?:\\.[^"\\]*)*"):(?: (.+))?')


def read_lock(text: str) -> dict[str, Any]:
    r"""The locked plan. It is written in one way alone, and anything written in another way is refused.

    A line is a key and a value in JSON, or a key alone with deeper lines below it; a level is two blanks deep. Names that a
    person chose are in quotes. So there are no anchors, tags or comments, though the file can be read as YAML.

    >>> read_lock('version: 1\nattributes:\n  "age":\n    role: "quasi"\n')
    {'version': 1, 'attributes': {'age': {'role': 'quasi'}}}
    """
    root: dict[str, Any] = {}
    open_mappings: list[dict[str, Any]] = [root]
    bounded("letters of the locked plan", len(text), LARGEST_LOCK)
    lines = text.split("\n")
    if lines.pop() != "":
        raise ValueError("the locked plan does not end with a line end")
    deeper = True  # whether the next line must begin a mapping
    for line in lines:
        quote = line.lstrip(" ")
        if quote.startswith('"') and '":' not in quote[: LONGEST_KEY + 2]:
            raise BoundError(f"a name in the locked plan has more than {LONGEST_KEY:,} letters")
        match = LOCK_LINE.fullmatch(line)
        if match is None:
            raise ValueError("a line of the locked plan is not written as locked plans are")
        depth, key = len(match[1]) // 2, match[2]
        bounded("values inside each other in the locked plan", depth, DEEPEST_VALUE)
        if depth >= len(open_mappings) or (deeper and depth != len(open_mappings) - 1):
            raise ValueError("a line of the locked plan is not as deep as it must be")
        name = json.loads(key) if key.startswith('"') else key
        if key.startswith('"') and json.dumps(name, ensure_ascii=False) != key:
            raise ValueError("a name in the locked plan is not written as locked plans write it")
        del open_mappings[depth + 1 :]
        if name in open_mappings[depth]:
            raise ValueError("a key of the locked plan is said twice")
        deeper = match[3] is None
        if deeper:
            open_mappings[depth][name] = {}
            open_mappings.append(open_mappings[depth][name])
            continue
        value = strict_json(match[3])
        if json.dumps(value, ensure_ascii=False, sort_keys=True) != match[3]:
            raise ValueError("a value of the locked plan is not written as locked plans write it")
        open_mappings[depth][name] = value
    if deeper:
        raise ValueError("a key of the locked plan has nothing below it")
    return root


# === 3. The certificate ============================================================================================
#
# What a certificate of format 1 holds, written down as a certificate that has types in the place of values. A form is
#
#     str, int                      a text that is not empty, an integer that is not negative
#     FROM_ONE                      an integer from 1 up
#     object                        any integer
#     a pattern                     a text that matches it
#     {key: form, ...}              an object with these keys, all of them and no others
#     Known({key: form, ...})       an object with some of these keys and no others
#     Either(form, ...)             a thing of one of these forms
#     [form]                        a list of such things
#     (form, form, ...)             a list of exactly these
#     Optionally(form)              null, or such a thing
#     Later(form)                   such a thing under a key that came later: what was made before does not have it
#     ByName(form)                  an object whose keys are names that somebody chose
#     OneOf(word, ...)              one of these words
#     ByKind({kind: form, ...})     an object whose `kind` says which form it has


class Optionally(NamedTuple):
    """Null, or something of a form."""

    form: Any


class Later(NamedTuple):
    """Something of a form under a key that came later, so that what was made before does not have it."""

    form: Any


class ByName(NamedTuple):
    """An object whose keys are names that somebody chose, each with something of a form."""

    form: Any


class Known(NamedTuple):
    """An object with some of these keys and no others."""

    forms: dict[str, Any]


class OneOf:
    """One of some words."""

    def __init__(self, *words: Any) -> None:
        self.words = words


class Either:
    """Something of one of some forms."""

    def __init__(self, *forms: Any) -> None:
        self.forms = forms


FROM_ONE = object()
"""An integer from 1 up."""
LABEL_TREE = object()
"""Texts in lists and objects inside each other: groups, a taxonomy, cut points."""


class ByKind(NamedTuple):
    """An object whose `kind` says which form it has."""

    forms: dict[str, Any]


HASH = re.compile("[0-9a-f]{64}")
DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,3}[a-z0-9.+-]{0,20}")
"""The version of a program: no room for a sentence."""
COST = {"epsilon": EXACT_NUMBER, "delta": EXACT_NUMBER}
STATUS = OneOf("proved", "proved with condition", "proved for a plan tuned on the data", "checked", "none")
NEIGHBOURS = OneOf("add_remove", "replace_one")
UNIT = {"whose": OneOf("row", "person"), "neighbours": NEIGHBOURS, "column": Optionally(str), "max_rows": int}

COMPOSABLE = {
    "pure-dp": {"kind": str, "epsilon": EXACT_NUMBER},
    "approx-dp": {"kind": str, **COST},
    "safe-k-sampling": {"kind": str, "k": int, "beta": EXACT_NUMBER},
    "laplace-dp": {"kind": str, "epsilon": EXACT_NUMBER},
    "gaussian-dp": {"kind": str, "mu": EXACT_NUMBER},
    "noisy-tables-dp": {"kind": str, "choices": [(FROM_ONE, EXACT_NUMBER)]},
    "exponential-dp": {"kind": str, "epsilon": EXACT_NUMBER},
    "concentrated-dp": {"kind": str, "rho": EXACT_NUMBER},
}
COUNTABLE = {
    "k-anonymity": {"kind": str, "k": int},
    "k-anonymous-relation": {"kind": str, "k": int},
    "knowledge-gain": {"kind": str, "factor": EXACT_NUMBER},
    "probabilistic-k": {"kind": str, "k": int},
    "l-diversity": {"kind": str, "l": EXACT_NUMBER, "form": str},
    "t-closeness": {"kind": str, "t": EXACT_NUMBER, "metric": str},
}
GIVEN_TABLE = {
    "sample-privacy": {"kind": str, "c": FROM_ONE, **COST, "rate": Optionally(EXACT_NUMBER)},
}
"""What holds of a draw from one table, and adds up with nothing."""
COUNTED_ON_CLASSES = {
    **COUNTABLE,
    "recursive-diversity": {"kind": str, "c": EXACT_NUMBER, "l": FROM_ONE},
    "alpha-deassociation": {"kind": str, "alpha": EXACT_NUMBER},
    "beta-likeness": {"kind": str, "beta": EXACT_NUMBER, "form": str},
    "delta-disclosure": {"kind": str, "delta": EXACT_NUMBER},
    "k-map": {"kind": str, "k": int},
}
CLAIM = {
    "guarantee": ByKind({**COMPOSABLE, **COUNTABLE, **GIVEN_TABLE}),
    "unit": Optionally(UNIT),
    "status": STATUS,
    "theorems": [str],
    "conditions": [str],
    "randomness": OneOf("operating system", "test seed", "none needed"),
}
PREMISE = {
    "id": str,
    "text": str,
    "how": OneOf("checked by the program", "met by the way it was made", "said by the custodian"),
    "detail": str,
}
TREATMENT = {
    "kind": OneOf("top", "bottom", "round", "random_round", "population_threshold", "pram", "swap"),
    "attributes": [str],
    "within": [str],
    "depends_on": OneOf("the record alone", "the record and chance", "other records"),
    "parameters": ByName(str),
}
EVERY_CERTIFICATE = {
    "format": int,
    "dataset": str,
    "date": DAY,
    "software": {"shoal": VERSION},
    "sentence": str,
    "explanation": [str],
    "status": STATUS,
    "claims": [CLAIM],
    "theorems": [{"name": str, "title": str, "citation": str, "statement": str, "premises": [PREMISE]}],
    "not_promised": [str],
    "treatments": Later([TREATMENT]),
    "wording": {"version": FROM_ONE, "text_sha256": HASH, "page_sha256": HASH},
    "plan_sha256": HASH,
    "files": ByName(HASH),
    "how_to_verify": str,
    "seal": HASH,
}
TREE_CHOICE = {
    "kind": str,
    "epsilon": EXACT_NUMBER,
    "rows_changed": int,
    "sample_rate": Optionally(EXACT_NUMBER),
    "measurements": [{"epsilon_count": EXACT_NUMBER, "epsilon_histogram": EXACT_NUMBER, "attributes": int}],
}
SCHEME_CHOICE = {
    "kind": str,
    "epsilon": EXACT_NUMBER,
    "rows_changed": int,
    "schemes": int,
    "score": str,
    "sensitivity": EXACT_NUMBER,
    "restriction": Optionally(str),
}
RECODING_CHOICE = ByKind({"tree": TREE_CHOICE, "choose": SCHEME_CHOICE})
KINDS_OF_LOOK = ("init", "check", "dry-run", "assess", "other")
"""What showed results on the real table before a charge: a draft of the policy, a check of the table, a dry run, or unknown."""


LOOKS = Later([{"kind": OneOf(*KINDS_OF_LOOK), "times": FROM_ONE, "other_plan": int}])
SAFE_K_CERTIFICATE = {
    **EVERY_CERTIFICATE,
    "guarantee": {
        "kind": OneOf("approx-dp"),
        **COST,
        "epsilon_recoding": EXACT_NUMBER,
        "neighbours": NEIGHBOURS,
        "unit": UNIT,
        "status": STATUS,
    },
    "method": str,
    "bound": OneOf("tight", "published"),
    "recoding_choice": Optionally(RECODING_CHOICE),
    "views": Optionally(
        {
            "index_file": OneOf("views.json"),
            "count": int,
            "choice": Optionally({"epsilon": EXACT_NUMBER, "candidates": int, "rows_changed": int}),
            "epsilon_composed": EXACT_NUMBER,
            "epsilon_added_up": EXACT_NUMBER,
        }
    ),
    "samples": [
        {
            "k": int,
            "beta": EXACT_NUMBER,
            **COST,
            "delta_tight": EXACT_NUMBER,
            "delta_published": Optionally(EXACT_NUMBER),
            "delta_for_unit": EXACT_NUMBER,
            "epsilon_split": Optionally([EXACT_NUMBER]),
            "times": int,
        }
    ],
    "curve": [{**COST, "epsilon_split": Optionally([EXACT_NUMBER])}],
    "tables": [
        {
            "file": str,
            "name": Optionally(str),
            "sample": int,
            "k": int,
            "columns": [str],
            "recoding": ByName(str),
            "boxes": Optionally(str),
            "recoding_choice": Optionally(RECODING_CHOICE),
        }
    ],
    "ledger": {
        "entries": [{"number": int, **COST, "parts": [{"guarantee": ByKind(COMPOSABLE), "times": int}]}],
        "total": COST,
        "epsilon_composed": Optionally(EXACT_NUMBER),
        "budget": Optionally(COST),
        "unbounded_releases": int,
        "looks": LOOKS,
    },
    "noisy_total": Later({"epsilon": EXACT_NUMBER, "rows_changed": int, "scale": EXACT_NUMBER, "records": int}),
}
YES_OR_NO = OneOf(True, False)
NOISY_COUNTS_CERTIFICATE = {
    **EVERY_CERTIFICATE,
    "guarantee": {"kind": OneOf("approx-dp"), **COST, "neighbours": NEIGHBOURS, "unit": UNIT, "status": STATUS},
    "method": str,
    "noise": {
        "kind": OneOf("fixed", "once", "rounds"),
        "singles": int,
        "single_sigma": Optionally(EXACT_NUMBER),
        "first": Later((FROM_ONE, EXACT_NUMBER)),
        "candidates": int,
        "score_sigma": Optionally(EXACT_NUMBER),
        "choice_epsilon": Optionally(EXACT_NUMBER),
        "tables": [(FROM_ONE, EXACT_NUMBER)],
        "merged": YES_OR_NO,
    },
    "parts": [{"guarantee": ByKind(COMPOSABLE), "times": FROM_ONE}],
    "epsilon_composed": EXACT_NUMBER,
    "counts_file": OneOf("counts.json"),
    "counts": [
        {
            "file": str,
            "name": str,
            "columns": [str],
            "sigma": EXACT_NUMBER,
            "half_width": int,
            "cells": FROM_ONE,
            "recoding": ByName(str),
        }
    ],
    "synthetic": Optionally(
        {
            "file": str,
            "rows": int,
            "declared": YES_OR_NO,
            "columns": [str],
            "of": OneOf("rows of nobody"),
            "rules": int,
        }
    ),
    "bound": Optionally(OneOf("tight", "published")),
    "epsilon_recoding": EXACT_NUMBER,
    **{name: SAFE_K_CERTIFICATE[name] for name in ("recoding_choice", "views", "samples", "tables", "ledger")},
}
COUNT_INDEX = {
    "version": OneOf(1),
    "dataset": str,
    "confidence": OneOf("0.95"),
    "tables": [
        {"name": str, "file": str, "attributes": [str], "sigma": EXACT_NUMBER, "half_width": int, "cells": FROM_ONE}
    ],
    "scores": [{"attributes": [str], "score": object, "chosen": YES_OR_NO}],
}
"""What counts.json holds."""
COUNTED_CERTIFICATE = {
    **EVERY_CERTIFICATE,
    "guarantee": {
        "kind": OneOf("k-anonymity", "probabilistic-k"),
        "k": int,
        "l": Optionally(int),
        "t": Optionally(EXACT_NUMBER),
        "unit": UNIT,
        "status": STATUS,
    },
    "method": str,
    "grouping": {"name": str, "gain": Optionally(EXACT_NUMBER), "k_by_attribute": ByName(int)},
    "tables": [{"file": str, "k": int, "columns": [str], "quasi": [str], "confidential": [str], "shows": ByName(str)}],
    "ledger": {"unbounded_releases": int, "charges": int, **COST, "looks": LOOKS},
}
RARE = OneOf("keep", "refuse", "drop", "generalize", "replace")
SAMPLE_CERTIFICATE = {
    **EVERY_CERTIFICATE,
    "guarantee": {"kind": OneOf("sample-privacy"), "c": FROM_ONE, **COST, "unit": UNIT, "status": STATUS},
    "method": str,
    "bound": OneOf("tight", "published"),
    "samples": [
        {"k": OneOf(1), "beta": EXACT_NUMBER, "declared": YES_OR_NO, "rare": RARE, "rare_below": FROM_ONE},
    ],
    "tables": SAFE_K_CERTIFICATE["tables"],
    "ledger": COUNTED_CERTIFICATE["ledger"],
}
BUCKETIZED_CERTIFICATE = {
    **EVERY_CERTIFICATE,
    "guarantee": {
        "kind": OneOf("k-anonymous-relation", "probabilistic-k"),
        "k": int,
        "l": Optionally(int),
        "t": Optionally(EXACT_NUMBER),
        "unit": UNIT,
        "status": STATUS,
    },
    "method": str,
    "grouping": {"name": str, "form": OneOf("linked", "permuted"), "show": OneOf("bucket", "value")},
    "buckets": ByName([str]),
    "achieved_t": Optionally(EXACT_NUMBER),
    "tables": [
        {
            "file": str,
            "group": Optionally(str),
            "columns": [str],
            "count": Optionally(str),
            "shows": ByName(str),
            "recoding": ByName(str),
        }
    ],
    "ledger": {"unbounded_releases": int, "charges": int, **COST, "looks": LOOKS},
}
FULL_DOMAIN_CERTIFICATE = {
    **EVERY_CERTIFICATE,
    "claims": [{**CLAIM, "guarantee": ByKind(COUNTED_ON_CLASSES)}],
    "guarantee": {
        "kind": OneOf("k-anonymity"),
        "k": FROM_ONE,
        "l": Optionally(FROM_ONE),
        "entropy_l": Optionally(EXACT_NUMBER),
        "recursive": Optionally({"c": EXACT_NUMBER, "l": FROM_ONE}),
        "t": Optionally(EXACT_NUMBER),
        "closeness": ByName({"distance": OneOf("equal", "ordered", "hierarchical"), "heights": [str]}),
        "alpha": Optionally(EXACT_NUMBER),
        "beta": Optionally({"form": OneOf("basic", "enhanced"), "beta": EXACT_NUMBER}),
        "delta": Optionally(EXACT_NUMBER),
        "k_map": Optionally({"k": FROM_ONE, "sha256": HASH, "file": Optionally(str)}),
        "unit": UNIT,
        "status": STATUS,
    },
    "method": str,
    "search": {
        "kind": OneOf("fixed", "exact", "heuristic"),
        "loss": Optionally(OneOf("granularity", "discernibility", "class_size")),
        "local": YES_OR_NO,
        "suppression": EXACT_NUMBER,
    },
    "tables": [
        {
            "file": str,
            "k": FROM_ONE,
            "columns": [str],
            "quasi": [str],
            "confidential": [str],
            "levels": ByName([int]),
            "recoding": ByName([str]),
        }
    ],
    "ledger": {"unbounded_releases": int, "charges": int, **COST, "looks": LOOKS},
}
CENTROIDS_CERTIFICATE = {
    **EVERY_CERTIFICATE,
    "guarantee": {
        "kind": OneOf("pure-dp", "approx-dp"),
        **COST,
        "neighbours": OneOf("replace_one"),
        "unit": UNIT,
        "status": STATUS,
    },
    "method": str,
    "clusters": {
        "rows": FROM_ONE,
        "k": FROM_ONE,
        "k_found": YES_OR_NO,
        "clusters": FROM_ONE,
        "last_size": FROM_ONE,
        "grouping": OneOf("insensitive", "ranking"),
        "corners": FROM_ONE,
        "calibration": OneOf("whole", "per_record"),
        "noise": OneOf("laplace", "optimal", "gaussian"),
        "noise_found": YES_OR_NO,
        **COST,
    },
    "attributes": [
        {
            "name": str,
            "kind": OneOf("numeric", "categorical"),
            "step": Optionally(EXACT_NUMBER),
            "steps": int,
            "spread": int,
            "concepts": int,
            "weight": EXACT_NUMBER,
            "epsilon": Optionally(EXACT_NUMBER),
            "rho": Optionally(EXACT_NUMBER),
            "scale": Optionally(EXACT_NUMBER),
            "side": Optionally(FROM_ONE),
            "sigma": Optionally(EXACT_NUMBER),
            "choice_epsilon": Optionally(EXACT_NUMBER),
            "half_width": Optionally(EXACT_NUMBER),
        }
    ],
    "parts": NOISY_COUNTS_CERTIFICATE["parts"],
    "epsilon_composed": EXACT_NUMBER,
    "tables": [{"file": str, "columns": [str], "rows": FROM_ONE, "shows": ByName(str)}],
    "ledger": SAFE_K_CERTIFICATE["ledger"],
}
BOXES_CERTIFICATE = {
    **EVERY_CERTIFICATE,
    "guarantee": {
        "kind": OneOf("pure-dp"),
        "epsilon": EXACT_NUMBER,
        "delta": OneOf("0"),
        "neighbours": NEIGHBOURS,
        "unit": UNIT,
        "status": STATUS,
    },
    "method": str,
    "boxes": {
        "row_epsilon": EXACT_NUMBER,
        "tree": {"epsilon": EXACT_NUMBER, "scale": EXACT_NUMBER, "bias": FROM_ONE, "threshold": int},
        "values": Optionally({"epsilon": EXACT_NUMBER, "attributes": [str]}),
        "means": {
            "epsilon": EXACT_NUMBER,
            "numbers": FROM_ONE,
            "side": FROM_ONE,
            "inner": int,
            "half_width": EXACT_NUMBER,
        },
    },
    "attributes": [
        {
            "name": str,
            "kind": OneOf("ordered", "nominal"),
            "points": FROM_ONE,
            "step": Optionally(EXACT_NUMBER),
            "weight": EXACT_NUMBER,
        }
    ],
    **{name: CENTROIDS_CERTIFICATE[name] for name in ("parts", "epsilon_composed", "tables", "ledger")},
}
CERTIFICATES = {
    "safe-k": SAFE_K_CERTIFICATE,
    "microaggregation": COUNTED_CERTIFICATE,
    "probabilistic-k": COUNTED_CERTIFICATE,
    "k-anonymity": FULL_DOMAIN_CERTIFICATE,
    "noisy-counts": NOISY_COUNTS_CERTIFICATE,
    "synthetic": NOISY_COUNTS_CERTIFICATE,
    "t-closeness": BUCKETIZED_CERTIFICATE,
    "anatomy": BUCKETIZED_CERTIFICATE,
    "sample": SAMPLE_CERTIFICATE,
    "dp-microaggregation": CENTROIDS_CERTIFICATE,
    "box-microaggregation": BOXES_CERTIFICATE,
}
"""What a certificate holds, by its method."""


def misfit(value: Any, form: Any, place: str) -> Optional[str]:
    """The first place at which a value does not have a form, in words that name the key; None where it has it."""
    if isinstance(form, (Optionally, Later)):
        absent = value is None and isinstance(form, Optionally)
        return None if absent else misfit(value, form.form, place)
    if isinstance(form, ByKind):
        if not isinstance(value, dict) or value.get("kind") not in form.forms:
            return f"{place} has no kind that is one of: {', '.join(form.forms)}"
        return misfit(value, form.forms[value["kind"]], place)
    if isinstance(form, Either):
        found = [misfit(value, each, place) for each in form.forms]
        return None if None in found else found[0]
    if isinstance(form, tuple) and not hasattr(form, "_fields"):
        if not isinstance(value, list) or len(value) != len(form):
            return f"{place} is no list of {len(form)}"
        inside = (misfit(item, own, f"{place}[{index}]") for index, (item, own) in enumerate(zip(value, form)))
        return next((words for words in inside if words is not None), None)
    if isinstance(form, (list, dict, ByName, Known)):
        return _misfit_inside(value, form, place)
    return _misfit_of_leaf(value, form, place)


def _misfit_of_leaf(value: Any, form: Any, place: str) -> Optional[str]:
    """The same for a value that holds no others."""
    wrong = None
    if isinstance(form, OneOf):
        known = any(type(value) is type(word) and value == word for word in form.words)
        wrong = None if known else f"is not one of: {', '.join(map(str, form.words))}"
    elif form is LABEL_TREE:
        wrong = None if is_label_tree(value) else "holds something that is no text"
    elif isinstance(form, re.Pattern):
        short = isinstance(value, str) and len(value) <= LONGEST_NUMBER
        wrong = None if short and form.fullmatch(value) else "is not written as it must be"
    elif form is str:
        wrong = None if isinstance(value, str) and value else "is no text, or an empty one"
    elif type(value) is not int or form is object:
        wrong = None if type(value) is int else "is no integer"
    elif value < (1 if form is FROM_ONE else 0):
        wrong = "is negative" if value < 0 else "is zero"
    return None if wrong is None else f"{place} {wrong}"


def is_label_tree(value: Any) -> bool:
    """Whether there is nothing but texts in the lists and objects of a value."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list)):
            waiting += each.values() if isinstance(each, dict) else each
        elif not isinstance(each, str):
            return False
    return True


def _misfit_inside(value: Any, form: Any, place: str) -> Optional[str]:
    """The same for a list, or an object with keys of its own."""
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"{place} is no list"
        found = (misfit(item, form[0], f"{place}[{index}]") for index, item in enumerate(value))
    elif not isinstance(value, dict):
        return f"{place} is no object"
    elif isinstance(form, ByName):
        found = (misfit(item, form.form, f"{place}.{name}") for name, item in value.items())
    else:
        forms = form.forms if isinstance(form, Known) else form
        for name in form if isinstance(form, dict) else ():
            if name not in value and not isinstance(form[name], Later):
                return f"{place} has no key '{name}'"
        for name in value:
            if name not in forms:
                return f"{place} has the key '{name}', which it must not have"
        found = (misfit(value[name], own, f"{place}.{name}") for name, own in forms.items() if name in value)
    return next((words for words in found if words is not None), None)


def key_check(certificate: dict[str, Any]) -> Check:
    """Whether a certificate has the keys and types of its method; what does not fit is named."""
    method = certificate.get("method")
    if method not in CERTIFICATES:
        return must("keys", False, f"certificate.method is not one of: {', '.join(CERTIFICATES)}")
    wrong = misfit(certificate, CERTIFICATES[method], "certificate")
    return must("keys", wrong is None, wrong or "those of its format, and no others")


# === 4. Files and hashes ===========================================================================================


def sha256(path: Path) -> str:
    """The hash of a file, block by block."""
    with path.open("rb") as file:
        return hash_of(file)


def hash_of(file: BinaryIO) -> str:
    """The hash of an open file, block by block."""
    digest = hashlib.sha256()
    for block in iter(lambda: file.read(1 << 20), b""):
        digest.update(block)
    return digest.hexdigest()


def canonical_hash(content: Any) -> str:
    """SHA-256 of plain values as canonical JSON: sorted keys, no blanks, nothing but ASCII."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def seal(certificate: dict[str, Any]) -> str:
    """The hash of everything in the certificate but the seal itself."""
    return canonical_hash({name: value for name, value in certificate.items() if name != "seal"})


def sentences_of(certificate: dict[str, Any]) -> dict[str, Any]:
    """Everything that a certificate says in sentences, by its place in the file."""
    found: dict[str, Any] = {
        name: certificate[name] for name in ("sentence", "explanation", "not_promised", "how_to_verify")
    }
    for index, claim in enumerate(certificate["claims"]):
        found[f"claims[{index}].conditions"] = claim["conditions"]
    for index, theorem in enumerate(certificate["theorems"]):
        place = f"theorems[{index}]"
        for name in ("title", "citation", "statement"):
            found[f"{place}.{name}"] = theorem[name]
        for number_, premise in enumerate(theorem["premises"]):
            for name in ("text", "detail"):
                found[f"{place}.premises[{number_}].{name}"] = premise[name]
    choices = {"recoding_choice": certificate.get("recoding_choice")}
    for index, table in enumerate(certificate["tables"]):
        choices[f"tables[{index}].recoding_choice"] = table.get("recoding_choice")
    for place, choice in choices.items():
        if choice is not None and "restriction" in choice:
            found[f"{place}.restriction"] = choice["restriction"]
    return found


def text_hash(certificate: dict[str, Any]) -> str:
    """The hash of everything that a certificate says in sentences."""
    return canonical_hash(sentences_of(certificate))


def plain_check(found: Listing, listed: dict[str, Any]) -> Check:
    """Whether there is nothing but plain files and folders, with names that are the same on every system."""
    wrong = [f"{name} is no plain file" for name in found.others]
    for name in [*listed, *found.files, *found.folders]:
        try:
            parts_of(name)
        except ValueError:
            wrong.append(f"{name} is not a name that a file of a release has")
    alike = Counter(unicodedata.normalize("NFKC", name).casefold() for name in {*listed, *found.files, *found.folders})
    wrong += [f"{name} is there in two spellings" for name, times in alike.items() if times > 1]
    return must("plain-files", not wrong, visible(wrong[0], 300) if wrong else "no links, pipes or devices")


NOT_THERE = "the file is not there"


def hash_checks(folder: Path, certificate: dict[str, Any], found: Listing) -> Iterator[Check]:
    """The seal, every file that the certificate lists and no other, its sentences, and its page."""
    yield must("seal", certificate["seal"] == seal(certificate), "SHA-256 over the certificate")
    listed = certificate["files"]
    for name, expected in listed.items():
        try:
            with open_inside(folder, name) as file:
                same = hash_of(file) == expected
        except ValueError:
            same = False
        is_there = name in found.files or name in found.others
        yield must("file-hash", same, "SHA-256 of the file" if is_there else NOT_THERE, about=name)
    extra = {*found.files, *found.others} - {*listed, "certificate.json", "certificate.html"}
    extra |= set(found.folders) - {parent.as_posix() for name in listed for parent in PurePosixPath(name).parents}
    named = f", such as {visible(min(extra), 100)}" if extra else ""
    detail = f"files or folders that the certificate does not list: {len(extra)}{named}"
    yield must("no-other-files", not extra, detail)
    same = listed.get("policy.lock.yaml") == certificate["plan_sha256"]
    yield must("plan-hash", same, "the hash of policy.lock.yaml")
    same = certificate["wording"]["text_sha256"] == text_hash(certificate)
    yield Check("wording-hash", same, "SHA-256 over all sentences of the certificate")
    yield page_check(folder, certificate)


def page_check(folder: Path, certificate: dict[str, Any]) -> Check:
    """Whether the page is the one that was sealed. It shows the seal, so its hash is taken with zeros in that place."""
    try:
        page = read_bytes(folder, "certificate.html")
    except BoundError:
        raise
    except ValueError:
        return Check("page-hash", False, "certificate.html is not there, or is no plain file")
    own = certificate["seal"].encode("ascii")
    found = hashlib.sha256(page.replace(own, b"0" * 64)).hexdigest()
    same = own in page and found == certificate["wording"]["page_sha256"]
    return Check("page-hash", same, "SHA-256 of certificate.html, with zeros in the place of the seal")


def listed_parts(certificate: dict[str, Any]) -> dict[str, list[str]]:
    """The folders that are listed in the place of Parquet files, each with what is listed in it: the parts of a large table."""
    found: dict[str, list[str]] = {}
    for name in certificate["files"]:
        folder, _, last = name.rpartition("/")
        if last and folder.endswith(".parquet"):
            found.setdefault(folder, []).append(name)
    return found


def part_checks(folder: Path, certificate: dict[str, Any]) -> Iterator[Check]:
    """Tables that are folders of parts: their numbers, and what each part says of its rows and columns."""
    for name, listed in listed_parts(certificate).items():
        wanted = [part_of(name, place) for place in range(len(listed))]
        if set(listed) != set(wanted) or name in certificate["files"]:
            yield must(
                "table-parts", False, "their numbers have a gap, or something is there that is no part", about=name
            )
            continue
        try:
            shapes = [_shape_of_part(folder, part) for part in wanted]
        except UnreadableError as error:
            yield must("table-parts", None, str(error), about=name)
            continue
        bounded("rows of a Parquet table", sum(shape[0] for shape in shapes), MOST_ROWS)
        alike = all(rows > 0 and columns == shapes[0][1] for rows, columns in shapes)
        detail = (
            f"{len(shapes):,}, each with rows and the same columns" if alike else "one has no rows, or other columns"
        )
        yield must("table-parts", alike, detail, about=name)


def _shape_of_part(folder: Path, name: str) -> tuple[int, Any]:
    """How many rows a Parquet file says it has, and its columns with their types; no rows where it cannot be read."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise UnreadableError(NO_PYARROW) from None
    try:
        with open_inside(folder, name) as file, closing(parquet.ParquetFile(file)) as table:
            return table.metadata.num_rows, [(field.name, str(field.type)) for field in table.schema_arrow]
    except (ArrowException, OSError, OverflowError):
        return 0, None


def with_parts(certificate: dict[str, Any], names: Iterable[str]) -> set[str]:
    """These files, with the listed parts of a table in the place of its name."""
    parts = listed_parts(certificate)
    return {file for name in names for file in parts.get(name, [name])}


def carried_files(certificate: dict[str, Any], lock: dict[str, Any]) -> set[str]:
    """The listed files that hierarchies were read from: each has the hash that the locked plan names, and is named by it."""
    found = set()
    for own in lock["attributes"].values():
        hierarchy = own.get("hierarchy") or {}
        for held in (hierarchy.get("file"), hierarchy.get("taxonomy")):
            digest = held.get("sha256") if isinstance(held, dict) else None
            if isinstance(digest, str) and certificate["files"].get(f"hierarchies/{digest[:32]}.txt") == digest:
                found.add(f"hierarchies/{digest[:32]}.txt")
    return found


def idle_file_check(certificate: dict[str, Any], lock: dict[str, Any]) -> Check:
    """Whether every listed file is there for something."""
    used = {
        "policy.lock.yaml",
        *(["views.json"] if certificate.get("views") else []),
        *carried_files(certificate, lock),
    }
    if "counts" in certificate:
        used |= {certificate["counts_file"]}
        used |= {certificate["synthetic"]["file"]} if certificate["synthetic"] is not None else set()
    for table in [*certificate["tables"], *certificate.get("counts", [])]:
        used |= {table["file"], *table.get("recoding", {}).values()}
        used |= {table["boxes"]} if table.get("boxes") is not None else set()
    same = beside_handbook(certificate) == with_parts(certificate, used)
    return must("no-idle-files", same, "every file is there for something")


HANDBOOK = frozenset(
    {"README.html", "README.md", "codebook.csv", "codebook.html", "datapackage.json", "read_release.py"}
)
"""What a recipient reads first. The promise does not rest on it; `shoal verify` makes it again and compares."""


def beside_handbook(certificate: dict[str, Any]) -> set[str]:
    """The listed files without the handbook, where all of it is listed; earlier releases have none."""
    listed = set(certificate["files"])
    return listed - HANDBOOK if listed >= HANDBOOK else listed


def handbook_check(certificate: dict[str, Any]) -> Iterator[Check]:
    """That the handbook has the hashes that are listed is checked before; what it says is not compared here."""
    if set(certificate["files"]) >= HANDBOOK:
        yield Check(
            "handbook", None, "what README, codebook, datapackage.json and read_release.py say is not compared here"
        )


# === 5. The locked plan ============================================================================================


ORIGIN = OneOf("declared", "profiled")
POINT = re.compile(
    r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?|[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]{5,15})?"
)
"""A number, a date or a time as a domain or a hierarchy names it."""
TYPES = ("integer", "decimal", "category", "ordinal", "text", "boolean", "date", "datetime")
HIERARCHY = {
    "intervals": [EXACT_NUMBER],
    "rounding": [EXACT_NUMBER],
    "cuts": LABEL_TREE,
    "labels": LABEL_TREE,
    "groups": LABEL_TREE,
    "taxonomy": LABEL_TREE,
    "file": {"sha256": HASH},
    "mask": Known({"side": OneOf("left", "right"), "keep": [FROM_ONE], "prefix": [FROM_ONE], "length": FROM_ONE}),
    "date": [OneOf("hour", "day", "week", "month", "quarter", "year", "decade")],
    "rest": str,
    "delimiter": str,
    "origin": POINT,
    "below": POINT,
    "above": POINT,
}
ATTRIBUTE = {
    "role": OneOf("identifier", "quasi", "confidential", "other", "weight", "drop"),
    "type": OneOf(*TYPES),
    "domain": Optionally(Either([POINT], {"values": [str]}, Known({"pattern": str, "length": str}))),
    "hierarchy": Optionally(Known(HIERARCHY)),
    "missing": OneOf("value", "refuse"),
    "outside": OneOf("error", "clamp", "suppress"),
    "weight": EXACT_NUMBER,
    "provenance": Known({"domain": ORIGIN, "hierarchy": ORIGIN}),
    "label": str,
    "value_labels": ByName(str),
    "missing_values": [str],
    "format": str,
    "decimal": OneOf(".", ","),
}
DECIDING = ("role", "type", "domain", "hierarchy", "provenance")
"""The keys that every attribute has; others follow from defaults where they are missing."""
LEVELS = ByName(int)
EVERY_GROUP = {
    "every": OneOf("singles", "pairs", "triples"),
    "limit": FROM_ONE,
    "groups": [[str]],
    "workload": [[str]],
}
COUNT_TABLES = {
    **EVERY_GROUP,
    "choose": Known({"count": FROM_ONE, "width": OneOf(2, 3)}),
    "adapt": Known({"rounds": FROM_ONE, "width": OneOf(2, 3), "target": str, "share": EXACT_NUMBER}),
    "cells": OneOf("merged", "declared"),
    "singles": EXACT_NUMBER,
}
COUNT_VIEWS = Known({**COUNT_TABLES, "show": OneOf("counts")})
PAID_RECODING = {"epsilon": EXACT_NUMBER, "finest": LEVELS, "coarsest": LEVELS}
SAFE_K_RELEASE = {
    **COST,
    "k": FROM_ONE,
    "recoding": Known(
        {
            "levels": LEVELS,
            "choose": Known({**PAID_RECODING, "score": str, "target": str}),
            "tree": Known(
                {**PAID_RECODING, "grow": OneOf("surveys"), "sample": EXACT_NUMBER, "depth": FROM_ONE, "target": str}
            ),
        }
    ),
    "views": Either(
        Known(
            {
                **EVERY_GROUP,
                "choose": Known({"epsilon": EXACT_NUMBER, "count": FROM_ONE, "width": OneOf(2, 3)}),
                "allocation": OneOf("equal", "weighted"),
            }
        ),
        COUNT_VIEWS,
    ),
    "counts": Known({**COUNT_TABLES, "share": EXACT_NUMBER}),
    "total": Known({"epsilon": EXACT_NUMBER}),
    "sampling": Known(
        {
            "beta": Either(EXACT_NUMBER, OneOf("auto")),
            "already": EXACT_NUMBER,
            "prefer": OneOf("rows", "balance", "detail"),
        }
    ),
    "bound": OneOf("tight", "published"),
}
COUNTED_RELEASE = {
    "k": FROM_ONE,
    "l": FROM_ONE,
    "t": EXACT_NUMBER,
    "crowds": ByName(FROM_ONE),
    "grouping": str,
    "gain": EXACT_NUMBER,
    "show": OneOf("centroid", "median", "label"),
}
FULL_DOMAIN_RELEASE = {
    "k": FROM_ONE,
    "l": FROM_ONE,
    "t": EXACT_NUMBER,
    "suppression": EXACT_NUMBER,
    "criteria": Known(
        {
            "entropy_l": EXACT_NUMBER,
            "recursive": {"c": EXACT_NUMBER, "l": FROM_ONE},
            "distance": OneOf("equal", "ordered", "hierarchical"),
            "alpha": EXACT_NUMBER,
            "beta": Either({"basic": EXACT_NUMBER}, {"enhanced": EXACT_NUMBER}),
            "delta": EXACT_NUMBER,
            "k_map": Known({"k": FROM_ONE, "population": {"sha256": HASH}, "count": str, "public": YES_OR_NO}),
        }
    ),
    "recoding": Either(
        {"levels": LEVELS},
        {
            "search": Known(
                {
                    "loss": OneOf("granularity", "discernibility", "class_size"),
                    "levels": LEVELS,
                    "finest": LEVELS,
                    "coarsest": LEVELS,
                    "local": YES_OR_NO,
                }
            )
        },
    ),
}
SYNTHETIC_RELEASE = {
    **COST,
    "recoding": Known({"levels": LEVELS}),
    "views": COUNT_VIEWS,
    "synthetic": Known(
        {
            "rows": Either(OneOf("noisy"), FROM_ONE),
            "never": [ByName([str])],
            "favour": OneOf("counts", "associations"),
        }
    ),
}
SAMPLE_RELEASE = {
    **COST,
    "recoding": Known({"levels": LEVELS}),
    "sampling": Known({"beta": Either(EXACT_NUMBER, OneOf("auto")), "prefer": OneOf("balance")}),
    "bound": OneOf("tight", "published"),
    "rare": RARE,
    "rare_below": FROM_ONE,
}
BUCKETIZED_RELEASE = {
    "k": FROM_ONE,
    "form": OneOf("linked", "permuted"),
    "grouping": OneOf("near", "random", "confidential"),
}
CENTROIDS_RELEASE = {
    **COST,
    "k": FROM_ONE,
    "rows": FROM_ONE,
    "grouping": OneOf("boxes", "insensitive", "ranking"),
    "corners": FROM_ONE,
    "noise": OneOf("auto", "laplace", "optimal", "gaussian"),
    "calibration": OneOf("whole", "per_record"),
}
RELEASES = {
    "safe-k": SAFE_K_RELEASE,
    "microaggregation": COUNTED_RELEASE,
    "probabilistic-k": COUNTED_RELEASE,
    "k-anonymity": FULL_DOMAIN_RELEASE,
    "synthetic": SYNTHETIC_RELEASE,
    "t-closeness": {**BUCKETIZED_RELEASE, "t": EXACT_NUMBER, "show": OneOf("bucket", "value")},
    "anatomy": {**BUCKETIZED_RELEASE, "l": FROM_ONE},
    "sample": SAMPLE_RELEASE,
    "dp-microaggregation": CENTROIDS_RELEASE,
}
STEP = Known(
    {
        "top": ByName(str),
        "bottom": ByName(str),
        "round": ByName(EXACT_NUMBER),
        "random_round": ByName(FROM_ONE),
        "population_threshold": Known({"attribute": str, "least": FROM_ONE, "counts": ByName(int), "other": str}),
        "pram": Known(
            {
                "attribute": str,
                "keep": EXACT_NUMBER,
                "missing": OneOf("stay", "draw"),
                "matrix": ByName(ByName(EXACT_NUMBER)),
            }
        ),
        "swap": {"attributes": [str], "rate": EXACT_NUMBER, "within": [str]},
    }
)
"""One step before the method; it has one of these keys."""
LOCK = {
    "version": OneOf(1),
    "dataset": str,
    "unit": Either(OneOf("row"), {"column": str, "max_rows": FROM_ONE}),
    "neighbours": NEIGHBOURS,
    "file": Known(
        {
            "encoding": str,
            "delimiter": str,
            "quote": str,
            "decimal": OneOf(".", ","),
            "missing": [str],
            "sheet": str,
            "table": str,
            "query": str,
        }
    ),
    "attributes": ByName(Known(ATTRIBUTE)),
    "treatments": [STEP],
    "budget": Optionally(COST),
}
"""What a locked plan holds beside its release. Keys that follow from others may be missing, because older programs had fewer."""


def lock_key_check(lock: dict[str, Any]) -> Check:
    """Whether a locked plan has the keys of its method, and no others; what does not fit is named."""
    release = lock.get("release")
    method = release.get("method") if isinstance(release, dict) else None
    if not isinstance(method, str) or method not in RELEASES:
        return must("lock-keys", False, f"release.method is not one of: {', '.join(RELEASES)}")
    output = Known({"format": OneOf("csv", "parquet")})
    whole = {**LOCK, "release": Known({"method": str, **RELEASES[method], "repeat": FROM_ONE, "output": output})}
    missing = [name for name in ("version", "dataset", "unit", "neighbours", "attributes") if name not in lock]
    for attribute, own in lock["attributes"].items() if isinstance(lock.get("attributes"), dict) else ():
        held = own if isinstance(own, dict) else {}
        missing += [f"attributes.{attribute}.{name}" for name in DECIDING if name not in held]
    wrong = f"the locked plan has no key '{missing[0]}'" if missing else misfit(lock, Known(whole), "the locked plan")
    wrong = wrong or _misplaced(lock["release"])
    return must("lock-keys", wrong is None, wrong or "those of its format, and no others")


def _misplaced(release: dict[str, Any]) -> Optional[str]:
    """What is said of rows where counts are shown, or of counts where rows are, in words that name the key."""
    views, method = release.get("views") or {}, release["method"]
    shows_counts = views.get("show") == "counts"
    of_rows, of_counts = ("k", "sampling", "bound", "counts", "total"), ("adapt", "cells", "singles")
    if method == "synthetic" or shows_counts:
        wrong = [name for name in of_rows if name in release]
        needed = [name for name, held in (("show", views), ("cells", views)) if name not in held]
        return (
            f"the locked plan has the key '{wrong[0]}'"
            if wrong
            else f"views have no key '{needed[0]}'"
            if needed
            else None
        )
    wrong = [name for name in of_counts if name in views]
    return f"the locked plan has the key '{wrong[0]}', which is none of rows" if wrong else None


class LockedPlan(NamedTuple):
    """What the locked plan of a safe-k release asks for, in the words of this file."""

    lock: dict[str, Any]
    release: dict[str, Any]
    epsilon: Fraction
    delta: Fraction
    max_rows: int
    replaced: bool
    already_sampled: bool
    drafted: bool
    recoding: str
    epsilon_recoding: Fraction
    epsilon_view_choice: Fraction
    looked: bool = False
    epsilon_total: Fraction = Fraction(0)

    @property
    def epsilon_paid(self) -> Fraction:
        """What is spent beside the samples: on the noisy total, the choice of views and the recoding."""
        return self.epsilon_total + self.epsilon_view_choice + self.epsilon_recoding

    @property
    def rows_changed(self) -> int:
        """By how many rows neighbouring tables differ: a row that is replaced is one row less and one row more."""
        return self.max_rows * (2 if self.replaced else 1)

    @property
    def has_views(self) -> bool:
        """Whether many narrow tables are published instead of one wide one."""
        return self.release.get("views") is not None

    @property
    def composes_by_curve(self) -> bool:
        """Whether samples compose by their exact curve; else each by one pair of epsilon and delta."""
        return self.rows_changed == 1 and self.release["bound"] == "tight"

    @property
    def published(self) -> set[str]:
        """The attributes that a release shows."""
        return published_attributes(self.lock)

    @property
    def status(self) -> str:
        """How the promise is known to hold."""
        if self.already_sampled:
            return "proved with condition"
        return "proved for a plan tuned on the data" if self.drafted or self.looked else "proved"


def read_plan(lock: dict[str, Any]) -> LockedPlan:
    """The plan of a lock; KeyError where it asks for no safe-k release."""
    release, unit = lock["release"], lock["unit"]
    (recoding,) = release["recoding"]
    choice_of_views = (release.get("views") or {}).get("choose")
    return LockedPlan(
        lock=lock,
        release=release,
        epsilon=number(release["epsilon"]),
        delta=number(release["delta"]),
        max_rows=unit["max_rows"] if isinstance(unit, dict) else 1,
        replaced=lock["neighbours"] == "replace_one",
        already_sampled=release["sampling"].get("already") is not None,
        drafted=is_drafted(lock),
        recoding=recoding,
        epsilon_recoding=Fraction(0) if recoding == "levels" else number(release["recoding"][recoding]["epsilon"]),
        epsilon_view_choice=number(choice_of_views["epsilon"]) if choice_of_views else Fraction(0),
        epsilon_total=number(release["total"]["epsilon"]) if release.get("total") is not None else Fraction(0),
    )


def certified_method(lock: dict[str, Any]) -> Any:
    """What a certificate calls the method of a locked plan: noisy counts, and boxes, have a certificate of their own."""
    release = lock["release"]
    if release["method"] == "dp-microaggregation" and release.get("grouping") == "boxes":
        return "box-microaggregation"
    shows_counts = release.get("counts") is not None or (release.get("views") or {}).get("show") == "counts"
    return "noisy-counts" if release["method"] == "safe-k" and shows_counts else release["method"]


def is_drafted(lock: dict[str, Any]) -> bool:
    """Whether parts of a plan were drafted from the data."""
    return any(
        own[key] is not None and own["provenance"][key] == "profiled"
        for own in lock["attributes"].values()
        for key in ("domain", "hierarchy")
    )


def is_looked(certificate: dict[str, Any]) -> bool:
    """Whether results on the real table were seen with another plan before this one was charged, by what is on record.

    A plan that is changed after results were seen may be chosen by them. A draft of the policy is no such look: what it read off
    the table is marked in the locked plan until a person confirms it.
    """
    return any(look["other_plan"] for look in certificate["ledger"].get("looks", []))


DIFFERENTIAL = ("safe-k", "noisy-counts", "synthetic", "dp-microaggregation", "box-microaggregation")
"""Methods that pay for differential privacy."""


def is_allowed(lock: dict[str, Any]) -> bool:
    """Whether the theorems can be applied to what a locked plan asks for. Shoal refuses other plans before anything is drawn."""
    unit, release, attributes = lock["unit"], lock["release"], lock["attributes"]
    max_rows = 1
    if isinstance(unit, dict):
        max_rows = unit["max_rows"]
        if unit["column"] not in attributes or type(max_rows) is not int or max_rows < 1:
            return False
    origins = {own["provenance"][key] for own in attributes.values() for key in ("domain", "hierarchy")}
    if not origins <= {"declared", "profiled"} or lock["neighbours"] not in ("add_remove", "replace_one"):
        return False
    method = certified_method(lock)
    if not are_steps_allowed(lock, differential=method in DIFFERENTIAL):
        return False
    if method in ("dp-microaggregation", "box-microaggregation"):
        return is_allowed_centroids(lock, max_rows) if method == "dp-microaggregation" else is_allowed_boxes(lock)
    if method in ("noisy-counts", "synthetic"):
        once, beside = release["repeat"] == 1, release.get("counts") is not None
        fits = set(release["recoding"]) == {"levels"} if not beside else release["sampling"].get("already") is None
        return bool(once and fits and (not beside or _is_allowed_of_rows(lock, max_rows)))
    if method == "sample":
        return bool(lock["neighbours"] == "replace_one" and release["repeat"] == 1 and is_allowed_sample(release))
    if method != "safe-k":  # one row of each person is what its theorems speak of
        return bool(max_rows == 1 and (method != "k-anonymity" or number(release["suppression"]) < 1))
    return _is_allowed_of_rows(lock, max_rows)


def _is_allowed_of_rows(lock: dict[str, Any], max_rows: int) -> bool:
    """The same for rows of a random sample."""
    plan, release = read_plan(lock), lock["release"]
    if plan.release["bound"] == "published" and plan.rows_changed != 1:
        return False  # the published theorem speaks of one row added or removed
    if release.get("total") is not None:
        # Without noise only where one row is replaced: then every neighbour has the same number.
        exact_total = plan.epsilon_total == 0 and plan.replaced and lock["unit"] == "row"
        if not (plan.epsilon_total > 0 or exact_total) or release.get("counts") is not None:
            return False  # noisy counts tell the total
        if plan.already_sampled:
            return False
    # A table that is itself the sample is used once, for one table whose labels were fixed before, one row a person.
    once = plan.recoding == "levels" and not plan.has_views and release["repeat"] == 1 and max_rows == 1
    return once or not plan.already_sampled


def published_attributes(lock: dict[str, Any]) -> set[str]:
    """The attributes that a release shows."""
    return {name for name, own in lock["attributes"].items() if own["role"] not in ("identifier", "drop")}


def unit_of(lock: dict[str, Any]) -> dict[str, Any]:
    """The unit of privacy that a locked plan names, as a certificate writes it."""
    named = isinstance(lock["unit"], dict)
    return {
        "whose": "person" if named else "row",
        "neighbours": lock["neighbours"],
        "column": lock["unit"]["column"] if named else None,
        "max_rows": lock["unit"]["max_rows"] if named else 1,
    }


# === 6. Promise and claims =========================================================================================


def equal(told: Any, wanted: Any) -> bool:
    """Equal in type and value; a number that is wanted as a fraction is told as exact text."""
    if isinstance(wanted, Fraction):
        return number(told) == wanted
    if type(told) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return set(told) == set(wanted) and all(equal(told[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(told) == len(wanted) and all(equal(*both) for both in zip(told, wanted))
    return bool(told == wanted)


def subject_checks(certificate: dict[str, Any], lock: dict[str, Any], status: str) -> Iterator[Check]:
    """Which dataset, on what day, by which method, for whom, and how it is known: the same for every kind of release."""
    yield must("dataset", certificate["dataset"] == lock["dataset"], "the one of the locked plan")
    try:
        is_day = date.fromisoformat(certificate["date"]).isoformat() == certificate["date"]
    except ValueError:
        is_day = False
    yield must("date", is_day, "a day of the calendar")
    yield must("method", certificate["method"] == certified_method(lock), "the one of the locked plan")
    yield must("unit", certificate["guarantee"]["unit"] == unit_of(lock), "the one of the locked plan")
    first = [claim["status"] for claim in certificate["claims"][:1]]
    told = {certificate["status"], certificate["guarantee"]["status"], *first}
    yield must("status", told == {status}, f"the locked plan and the looks on record support '{status}'")


def claim_checks(certificate: dict[str, Any], wanted: list[dict[str, Any]], conditions: list[int]) -> Iterator[Check]:
    """The claims, the number of their conditions (which are sentences), and the theorems of all of them."""
    told = [{name: own[name] for name in own if name != "conditions"} for own in certificate["claims"]]
    yield must("claims", equal(told, wanted), "those of the locked plan, and no others")
    counts = [len(claim["conditions"]) for claim in certificate["claims"]]
    yield must("conditions", counts == conditions, "as many as the locked plan implies")
    names = [theorem["name"] for theorem in certificate["theorems"]]
    rests = [name for claim in wanted for name in claim["theorems"]]
    yield must("theorems", names == list(dict.fromkeys(rests)), "those that the promise rests on")


SCORE_THEOREMS = {
    "ramp": "ramp-score",
    "records": "records-score",
    "discernibility": "discernibility-score",
    "target": "target-score",
}
"""The theorem of each score by which a scheme may be drawn."""


RECORD_WISE = "record-wise-treatment"
"""The theorem by which a promise holds for the table before steps that look at one record alone."""


def theorems_of(plan: LockedPlan, tables: int) -> list[str]:
    """The names of all results that the promise of a safe-k release rests on, in their order."""
    found = [f"safe-k-{plan.release['bound']}"]
    found += ["group-privacy"] if plan.max_rows > 1 else []
    found += ["replace-one"] if plan.replaced else []
    if plan.recoding != "levels":
        asked = plan.release["recoding"][plan.recoding]
        found.append("eps-safe-recoding")
        if plan.recoding == "choose":
            found += ["monotone-exponential", SCORE_THEOREMS[asked["score"]]]
        else:
            found += ["measured-tree"]
            found += ["amplification"] if asked.get("sample") is not None else []
    treated = [RECORD_WISE] if plan.lock.get("treatments") else []
    total = ["laplace-grid"] if plan.epsilon_total else []
    if plan.has_views:
        return [*found, *(["view-choice"] if plan.epsilon_view_choice else []), *total, "pld-composition", *treated]
    if tables == 1:
        return [*found, *total, *(["basic-composition"] if total else []), *treated]
    return [*found, *total, "pld-composition" if plan.composes_by_curve else "basic-composition", *treated]


def promise_checks(certificate: dict[str, Any], plan: LockedPlan) -> Iterator[Check]:
    """What the locked plan of a safe-k release decides without a computation."""
    tables = certificate["tables"]
    yield from subject_checks(certificate, plan.lock, plan.status)
    yield must("bound", certificate["bound"] == plan.release["bound"], "the one of the locked plan")
    guarantee = {"kind": "approx-dp", "epsilon": plan.epsilon, "delta": plan.delta}
    told = {name: own for name, own in certificate["guarantee"].items() if name not in ("unit", "status")}
    share = plan.epsilon_recoding / len(tables) if plan.has_views else plan.epsilon_recoding
    wanted = {**guarantee, "epsilon_recoding": share, "neighbours": plan.lock["neighbours"]}
    yield must("guarantee", equal(told, wanted), "as the locked plan asks for it")
    promise = {
        "guarantee": guarantee,
        "unit": unit_of(plan.lock),
        "status": plan.status,
        "theorems": theorems_of(plan, len(tables)),
        "randomness": "operating system",
    }
    conditions = plan.already_sampled * (1 + plan.drafted + plan.looked)
    yield from claim_checks(certificate, [promise, counted_claim(certificate)], [conditions, 0])
    yield from total_checks(certificate, plan)


def total_checks(certificate: dict[str, Any], plan: LockedPlan) -> Iterator[Check]:
    """The number of records: where the locked plan asks for it, with the noise that its epsilon buys, none for 0; else none."""
    told, asked = certificate.get("noisy_total"), plan.release.get("total") is not None
    if not asked and told is None:
        return
    fits = False
    if told is not None and asked:
        changed = plan.max_rows if plan.epsilon_total else 0
        scale = changed / plan.epsilon_total if plan.epsilon_total else Fraction(0)
        wanted = {"epsilon": plan.epsilon_total, "rows_changed": changed, "scale": scale}
        least = -LARGEST_COUNT if plan.epsilon_total else 0
        fits = equal({name: told[name] for name in wanted}, wanted) and least <= told["records"] <= LARGEST_COUNT
    yield must("noisy-total", fits, "the noise that the locked plan sets epsilon aside for")


def counted_claim(certificate: dict[str, Any]) -> dict[str, Any]:
    """What is counted on the rows of samples: k-anonymity."""
    return {
        "guarantee": {"kind": "k-anonymity", "k": min(sample["k"] for sample in certificate["samples"])},
        "unit": None,
        "status": "checked",
        "theorems": [],
        "randomness": "operating system",
    }


# === 7. One sample =================================================================================================
#
# Keep each row with probability beta, recode, suppress every class of fewer than k equal rows. Let M be the number of rows of a
# class that are passed over before the k-th is sampled; it has a negative binomial distribution. Telling a table from the same
# table with one row fewer is exactly as hard as telling M from M + 1 (theorem safe-k-dominating-pair), so
#
#     delta(epsilon) = max( sum_m max(0, Pr[M = m] - e^epsilon Pr[M + 1 = m]), the same with the two exchanged ).
#
# The two directions are called "remove" and "add". Sums are in decimal arithmetic with 80 digits.


def delta(k: int, beta: Fraction, epsilon: Fraction) -> Decimal:
    """The exact delta of one sample for one row added or removed: the larger of the two directions.

    >>> round_up(delta(58, Fraction("0.632"), Fraction(1)))
    '9.323e-7'
    """
    with localcontext() as context:
        context.prec, context.Emin = 80, -999_999_999
        factor = decimal(epsilon).exp()
        return max(_delta_remove(k, decimal(beta), factor), _delta_add(k, decimal(beta), factor))


def _delta_remove(k: int, rate: Decimal, factor: Decimal) -> Decimal:
    """Removing a row: the terms are positive up to where Pr[M = m] / Pr[M + 1 = m] falls to e^epsilon."""
    if k > LONG_SUM:
        return _long_delta_remove(k, rate, factor)
    spend(k * (1 - rate) / max(factor - (1 - rate), Decimal("1e-30")))
    mass = total = rate**k
    m = 0
    while True:
        m += 1
        ratio = (1 - rate) * (m + k - 1) / m  # Pr[M = m] / Pr[M = m - 1]
        if ratio <= factor:
            return total
        mass *= ratio
        total += mass * (1 - factor / ratio)


def _delta_add(k: int, rate: Decimal, factor: Decimal) -> Decimal:
    """Adding a row: nothing from epsilon = -ln(1 - beta) on; below it a sum whose tail is bounded by a geometric series."""
    if factor * (1 - rate) >= 1:
        return Decimal(0)
    start = 1
    if k > LONG_SUM:  # from where the terms are positive
        start = int(factor * (1 - rate) * (k - 1) / (1 - factor * (1 - rate)))
        spend(min(75 / max(factor - 1, Decimal("1e-30")), (15 * Decimal(k).sqrt() + 150) / rate))
    else:
        spend((k + 15 * Decimal(k).sqrt() + 150) / rate)
    start = max(1, start)
    mass, total, m = _mass(k, rate, start - 1), Decimal(0), start - 1
    while True:
        m += 1
        ratio = (1 - rate) * (m + k - 1) / m
        if factor * ratio < 1:  # Pr[M + 1 = m], which is mass, is more than e^epsilon times Pr[M = m]
            total += mass * (1 - factor * ratio)
        mass *= ratio
        if ratio < 1 and mass / (1 - ratio) < total * Decimal(10) ** -30:
            return total + mass / (1 - ratio)


# Large classes: the same sums begin where the terms are largest, and end where what is left is nothing.

LONG_SUM = 2000
"""From which k on."""
HALF_LOG_OF_TWO_PI = Decimal("0.91893853320467274178032973640561763986139747363778341281715154048276569592726040")
BERNOULLI = [
    Fraction(*pair)
    for pair in (
        (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330),
        (854513, 138), (-236364091, 2730),
    )
]  # fmt: skip


def _log_factorial(n: int) -> Decimal:
    """ln n!, by Stirling's series for n that are not small."""
    if n < LONG_SUM:
        product = 1
        for each in range(2, n + 1):
            product *= each
        return Decimal(product).ln()
    z = Decimal(n + 1)
    found = (z - Decimal("0.5")) * z.ln() - z + HALF_LOG_OF_TWO_PI
    for place, number_ in enumerate(BERNOULLI, 1):
        found += decimal(number_) / (2 * place * (2 * place - 1) * z ** (2 * place - 1))
    return found


def _mass(k: int, rate: Decimal, m: int) -> Decimal:
    """Pr[M = m], M the number of rows passed over before the k-th is sampled."""
    if m <= 0:
        return rate**k if m == 0 else Decimal(0)
    log = _log_factorial(m + k - 1) - _log_factorial(m) - _log_factorial(k - 1)
    return (log + k * rate.ln() + m * (1 - rate).ln()).exp()


def _long_delta_remove(k: int, rate: Decimal, factor: Decimal) -> Decimal:
    """The sum for removing a row, from its largest term down: each is less than the one before, by e^epsilon or more."""
    rest = max(factor - (1 - rate), Decimal("1e-30"))
    spend(min(75 / max(factor - 1, Decimal("1e-30")), (15 * Decimal(k).sqrt() + 150) / rate, k / rest))
    m = int((1 - rate) * (k - 1) / rest) + 1
    while m > 0 and (1 - rate) * (m + k - 1) / m <= factor:
        m -= 1
    mass, total = _mass(k, rate, m), Decimal(0)
    while m > 0:
        ratio = (1 - rate) * (m + k - 1) / m
        total += mass * (1 - factor / ratio)
        mass /= ratio
        m -= 1
        if mass / (1 - 1 / ratio) < total * Decimal(10) ** -30:
            return total + mass / (1 - 1 / ratio)
    return total + mass


def delta_for_unit(k: int, beta: Fraction, epsilon: Fraction, plan: LockedPlan, split: Any) -> Decimal:
    """The delta of one sample for the unit of privacy.

    Several rows, or a row that is replaced, are single steps one after another, and whatever the split of epsilon over them,

        delta(e_1 + ... + e_n) <= sum_i e^(e_1 + ... + e_{i-1}) delta_i(e_i).

    So the certificate says at which split its delta was found, and it is added up here. A unit of one step has no split.
    """
    if plan.rows_changed == 1:
        if split is not None:
            raise ValueError("a split of epsilon where there is one step")
        return delta(k, beta, epsilon)
    shares = [number(share) for share in split or ()]
    if len(shares) != plan.rows_changed or sum(shares) != epsilon:
        raise ValueError("a split that does not add up to epsilon")
    either, remove, add = [(_delta_remove, _delta_add)], [(_delta_remove,)], [(_delta_add,)]
    rows = plan.max_rows
    spend(10 * rows)
    orders: list[Any] = [remove * rows + add * rows, add * rows + remove * rows] if plan.replaced else [either * rows]
    with localcontext() as context:
        context.prec, context.Emin = 80, -999_999_999
        rate, totals = decimal(beta), []
        for steps in orders:
            spent, total = Fraction(0), Decimal(0)
            for directions, share in pairs(steps, shares):
                factor = decimal(share).exp()
                total += decimal(spent).exp() * max(direction(k, rate, factor) for direction in directions)
                spent += share
            totals.append(total)
        return min(Decimal(1), *totals)


def published_delta(k: int, beta: Fraction, epsilon: Fraction) -> Optional[float]:
    """d(k, beta, epsilon) of Theorem 5 of Li, Qardaji and Su (2011).

    It is the largest Pr[Binomial(n, beta) > gamma n] over all n >= ceil(k/gamma - 1), with gamma = 1 - (1 - beta) / e^epsilon.
    None where the theorem is silent (epsilon below -ln(1 - beta)). Only the largest class that still needs j rows to break the
    ratio can attain the maximum, so the search goes over j, and stops where Chernoff's bound falls below the best.
    """
    rate, factor = float(beta), float(decimal(epsilon).exp())
    gamma = 1 - (1 - rate) / factor
    with localcontext() as context:
        context.prec = 60
        if decimal(epsilon) < -((1 - decimal(beta)).ln()):
            return None
    divergence = gamma * log(gamma / rate) + ((1 - gamma) * log((1 - gamma) / (1 - rate)) if gamma < 1 else 0.0)
    best, j = -float("inf"), k  # the logarithm: the maximum may be smaller than any float
    while True:
        spend(10)
        n = int(j / gamma * (1 - 1e-12))  # the largest n with gamma n < j, ties counted as a break
        n = max(n, j)
        if n >= -(-(k - gamma) // gamma):
            best = max(best, _log_binomial_tail(j, n, rate))
        if -n * divergence < best:
            return max(exp(best), SMALLEST_FLOAT)
        j += 1


SMALLEST_FLOAT = 5e-324


def _log_binomial_tail(j: int, n: int, rate: float) -> float:
    """ln Pr[Binomial(n, rate) >= j], for j above the mean: terms fall from the first on."""
    first = lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(rate) + (n - j) * log1p(-rate)
    total, term, place = 1.0, 1.0, j
    while place < n and term > 1e-17 * total:
        spend(0)
        term *= (n - place) / (place + 1) * rate / (1 - rate)
        total += term
        place += 1
    return first + log(total)


# === 8. Composition ================================================================================================
#
# Each part of a release has a privacy loss: a number l with Pr[l] under the one table and e^-l Pr[l] under its neighbour. What
# parts cost together is the loss of their sum: distributions are convolved. Losses are put on a grid so that nothing gets
# smaller: an atom between two points of the grid is split between them so that its mass under both tables is kept, and the pair
# of tables can be got back from the pair on the grid by forgetting where an atom was put. Masses are whole multiples of 10^-30,
# rounded up. What lies above the grid counts as certain disclosure; what lies below it is moved up to its lower end. The
# convolution is one multiplication of two very long numbers, in which every mass has a field of digits of its own.
#
# A part is ("safe-k-sampling", k, beta), ("pure-dp", epsilon), ("approx-dp", epsilon, delta), or one of those of noisy counts:
#
#     ("noisy-tables-dp", ((n, sigma), ...))  n counts that a row changes by one at most, each with discrete Gaussian noise of
#                                             parameter sigma; of several pairs one is run, and which is not known beforehand
#     ("exponential-dp", epsilon)             the exponential mechanism: its losses lie within a range of epsilon
#     ("concentrated-dp", rho)                rho-zero-concentrated differential privacy
#
# They are the same in both directions. Where a part is known by its curve delta(epsilon) alone, or by a curve above it, the
# pair on the grid is the one whose curve joins the points of the grid by lines (in e^epsilon, where every true curve is convex).

DIGITS = 30
ONE = 10**DIGITS


class Losses(NamedTuple):
    """Masses, in units of 10^-30, at the losses (first + i) * step, and the mass of outcomes that disclose."""

    step: Fraction
    first: int
    masses: list[int]
    disclosing: int

    def delta(self, epsilon: Fraction) -> Fraction:
        """The sum over losses l above epsilon of mass * (1 - e^(epsilon - l)), and what discloses."""
        start = max(int(epsilon // self.step) + 1, self.first)
        with localcontext() as context:
            context.prec, context.Emin = 50, -999_999_999
            left, fall = decimal(epsilon - start * self.step).exp(), decimal(-self.step).exp()
            total = Decimal(self.disclosing)
            spend(len(self.masses))
            for mass in self.masses[start - self.first :]:
                total += mass * (1 - left)
                left *= fall
            return Fraction(total / ONE)


def atoms(part: Any, direction: str) -> tuple[list[tuple[Decimal, Decimal]], Decimal]:
    """The losses of a part with their masses, and the mass that discloses."""
    if part[0] == "safe-k-sampling":
        return _atoms_of_sample(part[1], decimal(part[2]), direction)
    epsilon = decimal(part[1])
    disclosing = decimal(part[2]) if part[0] == "approx-dp" else Decimal(0)
    likely = epsilon.exp() / (1 + epsilon.exp())
    rest = 1 - disclosing
    return [(epsilon, rest * likely), (-epsilon, rest * (1 - likely))], disclosing


def _atoms_of_sample(k: int, rate: Decimal, direction: str) -> tuple[list[tuple[Decimal, Decimal]], Decimal]:
    """M against M + 1, or M + 1 against M; what is left of the tail is added at a loss that is not below its own."""
    spend(20 * (k + 15 * Decimal(k).sqrt() + 150) / rate)  # each with a logarithm
    mass, m = rate**k, 0
    found: list[tuple[Decimal, Decimal]] = []
    disclosing = mass if direction == "remove" else Decimal(0)
    while True:
        if direction == "add":  # M + 1 = m + 1 has the mass of M = m
            found.append((-((1 - rate) * (m + k) / (m + 1)).ln(), mass))
        m += 1
        ratio = (1 - rate) * (m + k - 1) / m
        mass *= ratio
        if direction == "remove":
            found.append((ratio.ln(), mass))
        if ratio < 1:
            tail = mass / (1 - ratio)
            if tail < Decimal(10) ** -(DIGITS + 2):
                found.append((found[-1][0] if direction == "remove" else -(1 - rate).ln(), tail))
                return found, disclosing


def on_grid(part: Any, direction: str, step: Fraction, ends: tuple[int, int]) -> Losses:
    """A part's losses on a grid, never below the truth."""
    if part[0] in NOISY_PARTS:
        return _cut(NOISY_PARTS[part[0]](part[1], step), ends)
    held: dict[int, int] = {}
    with localcontext() as context:
        context.prec, context.Emin = 50, -999_999_999
        found, certain = atoms(part, direction)
        width = decimal(step)
        whole = 1 - (-width).exp()
        spend(20 * len(found))
        for loss, mass in found:
            low = int((loss / width).to_integral_value(ROUND_FLOOR))
            upper = min(max((1 - (low * width - loss).exp()) / whole, Decimal(0)), Decimal(1))
            for place, share in ((low, 1 - upper), (low + 1, upper)):
                held[place] = held.get(place, 0) + int((mass * share * ONE).to_integral_value(ROUND_CEILING))
        disclosing = int((certain * ONE).to_integral_value(ROUND_CEILING))
    first, last = min(held), max(held)
    spend(last - first)
    masses = [held.get(place, 0) for place in range(first, last + 1)]
    return _cut(Losses(step, first, masses, disclosing), ends)


def _cut(losses: Losses, ends: tuple[int, int]) -> Losses:
    """Losses between two ends of the grid: above the upper one they disclose, below the lower one they are moved up to it."""
    (low, high), (_, first, masses, disclosing) = ends, losses
    if first + len(masses) - 1 > high:
        keep = max(0, high - first + 1)
        disclosing, masses = disclosing + sum(masses[keep:]), masses[:keep]
    if first < low:
        masses, first = [sum(masses[: low - first + 1]), *masses[low - first + 1 :]], low
    return losses._replace(first=first, masses=masses or [0], disclosing=disclosing)


def convolve(one: Losses, other: Losses, ends: tuple[int, int]) -> Losses:
    """The losses of two parts together."""
    count = len(one.masses) + len(other.masses) - 1
    width = 2 * DIGITS + len(str(min(len(one.masses), len(other.masses)))) + 1
    spend(4 * count)
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = MAX_PREC, MAX_EMAX, MIN_EMIN
        packed = _packed(one.masses, width)
        product = packed * (packed if other is one else _packed(other.masses, width))  # a square takes half the time
        text = f"{product:f}".rjust(count * width, "0")
    text = text[len(text) - count * width :]
    ends_of_fields = range(count * width, 0, -width)
    # Each is divided by ONE, which cuts its last digits off, and rounded up.
    masses = [int(text[end - width : end - DIGITS]) + (text[end - DIGITS : end] != NOUGHT) for end in ends_of_fields]
    disclosing = one.disclosing + other.disclosing - one.disclosing * other.disclosing // ONE
    return _cut(Losses(one.step, one.first + other.first, masses, disclosing), ends)


NOUGHT = "0" * DIGITS


def _packed(masses: list[int], width: int) -> Decimal:
    """Masses as one long number, the first of them in its last digits."""
    return Decimal("".join([str(mass).zfill(width) for mass in reversed(masses)]))


def compose(parts: list[tuple[Any, int]], direction: str, step: Fraction, ends: tuple[int, int]) -> Losses:
    """The losses of all parts together, each as many times as it runs, by squaring."""
    found: Optional[Losses] = None
    for part, times in parts:
        power, left = on_grid(part, direction, step, ends), times
        while left:
            if left & 1:
                found = power if found is None else convolve(found, power, ends)
            left >>= 1
            power = convolve(power, power, ends) if left else power
    if found is None:
        raise ValueError("nothing to compose")
    return found


class Composition:
    """Losses of parts together, the steps that they took, and what delta was found to be."""

    def __init__(self, losses: Losses, steps: float) -> None:
        """`steps` of arithmetic, counted again for every folder in which these losses are asked for."""
        self.losses, self.steps = losses, steps
        self._found: dict[Fraction, Fraction] = {}

    def delta(self, epsilon: Fraction) -> Fraction:
        """delta of these losses at epsilon."""
        if epsilon in self._found:
            spend(len(self.losses.masses))
        else:
            self._found[epsilon] = self.losses.delta(epsilon)
        return self._found[epsilon]


class Compositions(threading.local):
    """The last compositions, by what was composed; a folder that is verified again, or one like it, asks for the same ones."""

    def __init__(self) -> None:
        self.kept: dict[Any, Composition] = {}


MOST_KEPT = 300_000
"""Points of all grids that are kept."""
_COMPOSITIONS = Compositions()


def composed_before(parts: list[tuple[Any, int]], direction: str, step: Fraction, ends: tuple[int, int]) -> Composition:
    """The losses of all parts together, composed once. They are made of the arguments alone, whichever folder asks."""
    kept, key = _COMPOSITIONS.kept, (tuple(parts), direction, step, ends)
    found = kept.pop(key, None)
    if found is None:
        left = WORK.left
        losses = compose(parts, direction, step, ends)
        found = Composition(losses, left - WORK.left)
        if left == float("inf"):  # nobody counts, so how many steps it took is not known
            return found
    else:
        spend(found.steps - 1)  # and the one that `spend` adds
    kept[key] = found
    while sum(len(each.losses.masses) for each in kept.values()) > MOST_KEPT:
        del kept[next(iter(kept))]
    return found


# --- noisy counts ---

LARGE_SIGMA = 4
"""From here on the sum of discrete Gaussian noises is a discrete Gaussian one, but for a part below 1e-30 that is added."""
MOST_COUNTS = 1_000_000
"""Counts with noise in one part: a release of noisy counts has thousands of tables at the most."""
BITS = 220
"""Of the fractions with which masses are computed."""
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620900")


def tables_on_grid(choices: Any, step: Fraction) -> Losses:
    """The losses of n counts with discrete Gaussian noise; of several pairs of n and sigma, the worst at every epsilon."""
    found = [_losses_of_counts(count, sigma, step) for count, sigma in choices]
    return found[0] if len(found) == 1 else worst_of(found)


def _losses_of_counts(count: int, sigma: Fraction, step: Fraction) -> Losses:
    """The loss of n counts is (2 t + n) / (2 sigma^2), t the sum of their noises; losses between two points are divided up.

    An atom at the part f of a step w above the point below it goes up with (1 - e^(-f w)) / (1 - e^-w), which is at most
    f + f (1 - f) w (1 + w) / 2. More that goes up is never below the truth.
    """
    masses, disclosing = _sum_of_noises(count, sigma)
    reach = len(masses) - 1
    place = 1 / (2 * sigma**2 * step)
    top, bottom = place.numerator, place.denominator
    width = float(step)
    held: dict[int, int] = {}
    spend(4 * reach)
    for noise in range(-reach, reach + 1):
        low, rest = divmod((2 * noise + count) * top, bottom)
        part = rest / bottom
        share = int((part + part * (1 - part) * width * (1 + width) / 2) * (1 + 1e-12) * 2**60) + 1 if rest else 0
        mass = masses[abs(noise)]
        upper = min(mass, -(-mass * share >> 60))
        held[low] = held.get(low, 0) + mass - upper
        held[low + 1] = held.get(low + 1, 0) + upper
    return _listed_losses(held, step, disclosing)


def _listed_losses(held: dict[int, int], step: Fraction, disclosing: int) -> Losses:
    first, last = min(held), max(held)
    spend(last - first)
    return Losses(step, first, [held.get(place, 0) for place in range(first, last + 1)], disclosing)


def _sum_of_noises(count: int, sigma: Fraction) -> tuple[list[int], int]:
    """The distribution of the sum of n discrete Gaussian noises: masses at 0, 1, 2, ..., the same below 0, and what is beyond."""
    if count < 1 or sigma <= 0:
        raise ValueError("no such noise")
    bounded("counts with noise", count, MOST_COUNTS)
    spend(50 * float(min(sigma, Fraction(MOST_WORK))) * sqrt(count))
    if sigma * sigma * 10**6 < count:
        raise BoundError("noise so small that it hides nothing")
    if sigma < LARGE_SIGMA:
        return _convolved_noises(count, sigma)
    with localcontext() as context:
        context.prec, context.Emin = 60, -999_999_999
        spread, variance = (decimal(sigma**2) * 2 * PI * count).sqrt(), decimal(count * sigma**2)
        # By Poisson's summation, Pr[sum = t] is at most e^(-t^2 / (2 n sigma^2)) times
        # 1 / sqrt(2 pi n sigma^2) + (1 + 2.01 e^(-pi^2 sigma^2 / 2))^n - 1.
        other = (1 + Decimal("2.01") * (-(PI**2) * decimal(sigma**2) / 2).exp()) ** count - 1
        height = 1 / spread + other
        fall = (-1 / (2 * variance)).exp()
        fixed = [int((each * 2**BITS).to_integral_value(ROUND_CEILING)) for each in (height, fall, fall**2)]
    return _gaussian_masses(*fixed)


def _gaussian_masses(mass: int, fall: int, turn: int) -> tuple[list[int], int]:
    """Masses h f^(t^2) at 0, 1, 2, ..., with h and f as fractions of 2^BITS, rounded up; and the mass beyond them."""
    one = 1 << BITS
    found = []
    while True:
        found.append((mass * ONE >> BITS) + 1)
        mass = (mass * fall >> BITS) + 1
        fall = (fall * turn >> BITS) + 1
        # Each of the masses left is less than `fall` times the one before it.
        if fall < one and mass * one // (one - fall) * (10 * ONE) < one:
            return found, 1


def _convolved_noises(count: int, sigma: Fraction) -> tuple[list[int], int]:
    """The same for little noise, one noise after another."""
    with localcontext() as context:
        context.prec, context.Emin = 60, -999_999_999
        fall = (-1 / (2 * decimal(sigma**2))).exp()
        total, term, tall = Decimal(1), fall, fall
        while term > Decimal(10) ** -55:
            total += 2 * term
            tall *= fall**2
            term *= tall
        fixed = [int((each * 2**BITS).to_integral_value(ROUND_CEILING)) for each in (1 / total, fall, fall**2)]
    half, beyond = _gaussian_masses(*fixed)
    own = Losses(Fraction(1), 1 - len(half), [*half[:0:-1], *half], 2 * beyond)
    reach = int(15 * float(sigma) * sqrt(count)) + len(half)
    found, left = None, count
    while left:
        if left & 1:
            found = own if found is None else convolve(found, own, (-reach, reach))
        left >>= 1
        own = convolve(own, own, (-reach, reach)) if left else own
    if found is None:
        raise ValueError("no such noise")
    both = dict(enumerate(found.masses, found.first))
    far = max(found.first + len(found.masses) - 1, -found.first)
    # Rounding and cutting may have moved the two sides apart; the larger one stands for both.
    return [max(both.get(place, 0), both.get(-place, 0)) for place in range(far + 1)], found.disclosing


def exponential_on_grid(epsilon: Fraction, step: Fraction) -> Losses:
    """The exponential mechanism. Losses in a range of epsilon are dominated by pairs with losses t and t - epsilon, and the worst
    of them at x, from -epsilon to epsilon, gives

        delta(x) = (e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1).
    """
    if not epsilon:
        return Losses(step, 0, [ONE], 0)
    last = -int(-epsilon // step)
    bounded("points of a grid", 2 * last, MOST_POINTS)
    spend(20 * last)
    with localcontext() as context:
        context.prec, context.Emin = 60, -999_999_999
        half, whole = decimal(epsilon / 2).exp(), decimal(epsilon).exp()
        now, rise = decimal(-last * step / 2).exp(), decimal(step / 2).exp()
        found = []
        for place in range(-last, last + 1):
            at = place * step
            known = 1 - now**2 if at <= -epsilon else Decimal(0)
            found.append(known if abs(at) >= epsilon else (half - now) ** 2 / (whole - 1))
            now *= rise
    return from_curve(found, -last, step)


def concentrated_on_grid(rho: Fraction, step: Fraction) -> Losses:
    """rho-zCDP, by the curve above its own that `concentrated_delta` gives; below 0 by exchanging the two tables."""
    if not rho:
        return Losses(step, 0, [ONE], 0)
    far, width = float(rho), float(step)
    last = int((far + 2 * sqrt(75 * far)) / width) + 2
    bounded("points of a grid", 2 * last, MOST_POINTS)
    spend(150 * last)
    above = [concentrated_delta(far, place * width) for place in range(last + 1)]
    found = [Decimal(each) for each in above]
    with localcontext() as context:
        context.prec, context.Emin = 60, -999_999_999
        fall = decimal(-step).exp()
        below, now = [], fall
        for each in found[1:]:
            below.append(1 - now + now * each)
            now *= fall
    return from_curve([*reversed(below), *found], -last, step)


def concentrated_delta(rho: float, epsilon: float) -> float:
    """delta of rho-zCDP at epsilon: the least over a > 1 of e^((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1).

    Canonne, Kamath and Steinke (2020), proposition 12 and corollary 13. Every a is valid, so the search needs no proof. It is
    never more than the distance of the two distributions, which is sqrt(rho / 2) at the most (Pinsker's inequality).
    """

    def logarithm(order: float) -> float:
        more = exp(order)  # a - 1
        return more * ((1 + more) * rho - epsilon) - order - (1 + more) * log1p(1 / more)

    low, high = -14.0, 30.0
    for _ in range(70):
        third = (high - low) / 3
        low, high = (low, high - third) if logarithm(low + third) < logarithm(high - third) else (low + third, high)
    return min(1.0, sqrt(rho / 2) * (1 + 1e-9), exp(min(0.0, logarithm((low + high) / 2))) * (1 + 1e-9))


NOISY_PARTS: dict[str, Callable[[Any, Fraction], Losses]] = {
    "noisy-tables-dp": tables_on_grid,
    "exponential-dp": exponential_on_grid,
    "concentrated-dp": concentrated_on_grid,
}
"""How each part of noisy counts is put on a grid."""


def worst_of(several: list[Losses]) -> Losses:
    """Losses whose delta is at every point of the grid the largest of several."""
    step = several[0].step
    first = min(losses.first for losses in several) - 1
    last = max(losses.first + len(losses.masses) - 1 for losses in several)
    spend(10 * len(several) * (last - first))
    curves = [_curve_of(losses, first, last) for losses in several]
    return from_curve([max(each) for each in zip(*curves)], first, step)


def _curve_of(losses: Losses, first: int, last: int) -> list[Decimal]:
    """delta at the points of a grid from one to another: what discloses, and the sum of masses p_l (1 - e^(x - l)) above x."""
    with localcontext() as context:
        context.prec, context.Emin = 60, -999_999_999
        width = decimal(losses.step)
        now, fall = (last * width).exp(), (-width).exp()
        above, weighed = Decimal(losses.disclosing), Decimal(0)
        found = []
        for place in range(last, first - 1, -1):
            found.append((above - now * weighed) / ONE)
            index = place - losses.first
            mass = losses.masses[index] if 0 <= index < len(losses.masses) else 0
            above += mass
            weighed += mass / now
            now *= fall
        return found[::-1]


def from_curve(curve: list[Decimal], first: int, step: Fraction) -> Losses:
    """The losses whose delta at the points of a grid is this, or, where it is not convex, the largest convex curve below.

    delta(x_i) - delta(x_(i+1)) is (e^x_(i+1) - e^x_i) times the sum of p_j e^-x_j over j > i: so the masses p_j are differences
    of the slopes. What is missing to 1 is put at the lowest point.
    """
    with localcontext() as context:
        context.prec, context.Emin = 60, -999_999_999
        width = decimal(step)
        now, rise = (first * width).exp(), width.exp()
        corners: list[tuple[int, Decimal, Decimal]] = []  # places, e^x, delta
        for place, each in enumerate(curve, first):
            spend(5)
            while len(corners) > 1 and _slope(corners[-2], corners[-1]) >= _slope(corners[-1], (place, now, each)):
                corners.pop()
            corners.append((place, now, each))
            now *= rise
        held = dict.fromkeys(range(first, first + len(curve)), 0)
        slopes = [-_slope(one, other) for one, other in zip(corners, corners[1:])] + [Decimal(0)]
        for (place, growth, _), before, after in zip(corners[1:], slopes, slopes[1:]):
            held[place] = max(0, int(((before - after) * growth * ONE).to_integral_value(ROUND_CEILING)))
        disclosing = int((max(corners[-1][2], Decimal(0)) * ONE).to_integral_value(ROUND_CEILING))
        held[first] = max(0, ONE - disclosing - sum(held.values()))
    return _listed_losses(held, step, disclosing)


def _slope(one: tuple[int, Decimal, Decimal], other: tuple[int, Decimal, Decimal]) -> Decimal:
    return (other[2] - one[2]) / (other[1] - one[1])


def concentration(part: Any) -> Optional[Fraction]:
    """The rho with which a part is rho-zCDP; None where there is none."""
    if part[0] == "noisy-tables-dp":
        return max(Fraction(count / (2 * sigma**2)) for count, sigma in part[1])
    if part[0] in ("exponential-dp", "pure-dp"):
        return Fraction(part[1] ** 2 / (8 if part[0] == "exponential-dp" else 2))
    return Fraction(part[1]) if part[0] == "concentrated-dp" else None


# --- all parts together ---

MOST_POINTS = 4_000_000
"""Points of a grid: a loss that spreads over 60 on the finest one. Each is a field of 67 digits in a very long number."""
COARSEST, FINEST = Fraction(1, 1000), Fraction(1, 32000)
"""The steps of the grid between which `ComposedLosses` looks; a finer one where losses lie close together."""
NARROW = 0.05
"""Below this standard deviation they do."""


class ComposedLosses:
    """What parts cost together, in both directions, on a grid as fine as the question needs."""

    def __init__(self, parts: list[tuple[Any, int]], largest: Fraction) -> None:
        """`parts` with how many times each runs; `largest` is the largest epsilon that will be asked about."""
        merged: Counter[Any] = Counter()
        rho = Fraction(0)
        for part, times in parts:
            if part[0] == "concentrated-dp":  # they add up
                rho += part[1] * times
            else:
                merged[part] += times
        if rho:
            merged["concentrated-dp", rho] = 1
        self.parts, self.largest = sorted(merged.items()), largest
        several = [(concentration(part), times) for part, times in self.parts]
        is_noisy = any(part[0] in NOISY_PARTS for part, _ in self.parts) and all(own is not None for own, _ in several)
        self.rho = sum((own * times for own, times in several if own is not None), Fraction(0)) if is_noisy else None
        self.is_by_rho = self.rho is not None and any(part[0] == "concentrated-dp" for part, _ in self.parts)
        self.is_even = all(part[0] != "safe-k-sampling" for part, _ in self.parts)  # the same in both directions
        self._made: dict[Fraction, list[Composition]] = {}

    def can_speak_of(self, parts: list[tuple[Any, int]], largest: Fraction) -> bool:
        """Whether it is about these parts too, up to this epsilon."""
        return ComposedLosses(parts, largest).parts == self.parts and largest <= self.largest

    def delta(self, epsilon: Fraction, step: Fraction) -> Fraction:
        """delta at epsilon on a grid of this step: the larger of the two directions, and never below the truth."""
        if step not in self._made:
            ends = self.ends(step)
            bounded("points of a grid", ends[1] - ends[0], MOST_POINTS)
            ways = ("add",) if self.is_even else ("remove", "add")
            self._made[step] = [composed_before(self.parts, direction, step, ends) for direction in ways]
        found = min(Fraction(1), max(composition.delta(epsilon) for composition in self._made[step]))
        return found if self.rho is None else min(found, Fraction(concentrated_delta(float(self.rho), float(epsilon))))

    def ends(self, step: Fraction) -> tuple[int, int]:
        """The first and the last point of the grid."""
        spread = self._spread()
        if self._is_narrow(spread):
            return -int(16 * spread / step) - 1, int((float(self.largest) + 16 * spread) / step) + 1
        reach = max(1.0, float(self.largest)) + 6 + 14 * spread
        return -int((1 + 14 * spread) / step) - 1, int(reach / step) + 1

    def _is_narrow(self, spread: float) -> bool:
        """Whether losses are those of noise and lie close together: no grid has to reach far beyond them."""
        return self.rho is not None and spread < NARROW

    def can_be_made(self) -> bool:
        """Whether the grid that is tried first is not too large."""
        low, high = self.ends(self.first_step())
        return high - low <= MOST_POINTS

    def agrees(self, question: Callable[[Callable[[Fraction], Fraction]], bool]) -> bool:
        """Whether a question about delta(epsilon) is answered with yes on some grid; finer ones are tried in turn."""
        step, finest = self.first_step(), self.finest_step()
        while step >= finest:
            if question(lambda epsilon, step=step: self.delta(epsilon, step)):  # type: ignore[misc]
                return True
            step /= 4
            low, high = self.ends(step)
            if high - low > MOST_POINTS:
                break
        return False

    def keeps(self, epsilon: Fraction, delta_: Fraction) -> bool:
        """Whether delta at epsilon is no more than this; finer grids are tried as long as they can change the answer.

        What a grid adds falls with its step at least as fast as the step, so the next ones take off less than a third of what
        the last one took off.
        """
        before, step, finest = None, self.first_step(), self.finest_step()
        while step >= finest:
            found = self.delta(epsilon, step)
            if found <= delta_:
                return True
            if before is not None and found - (before - found) > delta_:
                return False
            before, step = found, step / 4
            low, high = self.ends(step)
            if high - low > MOST_POINTS:
                break
        return False

    def first_step(self) -> Fraction:
        """A step at which the grid adds about a thousandth to deltas that matter: it adds to the variance of each part."""
        spread, runs_of_all = self._spread(), sum(times for _, times in self.parts)
        wanted = spread**2 * sqrt(0.12 / runs_of_all) / min(max(0.1, float(self.largest)), 7 * spread)
        step, finest = COARSEST, self.finest_step()
        while step / 2 >= finest and float(step) > wanted:
            low, high = self.ends(step / 2)
            if high - low > MOST_POINTS:
                break
            step /= 2
        return step

    def finest_step(self) -> Fraction:
        """The finest step that is tried: of losses that lie close together one at which they have thousands of points."""
        spread, step = self._spread(), FINEST
        while self._is_narrow(spread) and float(step) > spread / 6000:
            step /= 2
        return step

    def _spread(self) -> float:
        """The standard deviation of the whole loss, roughly."""
        total = 0.0
        for part, times in self.parts:
            if part[0] == "safe-k-sampling":
                total += times * float(part[2] ** 2 / (part[1] * (1 - part[2])))
            elif part[0] in NOISY_PARTS:
                total += times * 2 * float(concentration(part) or 0)
            else:
                total += times * min(1.0, float(part[1])) ** 2
        return max(1e-6 if self.rho is not None else 1e-3, sqrt(total))


def read_part(saved: dict[str, Any]) -> Any:
    """A part that was charged; None for a kind that this file does not compose."""
    kind = saved["kind"]
    if kind == "safe-k-sampling":
        if saved["k"] < 1 or not 0 < number(saved["beta"]) < 1:
            raise ValueError("no such sample")
        return (kind, saved["k"], number(saved["beta"]))
    if kind == "pure-dp":
        return (kind, number(saved["epsilon"]))
    if kind == "approx-dp":
        return (kind, number(saved["epsilon"]), number(saved["delta"]))
    if kind == "noisy-tables-dp":
        choices = tuple((count, number(sigma)) for count, sigma in saved["choices"])
        if not choices or any(sigma <= 0 for _, sigma in choices):
            raise ValueError("no such noise")
        return (kind, choices)
    if kind in ("exponential-dp", "concentrated-dp"):
        return (kind, number(saved["epsilon" if kind == "exponential-dp" else "rho"]))
    return None


def added_epsilon(parts: list[tuple[Any, int]], at_delta: Fraction) -> Optional[Fraction]:
    """The sum of epsilons when samples share equally what is left of delta; None where nothing is left."""
    left = at_delta - sum(part[2] * times for part, times in parts if part[0] == "approx-dp")
    samples = sum(times for part, times in parts if part[0] == "safe-k-sampling")
    total = sum((part[1] * times for part, times in parts if part[0] != "safe-k-sampling"), Fraction(0))
    if left < 0 or (samples and left == 0):
        return None
    for part, times in parts:
        if part[0] == "safe-k-sampling":
            low, high = Fraction(0), Fraction(64)
            if delta(part[1], part[2], high) > left / samples:
                return None
            for _ in range(44):
                middle = (low + high) / 2
                low, high = (low, middle) if delta(part[1], part[2], middle) <= left / samples else (middle, high)
            total += high * times
    return total


# === 9. The numbers ================================================================================================

LARGEST_K = 10**6
"""Larger classes than this are not planned; the sums of section 7 would take hours."""
CURVE_EPSILONS = [
    Fraction(text)
    for text in ("0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4", "6", "8", "10", "12", "16", "20")
]
"""Where a curve of format 1 is printed, beside the promised epsilon, up to 4 or twice the promised one."""
TINY = Decimal("1e-300")
"""Costs below this are printed as a number that is larger, because a float has no smaller ones."""
LAST_DIGITS = Decimal("1e-6")
"""How far, relative to it, a printed number may lie from what a formula gives: it was rounded up."""
NEAR = Fraction(1, 200)
"""How far a composed delta that is printed may lie below the one computed here: the grids differ."""
ABOVE = Fraction(3, 2)
"""How far it may lie above: its grid rounds small costs up, and a delta that is too large promises nothing false."""
ABSOLUTE = Fraction(3, 10**11)
"""And how far beside that: the program that made the certificate relies on nothing below it."""


def is_printed(told: str, found: Decimal, tolerance: Decimal = LAST_DIGITS) -> bool:
    """Whether a printed cost is what was computed, up to its last digits."""
    said = decimal(number(told))
    return found * (1 - tolerance) <= said <= max(found * (1 + tolerance), TINY)


def round_up(value: Decimal) -> str:
    """Four digits, rounded up."""
    with localcontext() as context:
        context.prec, context.rounding = 4, ROUND_CEILING
        return f"{+value:g}"


def sample_of(certificate: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a table's sample."""
    found: dict[str, Any] = certificate["samples"][table["sample"]]
    return found


def samples_check(certificate: dict[str, Any], plan: LockedPlan) -> Check:
    """Whether every table has a sample's numbers, and every sample as many tables as it says."""
    samples, tables = certificate["samples"], certificate["tables"]
    used = [table["sample"] for table in tables]
    promised = [index for index, sample in enumerate(samples) for _ in range(min(sample["times"], len(tables) + 1))]
    fits = bool(samples) and sorted(used) == promised
    fits = fits and list(dict.fromkeys(used)) == list(range(len(samples)))  # in the order in which they first occur
    fits = fits and all(1 <= sample["k"] <= LARGEST_K and 0 < number(sample["beta"]) < 1 for sample in samples)
    fits = fits and all(table["k"] == sample_of(certificate, table)["k"] for table in tables)
    fits = fits and len({table["file"] for table in tables}) == len(tables)
    fits = fits and (plan.has_views or len(tables) == plan.release["repeat"])
    return must("samples", fits, "one table for each release or view, with the numbers of its sample")


def sample_checks(certificate: dict[str, Any], plan: LockedPlan) -> Iterator[Check]:
    """The numbers of the samples: as locked where the plan names them, and sufficient for what each is planned to keep."""
    samples, release = certificate["samples"], plan.release
    named = release.get("k")
    fits = named is None or all(sample["k"] == named for sample in samples)
    yield must("locked-k", fits, "where the locked plan names it")
    rate = release["sampling"].get("already") or release["sampling"].get("beta")
    fits = rate in (None, "auto") or all(number(sample["beta"]) == number(rate) for sample in samples)
    yield must("locked-beta", fits, "where the locked plan names it")
    tight = release["bound"] == "tight"
    # Views that compose by their curves are planned together; each then states the delta that it has by itself.
    by_curve = plan.has_views and plan.composes_by_curve and len(certificate["tables"]) > 1
    for index, sample in enumerate(samples):
        about = f"sample {index + 1}"
        k, beta, epsilon = sample["k"], number(sample["beta"]), number(sample["epsilon"])
        own, of_unit = delta(k, beta, epsilon), delta_for_unit(k, beta, epsilon, plan, sample["epsilon_split"])
        published = published_delta(k, beta, epsilon)
        shown = f"k = {k}, beta = {sample['beta']}, epsilon = {sample['epsilon']}"
        yield must("delta-tight", is_printed(sample["delta_tight"], own), f"{shown}: {round_up(own)}", about=about)
        fits = is_printed(sample["delta_for_unit"], of_unit)
        yield must("delta-for-unit", fits, f"{shown}: {round_up(of_unit)}", about=about)
        told = sample["delta_published"]
        fits = (told is None) == (published is None)
        fits = fits and (published is None or is_printed(told, Decimal(published), Decimal("1e-5")))
        yield Check(
            "delta-published", fits, "by Theorem 5 of Li, Qardaji and Su (2011)", promise=not tight, about=about
        )
        least, own_delta = sample["delta_for_unit"] if tight else told, number(sample["delta"])
        most = number(sample["delta_for_unit"]) if by_curve else plan.delta
        fits = least is not None and number(least) <= own_delta <= most and Fraction(of_unit) <= own_delta
        yield must("sample-delta", fits, f"{sample['delta']} is planned", about=about)


def charged_parts(certificate: dict[str, Any], plan: LockedPlan) -> list[tuple[Any, int]]:
    """What the release composes as: the choice of views, the recodings, the samples."""
    tables = len(certificate["tables"])
    found: list[tuple[Any, int]] = [(("pure-dp", plan.epsilon_total), 1)] if plan.epsilon_total else []
    if plan.epsilon_view_choice:
        found.append((("pure-dp", plan.epsilon_view_choice), 1))
    if plan.epsilon_recoding and plan.has_views:
        found.append((("pure-dp", plan.epsilon_recoding / tables), tables))
    elif plan.epsilon_recoding:
        found.append((("pure-dp", plan.epsilon_recoding), 1))
    for sample in certificate["samples"]:
        by_curve = ("safe-k-sampling", sample["k"], number(sample["beta"]))
        by_pair = ("approx-dp", number(sample["epsilon"]), number(sample["delta"]))
        found.append((by_curve if plan.composes_by_curve else by_pair, sample["times"]))
    return found


def fits_by_addition(parts: list[tuple[Any, int]], plan: LockedPlan) -> bool:
    """Whether epsilons and deltas, simply added up, keep the promise; only for parts that are pairs of the two."""
    if any(part[0] not in ("pure-dp", "approx-dp") for part, _ in parts):
        return False
    epsilon = sum(part[1] * times for part, times in parts)
    delta_ = sum(part[2] * times for part, times in parts if part[0] == "approx-dp")
    return bool(epsilon <= plan.epsilon and delta_ <= plan.delta)


def kept_checks(certificate: dict[str, Any], plan: LockedPlan, whole: ComposedLosses) -> Iterator[Check]:
    """Whether everything that is published keeps the promise, and what views are said to cost together."""
    parts, views = charged_parts(certificate, plan), certificate["views"]
    if len(certificate["tables"]) == 1:
        sample = certificate["samples"][0]
        left = plan.epsilon - plan.epsilon_paid
        found = delta_for_unit(sample["k"], number(sample["beta"]), left, plan, sample["epsilon_split"])
        fits = number(sample["epsilon"]) == left and number(sample["delta"]) == plan.delta
        fits = fits and Fraction(found) <= plan.delta
        yield must("promise", fits, f"delta is {round_up(found)} at epsilon {float(plan.epsilon):g}")
    else:
        fits = fits_by_addition(parts, plan) or whole.agrees(lambda delta_at: delta_at(plan.epsilon) <= plan.delta)
        yield must("promise", fits, "all tables together, composed here, keep it")
    if views is None:
        return
    told = number(views["epsilon_composed"])
    by_sum = fits_by_addition(parts, plan) and told >= sum(part[1] * times for part, times in parts)
    fits = told <= plan.epsilon and (by_sum or is_epsilon_of(whole, told, plan.delta))
    yield must("views-composed", fits, "epsilon of all views together at the promised delta")
    added = added_epsilon(parts, plan.delta)
    near = None if added is None else is_printed(views["epsilon_added_up"], decimal(added), Decimal("1e-5"))
    yield Check("views-added-up", near, "what the same parts add up to one after another")


def is_epsilon_of(whole: ComposedLosses, epsilon: Fraction, at_delta: Fraction) -> bool:
    """Whether delta at epsilon is no more than the one given, and at a somewhat smaller epsilon is more."""
    rho = float(whole.rho or 0)
    by_rho = whole.is_by_rho and concentrated_delta(rho, float(epsilon)) <= at_delta * (1 + NEAR)
    if by_rho or (whole.is_by_rho and len(whole.parts) == 1):  # one part alone is known by its rho, and nothing else
        return by_rho and concentrated_delta(rho, float(epsilon) * 0.8) > at_delta
    has_small_costs = any(part[0] != "safe-k-sampling" for part, _ in whole.parts)  # which the other grid rounds up
    less = epsilon * (Fraction(4, 5) if has_small_costs else Fraction(995, 1000))
    return whole.keeps(epsilon, at_delta * (1 + NEAR)) and whole.agrees(
        lambda delta_at: delta_at(epsilon) <= at_delta * (1 + NEAR) and delta_at(less) > at_delta - ABSOLUTE
    )


def curve_checks(certificate: dict[str, Any], plan: LockedPlan, whole: ComposedLosses) -> Iterator[Check]:
    """delta of the whole release at each epsilon that is listed, for the unit of privacy."""
    curve = certificate["curve"]
    epsilons = [number(point["epsilon"]) for point in curve]
    told = dict(pairs(epsilons, (number(point["delta"]) for point in curve)))
    far = max(Fraction(4), 2 * plan.epsilon)
    allowed = {*(epsilon for epsilon in CURVE_EPSILONS if epsilon <= far), plan.epsilon}
    rising = epsilons == sorted(set(epsilons)) and set(epsilons) <= allowed and plan.epsilon in told
    yield must("curve-epsilons", rising, "those of this format, the promised one among them")
    falls = all(told[first] >= told[second] for first, second in zip(epsilons, epsilons[1:]))
    falls = falls and told.get(plan.epsilon, Fraction(1)) <= plan.delta
    yield must("curve-falls", falls, "and it keeps the promise at the promised epsilon")
    if len(certificate["tables"]) == 1:
        fits = _is_curve_of_one(certificate, plan, allowed)
    else:
        parts = charged_parts(certificate, plan)
        fits = all(point["epsilon_split"] is None for point in curve)
        fits = fits and whole.agrees(lambda delta_at: _is_composed_curve(delta_at, told, allowed, plan, parts))
    yield must("curve", fits, "recomputed at every epsilon listed, for everything that is published")


def _is_curve_of_one(certificate: dict[str, Any], plan: LockedPlan, allowed: set[Fraction]) -> bool:
    """Whether the printed points are those of the one sample, after what was paid before it was drawn."""
    sample, paid = certificate["samples"][0], plan.epsilon_paid
    k, beta = sample["k"], number(sample["beta"])
    listed = set()
    for point in certificate["curve"]:
        epsilon = number(point["epsilon"])
        listed.add(epsilon)
        if epsilon < paid:
            return False
        found = delta_for_unit(k, beta, epsilon - paid, plan, point["epsilon_split"])
        found = min(found, decimal(plan.delta)) if epsilon >= plan.epsilon else found
        if not is_printed(point["delta"], found):
            return False
    for epsilon in allowed - listed:  # left out only where delta is 1, so where even shares of epsilon give no less
        if epsilon >= paid:
            steps = plan.rows_changed
            spend(steps)
            even = None if steps == 1 else [str((epsilon - paid) / steps)] * steps
            if delta_for_unit(k, beta, epsilon - paid, plan, even) < 1:
                return False
    return True


def _is_composed_curve(
    delta_at: Callable[[Fraction], Fraction],
    told: dict[Fraction, Fraction],
    allowed: set[Fraction],
    plan: LockedPlan,
    parts: list[tuple[Any, int]],
) -> bool:
    """Whether printed points are no less than what is composed here, and not far above; those below 1e-10 are not printed."""
    are_pairs = all(part[0] != "safe-k-sampling" for part, _ in parts)
    for epsilon in allowed:
        found = delta_at(epsilon)
        if are_pairs and sum(part[1] * times for part, times in parts) <= epsilon:
            found = min(found, sum((part[2] * times for part, times in parts if part[0] == "approx-dp"), Fraction(0)))
        found = min(found, plan.delta) if epsilon >= plan.epsilon else found
        if epsilon in told:
            if not found * (1 - NEAR) <= told[epsilon] <= found * ABOVE + ABSOLUTE:
                return False
        elif Fraction(2, 10**10) < found < Fraction(1, 2):
            return False
    return True


# --- which tables and views there are ---


def view_checks(folder: Path, certificate: dict[str, Any], plan: LockedPlan) -> Iterator[Check]:
    """The tables that the locked plan asks for, all of them and no others; of views, also their names and their index."""
    tables, ending = certificate["tables"], plan.release["output"]["format"]
    is_tree = plan.recoding == "tree"
    yield must("view-count", _counts_views(certificate, plan), "as many as are listed")
    fits = all(list(table["recoding"]) == table["columns"] for table in tables)
    if not plan.has_views:
        names = [f"table.{ending}"] if len(tables) == 1 else [f"table-{n}.{ending}" for n in range(1, len(tables) + 1)]
        fits = fits and [table["file"] for table in tables] == names and all(table["name"] is None for table in tables)
        fits = fits and {table["boxes"] for table in tables} == {"recoding/boxes.csv" if is_tree else None}
        yield must("table-files", fits, "those of the locked plan")
        fits = all(sorted(table["columns"]) == sorted(plan.published) for table in tables)
        yield must("table-columns", fits, "every published attribute")
        return
    yield must("table-files", fits, "each view in its own file")
    digits = len(str(len(tables)))
    fits = True
    for place, table in enumerate(tables, 1):
        name = table["name"] or ""
        fits = fits and re.fullmatch(r"[0-9]+-[A-Za-z0-9_-]+", name) is not None
        fits = fits and name.startswith(f"{place:0{digits}d}-") and table["file"] == f"views/{name}.{ending}"
        fits = fits and table["boxes"] == (f"recoding/boxes/{name}.csv" if is_tree else None)
    yield must("view-names", fits, "each in the file of its number and name")
    found = [frozenset(table["columns"]) for table in tables]
    once = len(set(found)) == len(found) and all(
        len(group) == len(table["columns"]) for group, table in zip(found, tables)
    )
    fits = once and _are_locked_views(plan.release["views"], found, plan.published)
    yield must("locked-views", fits, "all of them, each once")
    choice = None
    if plan.epsilon_view_choice:
        width = plan.release["views"]["choose"].get("width") or 2
        choice = {
            "epsilon": plan.epsilon_view_choice,
            "candidates": comb(len(plan.published), width),
            "rows_changed": plan.rows_changed,
        }
    told = certificate["views"]["choice"] if certificate["views"] else None
    yield must("view-choice", equal(told, choice), "what the locked plan sets aside")
    yield Check("view-index", equal(read_json(folder, "views.json"), view_index(certificate)), "names, files, weights")


def _counts_views(certificate: dict[str, Any], plan: LockedPlan) -> bool:
    views = certificate["views"]
    return views is None if not plan.has_views else views is not None and views["count"] == len(certificate["tables"])


def view_index(certificate: dict[str, Any]) -> dict[str, Any]:
    """What views.json has to hold."""
    return {
        "version": 1,
        "dataset": certificate["dataset"],
        "views": [
            {
                "name": table["name"],
                "file": table["file"],
                "attributes": table["columns"],
                "k": table["k"],
                "beta": number(sample_of(certificate, table)["beta"]),
                "weight": 1 / number(sample_of(certificate, table)["beta"]),
            }
            for table in certificate["tables"]
        ],
    }


def _are_locked_views(asked: dict[str, Any], found: list[frozenset[str]], published: set[str]) -> bool:
    """Whether these are the views that the locked plan names; of those chosen privately, whether they could have been."""
    named = asked.get("groups") or asked.get("workload")
    if named is not None:
        return {frozenset(group) for group in named} == set(found)
    choose = asked.get("choose")
    width = (choose.get("width") or 2) if choose else ["singles", "pairs", "triples"].index(asked["every"]) + 1
    bounded("views to choose from", comb(len(published), width), MOST_FILES)
    every = list(combinations(sorted(published), width))
    if choose:
        return set(found) <= {frozenset(group) for group in every} and len(found) == choose["count"]
    return set(found) == {frozenset(group) for group in limit_views(every, asked.get("limit"))}


def limit_views(groups: list[Any], limit: Optional[int]) -> list[Any]:
    """As many groups as the limit allows: each time the first whose pairs, and then whose attributes, were taken least."""
    left = list(groups)
    taken: list[Any] = []
    uses_of_pair: Counter[Any] = Counter()
    uses_of_name: Counter[str] = Counter()
    if limit is None or limit >= len(left):
        return left
    while len(taken) < limit:
        spend(4 * len(left))
        best = min(
            left,
            key=lambda group: (
                sum(uses_of_pair[pair] for pair in combinations(group, 2)),
                sum(uses_of_name[name] for name in group),
            ),
        )
        left.remove(best)
        taken.append(best)
        uses_of_pair.update(combinations(best, 2))
        uses_of_name.update(best)
    return taken


# === 10. The ledger ================================================================================================


def ledger_checks(
    certificate: dict[str, Any], plan: Any, whole: ComposedLosses, own_parts: list[tuple[Any, int]]
) -> Iterator[Check]:
    """The charges of the dataset: this release is the last, they add up, and they stay within the budget."""
    ledger = certificate["ledger"]
    yield from look_checks(ledger)
    entries, budget = ledger["entries"], ledger["budget"]
    fits = bool(entries) and [entry["number"] for entry in entries] == list(range(1, len(entries) + 1))
    fits = fits and all(number(entry["delta"]) <= 1 and entry["parts"] for entry in entries)
    fits = fits and all(part["times"] >= 1 for entry in entries for part in entry["parts"])
    yield must("ledger-order", fits, "charges in their order")
    if not entries:
        return
    bounded("charges", len(entries), MOST_FILES)
    bounded("times that a part was run", max(part["times"] for entry in entries for part in entry["parts"]), MOST_FILES)
    last = entries[-1]
    told = [(read_part(part["guarantee"]), part["times"]) for part in last["parts"]]
    fits = number(last["epsilon"]) == plan.epsilon and number(last["delta"]) == plan.delta
    fits = fits and told == own_parts
    yield must("ledger-charge", fits, "the last one is this release, with its parts")
    sums = {name: sum((number(entry[name]) for entry in entries), Fraction(0)) for name in ("epsilon", "delta")}
    yield must("ledger-total", equal(ledger["total"], sums), "recomputed")
    yield entry_check(entries[:-1])
    locked = plan.lock.get("budget")
    fits = locked is None or (
        budget is not None and equal(budget, {name: number(locked[name]) for name in ("epsilon", "delta")})
    )
    fits = fits and (budget is None or all(sums[name] <= number(budget[name]) for name in sums))
    words = "the one of the locked plan, and all charges together stay within it"
    if locked is None:
        words = "the locked plan names none" + (", so it is the custodian's word" if budget is not None else "")
    yield must("ledger-budget", fits, words)
    parts = [(read_part(part["guarantee"]), part["times"]) for entry in entries for part in entry["parts"]]
    if ledger["epsilon_composed"] is None or any(part is None for part, _ in parts):
        yield Check("ledger-composed", None, "for information; answers with noise are not composed here")
        return
    if not can_compose(parts):
        yield Check("ledger-composed", None, "for information; there are too many different charges to compose here")
        return
    composed, at_delta = number(ledger["epsilon_composed"]), min(sums["delta"], Fraction(999_999, 1_000_000))
    tiny = Fraction(1, 10**7)
    fits = composed <= sums["epsilon"] * (1 + tiny)
    pure = all(part[0] in ("pure-dp", "exponential-dp") for part, _ in parts)
    least = sum((part[1] * times for part, times in parts), Fraction(0)) if pure else sums["epsilon"]
    if fits and composed < min(least, sums["epsilon"]) * (1 - tiny):
        about = whole if whole.can_speak_of(parts, composed) else ComposedLosses(parts, 2 * composed)
        fits = is_epsilon_of(about, composed, at_delta)
    yield Check("ledger-composed", fits, "recomputed, for information")


def look_checks(ledger: dict[str, Any]) -> Iterator[Check]:
    """The looks at the real table, where the certificate speaks of them: each kind once, in the order of the kinds.

    A draft is made without a plan, so none is of another one; where the kind is not known, neither is the plan.
    """
    if "looks" not in ledger:
        return
    looks = ledger["looks"]
    kinds = [look["kind"] for look in looks]
    fits = kinds == [kind for kind in KINDS_OF_LOOK if kind in kinds]
    for look in looks:
        least = look["times"] if look["kind"] == "other" else 0
        most = 0 if look["kind"] == "init" else look["times"]
        fits = fits and least <= look["other_plan"] <= most
    yield must("ledger-looks", fits, "each kind once; how many there were is the custodian's word")


MOST_DIFFERENT = 200
"""Different parts that are composed: each is a multiplication of two very long numbers, or several."""


def can_compose(parts: list[tuple[Any, int]]) -> bool:
    """Whether composing takes no more than minutes."""
    different = {part for part, _ in parts}
    steps = sum(20 * part[1] / float(part[2]) for part in different if part[0] == "safe-k-sampling")
    noisy = [pair for part in different if part[0] == "noisy-tables-dp" for pair in part[1]]
    steps += sum(100 * float(min(sigma, Fraction(10**9))) * sqrt(min(count, MOST_COUNTS)) for count, sigma in noisy)
    longest = sum(times.bit_length() for _, times in parts)
    return longest <= MOST_DIFFERENT and steps <= MOST_WORK / 10 and ComposedLosses(parts, Fraction(1)).can_be_made()


def entry_check(entries: list[dict[str, Any]]) -> Check:
    """Whether no earlier charge is cheaper than its own parts; None where some cannot be composed here."""
    known: dict[str, Optional[bool]] = {}
    for entry in entries:
        about = canonical_hash({name: entry[name] for name in ("epsilon", "delta", "parts")})
        if about not in known and len(known) >= MOST_DIFFERENT:
            known[""] = None
        elif about not in known:
            known[about] = pays_for_parts(number(entry["epsilon"]), number(entry["delta"]), entry["parts"])
    fits = False if False in known.values() else None if None in known.values() else True
    detail = "no earlier charge is cheaper than its own parts"
    return Check("ledger-parts", fits, detail if fits is not None else "not all earlier charges are composed here")


def pays_for_parts(epsilon: Fraction, delta_: Fraction, saved: list[dict[str, Any]]) -> Optional[bool]:
    """Whether parts together keep epsilon and delta: added up, by the formula of one, or composed. None where it is open."""
    if len(saved) == 1 and saved[0]["times"] == 1:
        return pays_for_part(epsilon, delta_, saved[0]["guarantee"])
    pure = all(part["guarantee"]["kind"] in ("pure-dp", "laplace-dp", "approx-dp", "exponential-dp") for part in saved)
    if pure:
        sums = [
            sum(number(part["guarantee"].get(name, "0")) * part["times"] for part in saved)
            for name in ("epsilon", "delta")
        ]
        if sums[0] <= epsilon and sums[1] <= delta_:
            return True
    parts = [(read_part(part["guarantee"]), part["times"]) for part in saved]
    samples = [part for part in saved if part["guarantee"]["kind"] == "safe-k-sampling"]
    others = [part for part in parts if part[0] is not None and part[0][0] == "pure-dp"]
    if len(samples) == 1 and samples[0]["times"] == 1 and len(others) == len(saved) - 1:  # pure costs and one sample
        left = epsilon - sum(part[1] * times for part, times in others)
        return left >= 0 and pays_for_part(left, delta_, samples[0]["guarantee"])
    if any(part is None for part, _ in parts) or not can_compose(parts) or epsilon > 100:
        return None
    return ComposedLosses(parts, max(epsilon, Fraction(1))).keeps(epsilon, delta_ * (1 + NEAR) + ABSOLUTE)


def pays_for_part(epsilon: Fraction, delta_: Fraction, saved: dict[str, Any]) -> Optional[bool]:
    """The same for one part alone."""
    if saved["kind"] == "gaussian-dp":
        mean, far = float(number(saved["mu"])), float(min(epsilon, Fraction(10**6)))
        if not 1e-6 < mean < 1e6 or far > 700:
            return None
        normal = [erfc((far / mean + sign * mean / 2) / sqrt(2)) / 2 for sign in (-1, 1)]
        return bool(normal[0] - exp(far) * normal[1] <= float(delta_) * (1 + 1e-6) + 1e-12)
    if saved["kind"] == "safe-k-sampling":
        _, k, beta = read_part(saved)
        if k > LARGEST_K or epsilon > 700:
            return None
        return bool(delta(k, beta, epsilon) <= decimal(delta_) * (1 + LAST_DIGITS))
    if saved["kind"] in ("noisy-tables-dp", "concentrated-dp"):
        parts = [(read_part(saved), 1)]
        if not can_compose(parts) or epsilon > 100:
            return None
        return ComposedLosses(parts, max(epsilon, Fraction(1))).keeps(epsilon, delta_ * (1 + NEAR) + ABSOLUTE)
    return number(saved["epsilon"]) <= epsilon and number(saved.get("delta", "0")) <= delta_


# === 11. The recoding ==============================================================================================


def choice_checks(certificate: dict[str, Any], plan: LockedPlan) -> Iterator[Check]:
    """What the choice of each recoding cost, from the noise that it says it drew, against what the locked plan sets aside."""
    wide = certificate["recoding_choice"]
    choices = [table["recoding_choice"] for table in certificate["tables"]]
    if plan.recoding == "levels":
        fits = wide is None and all(choice is None for choice in choices)
        yield must("recoding-price", fits, "fixed levels cost nothing")
        return
    asked = plan.release["recoding"][plan.recoding]
    kind = plan.recoding
    set_aside = plan.epsilon_recoding / len(choices) if plan.has_views else plan.epsilon_recoding
    rate = None if asked.get("sample") is None else number(asked["sample"])
    placed = wide is None if plan.has_views else all(choice is None for choice in choices)
    told = choices if plan.has_views else [wide]
    price = placed and all(choice is not None and choice["kind"] == kind for choice in told)
    noise = price
    for choice, table in zip(told, certificate["tables"]) if price else ():
        cost = number(choice["epsilon"])
        price = price and choice["rows_changed"] == plan.rows_changed and cost == set_aside
        if kind == "choose":
            noise = noise and choice["score"] == asked["score"]
            continue
        told_rate = None if choice["sample_rate"] is None else number(choice["sample_rate"])
        noise = noise and told_rate == rate
        noise = noise and noise_fits(choice, cost, plan.rows_changed, len(table["columns"]), rate)
    yield must("recoding-price", price, "what the locked plan sets aside")
    yield must("recoding-noise", noise, "what it says it drew costs what is said")
    if kind == "choose":
        yield Check("recoding-lattice", None, "how many schemes there were, and how far a row moves a score")


def noise_fits(
    choice: dict[str, Any], cost: Fraction, rows_changed: int, columns: int, rate: Optional[Fraction]
) -> bool:
    """Whether the noisy measurements of a tree cost what is said: each count, each histogram of each attribute."""
    total = Fraction(0)
    for measurement in choice["measurements"]:
        count, histogram = number(measurement["epsilon_count"]), number(measurement["epsilon_histogram"])
        if measurement["attributes"] != columns or count <= 0 or histogram <= 0:
            return False
        total += count + histogram * columns
    if rate is not None:
        total = _amplify(total, rate)
    return cost * (1 - Fraction(1, 10**9)) <= total * rows_changed <= cost


def _amplify(epsilon: Fraction, rate: Fraction) -> Fraction:
    """What a mechanism on a sample of this rate costs the whole: ln(1 + rate (e^epsilon - 1))."""
    if not 0 < rate < 1:
        raise ValueError("not a rate")
    with localcontext() as context:
        context.prec = 60
        return Fraction((1 + decimal(rate) * (decimal(epsilon).exp() - 1)).ln())


def level_check(folder: Path, certificate: dict[str, Any], plan: LockedPlan) -> Check:
    """The level of each column against the locked plan: the one that is fixed, one that is allowed, or boxes of a tree."""
    asked = plan.release["recoding"][plan.recoding]
    fits = plan.recoding != "levels" or set(asked) == plan.published
    for table in certificate["tables"]:
        for column, file in table["recoding"].items():
            rule = read_json(folder, file)
            fits = fits and rule["attribute"] == column and rule["type"] == plan.lock["attributes"][column]["type"]
            fits = fits and (rule["kind"] == "boxes") == (plan.recoding == "tree")
            if plan.recoding == "levels":
                fits = fits and rule["level"] == asked[column]
            elif plan.recoding == "choose":
                finest, coarsest = (asked.get("finest") or {}).get(column, 0), (asked.get("coarsest") or {}).get(column)
                fits = fits and type(rule["level"]) is int and rule["level"] >= finest
                fits = fits and (coarsest is None or rule["level"] <= coarsest)
    return must("recoding-levels", fits, "the recoding applied is one that was locked")


# === 12. Tables ====================================================================================================

MISSING = "(missing)"


# A large Parquet table is a folder of parts. Their rows, one part after the other, are read as those of one file.


def part_of(name: str, place: int) -> str:
    """The file of a part of a table that is a folder; the places begin with 0."""
    return f"{name}/part-{place:05d}.parquet"


def files_of_table(folder: Path, name: str) -> list[str]:
    """The files of a table in the order of their rows: the file of its name, or the parts in the folder of its name.

    ValueError for a folder without any.
    """
    place = folder.joinpath(*parts_of(name))
    if not name.endswith(".parquet") or not os.path.lexists(place) or not stat.S_ISDIR(place.lstat().st_mode):
        return [name]
    found: list[str] = []
    while os.path.lexists(folder / part_of(name, len(found))):
        found.append(part_of(name, len(found)))
    if not found:
        raise ValueError("a folder in the place of a table, without parts")
    return found


def stream_runs(folder: Path, name: str) -> Iterator[Any]:
    """The columns of a table, then its rows: the cells (None where one is missing), and how many equal rows follow each other.

    Nothing is kept: some rows of one part are in memory at a time. ValueError for a file that is not written as we write it.
    """
    if name.endswith(".parquet"):
        yield from _parquet_runs(folder, name)
        return
    with open_inside(folder, name) as file:
        lines = _csv_records(file)
        header = _csv_cells(next(lines, ""), single=False)
        yield [cell if cell is not None else "" for cell in header]
        for line, equal_lines in groupby(lines):
            yield _csv_cells(line, single=len(header) == 1), sum(1 for _ in equal_lines)


def read_rows(folder: Path, name: str) -> tuple[list[str], list[Any]]:
    """The columns of a table, and all its rows, as `stream_runs` gives them."""
    runs = stream_runs(folder, name)
    return next(runs), list(runs)


def stream_rows(folder: Path, name: str) -> Iterator[Any]:
    """The columns of a table, and then its rows one after another, none of which is kept; ValueError as in `stream_runs`."""
    runs = stream_runs(folder, name)
    yield next(runs)
    for row, times in runs:
        for _ in range(times):
            yield row


def _csv_records(file: BinaryIO) -> Iterator[str]:
    """The records of a CSV file without their line ends; a record goes on while a quote is open."""
    held: list[bytes] = []
    size = quotes = 0
    while True:
        line = file.readline(LONGEST_ROW + 1)
        if not line:
            break
        size += len(line)
        bounded("bytes of a row", size, LONGEST_ROW)
        quotes += line.count(b'"')
        held.append(line)
        if quotes % 2 == 0:
            if not line.endswith(b"\n"):
                break
            yield (line if len(held) == 1 else b"".join(held))[:-1].decode("utf-8")
            held, size, quotes = [], 0, 0
    if held:
        raise ValueError("the last row of a CSV file has no end")


def _csv_cells(line: str, *, single: bool) -> tuple[Any, ...]:
    """The cells of a record: quoted where they must be and nowhere else, missing where there is nothing."""
    if '"' not in line:
        if "\r" in line:
            raise ValueError("a row of a CSV file that is not written as we write them")
        return tuple(text or None for text in line.split(","))
    found: list[Any] = []
    place = 0
    while True:
        quoted = line.startswith('"', place)
        if quoted:
            text, end = _quoted_cell(line, place)
        else:
            end = line.find(",", place)
            end = len(line) if end < 0 else end
            text = line[place:end]
            if any(sign in text for sign in '"\r\n'):
                raise ValueError("a row of a CSV file that is not written as we write them")
        found.append(None if not text and (not quoted or single) else text)
        if end == len(line):
            return tuple(found)
        place = end + 1  # after the comma


def _quoted_cell(line: str, place: int) -> tuple[str, int]:
    """A cell in quotes that begins at a place, and where it ends."""
    pieces: list[str] = []
    place += 1
    while True:
        end = line.find('"', place)
        if end < 0:
            raise ValueError("a row of a CSV file that is not written as we write them")
        pieces.append(line[place:end])
        place = end + 2
        if not line.startswith('"', end + 1):
            break
    text = '"'.join(pieces)
    if (end + 1 < len(line) and line[end + 1] != ",") or (text and not any(sign in text for sign in '",\r\n')):
        raise ValueError("a cell in quotes that needs none, or goes on after them")
    return text, end + 1


def _parquet_runs(folder: Path, name: str) -> Iterator[Any]:
    batches = _table_batches(folder, name)
    yield next(batches)
    found: list[Any] = []
    for batch in batches:
        _add_runs(batch, found)
        yield from found[:-1]
        found = found[-1:]  # which may go on in the next batch, or in the next part
    yield from found


def _table_batches(folder: Path, name: str) -> Iterator[Any]:
    """The names of the columns of a Parquet table, and then its rows, some at a time, one part after the other."""
    names: Any = None
    for part in files_of_table(folder, name):
        with open_inside(folder, part) as file:
            batches = _parquet_batches(file)
            own = next(batches)
            if names is None:
                yield own
            elif own != names:
                raise ValueError("a part with other columns than the first")
            names = own
            yield from batches


def _parquet_batches(file: BinaryIO) -> Iterator[Any]:
    """The names of the columns of a Parquet file, and then its rows, some at a time."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise UnreadableError(NO_PYARROW) from None
    try:
        with closing(parquet.ParquetFile(file)) as table:
            about, names = table.metadata, list(table.schema_arrow.names)
            bounded("rows of a Parquet table", about.num_rows, MOST_ROWS)
            texts = [field.name for field in table.schema_arrow if str(field.type) == "string"]
            bounded("columns", len(names), MOST_FILES)
        yield names
        file.seek(0)
        # Texts are read as numbers into a list of different ones, so that a long one is there once and not for every row.
        with closing(parquet.ParquetFile(file, read_dictionary=texts)) as table:
            yield from table.iter_batches(1 << 16)
    except (ArrowException, OSError, OverflowError) as error:
        raise ValueError("a Parquet file that cannot be read") from error


def _add_runs(batch: Any, found: list[Any]) -> None:
    """Add the rows of a batch to runs of equal ones; only the first row of each run is turned into values."""
    import pyarrow as pa
    from pyarrow import compute

    if not batch.num_columns or not batch.num_rows:
        return
    firsts = None
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            longest = compute.max(compute.binary_length(column.dictionary)).as_py() if len(column.dictionary) else 0
            bounded("letters of a cell", longest or 0, LONGEST_CELL)
            # Equal texts may be there under two numbers, and a column of numbers is compared in no time.
            whole = compute.dictionary_encode(column.dictionary)
            column = compute.take(whole.indices, column.indices)  # noqa: PLW2901
        later, before = column.slice(1), column.slice(0, len(column) - 1)
        changes = compute.fill_null(compute.not_equal(later, before), False)
        changes = compute.or_(changes, compute.xor(compute.is_null(later), compute.is_null(before)))
        firsts = changes if firsts is None else compute.or_(firsts, changes)
    starts = [0, *(place + 1 for place in compute.indices_nonzero(firsts).to_pylist())]
    picked = batch.take(pa.array(starts, pa.int64()))
    rows = zip(*(_cells_of(column) for column in picked.columns))
    ends = [*starts[1:], batch.num_rows]
    for row, start, end in zip(rows, starts, ends):
        if found and found[-1][0] == row:
            found[-1] = (row, found[-1][1] + end - start)
        else:
            found.append((row, end - start))


def _cells_of(column: Any) -> list[Any]:
    """The cells of a column; those with equal texts share one text, so that many rows take little memory."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    texts = column.dictionary.to_pylist()
    return [None if place is None else texts[place] for place in column.indices.to_pylist()]


def has_no_notes(folder: Path, name: str, allowed: Any = None) -> bool:
    """Whether the files of a table say nothing beside it but what they must say: Parquet files may carry notes."""
    if not name.endswith(".parquet"):
        return True
    return all(_has_no_notes(folder, part, allowed) for part in files_of_table(folder, name))


def _has_no_notes(folder: Path, name: str, allowed: Any) -> bool:
    """The same of one Parquet file."""
    from pyarrow import ArrowException, parquet

    try:
        with open_inside(folder, name) as raw:
            size = os.fstat(raw.fileno()).st_size
            raw.seek(-8, 2)
            footer = int.from_bytes(raw.read(4), "little")
            raw.seek(0)
            with closing(parquet.ParquetFile(raw)) as file:
                about = file.metadata
                bounded("parts of a Parquet file", about.num_row_groups * about.num_columns, 10 * MOST_FILES)
                groups = [about.row_group(group) for group in range(about.num_row_groups)]
                chunks = [group.column(place) for group in groups for place in range(about.num_columns)]
                # From the first magic number to the footer a file holds the chunks of its columns, end to end.
                whole = 4 + sum(chunk.total_compressed_size for chunk in chunks) + footer + 8 == size
                known = re.fullmatch(r"parquet-cpp-arrow version [0-9.]{1,20}", about.created_by or "")
                silent = (about.metadata or {}) == (allowed or {}) and not any(f.metadata for f in file.schema_arrow)
                return bool(silent and whole and known)
    except (ArrowException, OSError):
        return False


def reading_checks(
    folder: Path, name: str, columns: list[str], unread: str = "class-size"
) -> tuple[Optional[list[Any]], list[Check]]:
    """The rows of a table that can be read and has these columns in every row; else None, and a check that says why.

    `unread` is the check that stays open where nothing here can read the format; classes have a size only where there is a k.
    """

    def keep(runs: Iterable[Any]) -> Optional[list[Any]]:
        found = list(runs)
        return found if all(len(row) == len(columns) for row, _ in found) else None

    return streaming_checks(folder, name, columns, keep, unread)


def streaming_checks(
    folder: Path, name: str, columns: list[str], keep: Callable[[Iterable[Any]], Any], unread: str = "class-size"
) -> tuple[Any, list[Check]]:
    """The same for what is kept of the rows: `keep` reads them all, and gives None where one has not these columns."""
    try:
        runs = stream_runs(folder, name)
        header, kept = next(runs), keep(runs)
    except UnreadableError as error:
        return None, [must(unread, None, str(error), about=name)]
    except BoundError:
        raise
    except (ValueError, UnicodeDecodeError):
        return None, [must("table-text", False, "the file is not written as tables are written", about=name)]
    even = header == columns and kept is not None
    checks = [
        must("table-text", True, "written as tables are written", about=name),
        must("table-columns", even, "as declared, in every row", about=name),
        must("table-notes", has_no_notes(folder, name), "nothing in the file beside its rows", about=name),
    ]
    return (kept if even else None), checks


SPELLINGS = {
    "integer": re.compile("-?(0|[1-9][0-9]{0,39})"),
    "decimal": re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?"),
    "date": re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "datetime": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"),
    "boolean": re.compile("true|false"),
}
"""How a value of each type is spelled as text: one way, so that nothing is said by the spelling."""


def comparable(cell: Any, kind: str) -> Any:
    """A cell as something that can be compared within its column: a number, a time, or a text."""
    if isinstance(cell, float) and isnan(cell):
        raise ValueError("not a number")
    if isinstance(cell, str) and kind in SPELLINGS and not SPELLINGS[kind].fullmatch(cell):
        raise ValueError("a value in another spelling than tables have")
    if kind == "integer":
        if not isinstance(cell, (str, int)):
            raise TypeError("a number that is not stored as a whole one")
        return int(cell)
    if kind == "decimal":
        if isinstance(cell, bool) or not isfinite(float(cell)):
            raise ValueError("not a number")
        return float(cell)  # as tables hold it; 0.1 in a text and in a Parquet file are the same number
    if kind == "date":
        return date.fromisoformat(str(cell))
    if kind == "datetime":
        time, _, rest = str(cell).partition(".")
        return datetime.fromisoformat(f"{time}.{rest:0<6}" if rest else time)  # older Pythons want all six digits
    if kind == "boolean":
        return {"true": True, "false": False, "True": True, "False": False}[str(cell)]
    if not isinstance(cell, str):
        raise TypeError("a label that is no text")
    return cell


def are_sorted(rows: list[Any], kinds: list[str]) -> bool:
    """Whether rows are sorted by their own values, missing first, and equal rows stand together."""
    before = None
    for row, _ in rows:
        key = sort_key(row, kinds)
        if before is not None and not before < key:
            return False
        before = key
    return True


def sort_key(row: Any, kinds: list[str]) -> Any:
    """What rows are sorted by; ValueError, TypeError or KeyError for a cell that no table has."""
    return tuple((0, 0) if cell is None else (1, comparable(cell, kind)) for cell, kind in pairs(row, kinds))


class ClassSummary:
    """What is kept of a table that is read class by class: the cells of each column, the smallest class, and whether rows are
    sorted. In a sorted table the rows of a class follow each other, so classes need not be kept to be counted.
    """

    def __init__(self, runs: Iterable[Any], kinds: list[str]) -> None:
        self.cells: list[set[Any]] = [set() for _ in kinds]
        self.smallest: Optional[int] = None
        self.even = self.in_order = True
        before: Any = None
        for row, times in runs:
            self.even = self.even and len(row) == len(kinds)
            if not self.even:
                continue
            for own, cell in zip(self.cells, row):
                own.add(cell)
            self.smallest = times if self.smallest is None else min(self.smallest, times)
            try:
                key = sort_key(row, kinds) if self.in_order else None
                self.in_order = self.in_order and (before is None or before < key)
                before = key
            except (ValueError, TypeError, KeyError):
                self.in_order = False


def smallest_class(folder: Path, name: str) -> Optional[int]:
    """How many rows the smallest class of a table has that is not sorted, where rows of a class may stand anywhere."""
    classes: Counter[Any] = Counter()
    for row, times in read_rows(folder, name)[1]:
        classes[row] += times
    return min(classes.values(), default=None)


def table_checks(folder: Path, table: dict[str, Any], k: int) -> Iterator[Check]:
    """A published table: its columns, its classes, its labels, its order and its boxes."""
    name, columns = table["file"], table["columns"]
    rules = {column: read_json(folder, table["recoding"][column]) for column in columns}
    kinds = [rules[column]["type"] if rules[column]["kind"] == "keep" else "text" for column in columns]

    def keep(runs: Iterable[Any]) -> Optional[ClassSummary]:
        found = ClassSummary(runs, kinds)
        return found if found.even else None

    summary, read = streaming_checks(folder, name, columns, keep)
    yield from read
    if summary is None:
        yield from box_checks(folder, table, rules, ())
        return
    found = summary.smallest if summary.in_order else smallest_class(folder, name)
    smallest = k if found is None else found
    yield must("class-size", smallest >= k, f"the smallest class has {smallest} rows, k = {k}", about=name)
    all_known = True
    for place, (column, kind) in enumerate(pairs(columns, kinds)):
        detail = f"every label in {name} is one that its rule can show"
        try:
            known: Optional[bool] = can_show(rules[column], kind, summary.cells[place])
        except UnreadableError as error:
            known, detail = None, str(error)
        all_known = all_known and known is not False
        yield must("labels", known, detail, about=column)
    yield must("row-order", all_known and summary.in_order, "sorted by their own values", about=name)
    yield from box_checks(folder, table, rules, (row for row, _ in islice(stream_runs(folder, name), 1, None)))


def can_show(rule: dict[str, Any], kind: str, found: set[Any]) -> bool:
    """Whether a column shows nothing that its rule could not show."""
    try:
        shown = [comparable(cell, kind) for cell in found if cell is not None]
        if rule["kind"] == "keep":
            return can_keep(rule, kind, shown)
        if rule["kind"] == "masked":
            return rule["labels"] is None and all(is_masked(each, rule) for each in shown if each != MISSING)
        if None in found:
            return False
        if rule["kind"] == "groups" and set(rule["table"].values()) - set(rule["labels"]):
            return False
        if rule["kind"] == "cuts" and len(rule["edges"]) + 1 != len(rule["labels"]):
            return False
        allowed = {*rule["labels"]} if rule["kind"] in ("boxes", "whole") else {*rule["labels"], MISSING}
        return rule["kind"] in ("groups", "cuts", "whole", "boxes") and set(shown) <= allowed
    except BoundError:
        raise
    except (ValueError, TypeError, KeyError):
        return False


def can_keep(rule: dict[str, Any], kind: str, shown: list[Any]) -> bool:
    """Whether values that are shown as they were are of the declared domain: listed, of its pattern, or between its ends."""
    if rule.get("pattern") is not None:
        matches = PatternMatcher(rule["pattern"]).matches
        if not all(matches(each) for each in shown):
            return False
    if rule["labels"] is not None:
        return set(shown) <= {comparable(label, kind) for label in rule["labels"]}
    low, high = (rule[end] if rule[end] is None else comparable(rule[end], kind) for end in ("low", "high"))
    return all((low is None or low <= each) and (high is None or each <= high) for each in shown)


def is_masked(label: str, rule: dict[str, Any]) -> bool:
    """Whether a label shows no more letters than its mask keeps, and the mask's letter in every other place."""
    kept, letter = rule["kept"], rule["letter"]
    if letter == "":  # a bare prefix or suffix
        return bool(len(label) <= kept)
    hidden = label[kept:] if rule["side"] == "right" else label[: max(0, len(label) - kept)]
    return bool(hidden == letter * len(hidden))


def box_checks(folder: Path, table: dict[str, Any], rules: dict[str, Any], shown: Iterable[Any]) -> Iterator[Check]:
    """Whether the boxes divide the declared domain, every published row is one of them, and their list is sorted."""
    if table["boxes"] is None:
        return
    name = table["file"]
    header, rows = read_rows(folder, table["boxes"])
    bounded("boxes", len(rows), MOST_BOXES)
    spend(len(rows) * len(header))
    boxes = [row for row, _ in rows]
    whole_rows = all(len(box) == len(header) and None not in box for box in boxes)
    listed = whole_rows and header == table["columns"] and all(times == 1 for _, times in rows)
    listed = listed and boxes == sorted(set(boxes))
    known = set(boxes)
    inside = listed and all(row in known for row in shown)
    yield must("boxes", inside, "every row is in one, and each is listed once", about=name)
    sides, whole = [], []
    for place, column in enumerate(table["columns"]):
        rule = rules[column]
        cells = len(rule["cells"])
        bounded("cells of all labels together", cells * len(rule["members"]), MOST_BITS)
        bits = [_bits(member, cells) for member in rule["members"]]
        sides.append(dict(pairs(rule["labels"], bits)))
        whole.append(2**cells - 1)
        listed = listed and {box[place] for box in boxes} == set(rule["labels"])
    pieces = [tuple(side[label] for side, label in pairs(sides, box)) for box in boxes] if listed else []
    divided = listed and divides(pieces, tuple(whole))
    yield must("boxes-divide", divided, "no gap and no overlap, and no label without a box", about=name)


def _bits(runs: Any, cells: int) -> int:
    """A set of cells as bits, from runs of them that rise and do not touch."""
    found, before = 0, -2
    for first, last in runs:
        if type(first) is not int or type(last) is not int or not before + 1 < first <= last < cells:
            raise ValueError("runs of cells that do not rise, or lie outside the domain")
        found += (1 << (last + 1)) - (1 << first)
        spend(cells >> 13)
        before = last
    return found


def divides(boxes: list[tuple[int, ...]], whole: tuple[int, ...]) -> bool:
    """Whether boxes divide a whole: sides are sets of cells, as bits, and some attribute tells them apart, and so on."""
    waiting = [(boxes, whole)]
    while waiting:
        held, region = waiting.pop()
        spend(len(held) * len(region))
        if len(held) == 1:
            if held[0] != region:
                return False
            continue
        for place in range(len(region)):
            parts = _disjoint_unions({box[place] for box in held})
            if len(parts) > 1:
                break
        else:
            return False
        if sum(parts) != region[place]:  # they do not overlap, so their sum is their union
            return False
        own_sides = {box[place] for box in held}
        spend(len(own_sides) * len(parts))
        home = {own: part for own in own_sides for part in parts if own & part}
        groups: dict[int, list[tuple[int, ...]]] = {part: [] for part in parts}
        for box in held:
            groups[home[box[place]]].append(box)
        waiting += [(own, (*region[:place], part, *region[place + 1 :])) for part, own in groups.items()]
    return True


def _disjoint_unions(sides: set[int]) -> list[int]:
    """The unions of sides that touch each other, none of which touches another."""
    found: list[int] = []
    for side in sorted(sides, key=lambda bits: bin(bits).count("1"), reverse=True):
        merged = side
        spend(len(found) * (1 + (side.bit_length() >> 13)))
        for part in found:
            merged |= part if part & side else 0
        found = [part for part in found if not part & side] + [merged]
    return found


# --- patterns ---
#
# A domain may be declared by a regular expression. Python's own matcher can take for ever over one, so it is not used: a pattern
# is read here into its places (a letter, `.` or class each) and which may follow which, and a text is matched by going along all
# ways at once. Only what has no memory is known: no look-around, no reference back.

LONGEST_PATTERN = 1000
LONGEST_MATCHED = 10_000
"""Letters of a text; a longer one matches no pattern."""
MOST_PLACES = 2000
"""Places of a pattern, each as often as it may be repeated."""
PATTERN_SIGN = re.compile(
    r"(?P<open>\((?:\?:)?)"
    r"|(?P<place>\[\^?(?:\\.|[^\]\\^\[])(?:\\.|[^\]\\\[])*\]"
    r"|\\(?:[dDwWsStnrfv_]|[^\w\s]| |x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
    r"|[^\\()|*+?{}\[\]^$])",
    re.DOTALL,
)
PATTERN_REPEAT = re.compile(r"(?:([?*+])|\{([0-9]{1,4})\}|\{([0-9]{0,4}),([0-9]{0,4})\})(\??)")


class Places(NamedTuple):
    """A part of a pattern, as bits: the places at which it may begin and end; and whether it may be empty."""

    first: int
    last: int
    empty: bool


class PatternMatcher:
    """A regular expression without memory, and whether texts match it as a whole.

    >>> PatternMatcher("[A-Z][0-9]{2}(?:-x)?").matches("B07"), PatternMatcher("(a+)+").matches("a" * 5000 + "b")
    (True, False)
    """

    def __init__(self, text: Any) -> None:
        """UnreadableError for what is no such pattern, BoundError for one that is too large."""
        if not isinstance(text, str):
            raise TypeError("a pattern that is no text")
        bounded("letters of a pattern", len(text), LONGEST_PATTERN)
        self.text, self.at = text.removeprefix("^"), 0
        body = self.text[:-1].rstrip("\\")
        if self.text.endswith("$") and (len(self.text) - 1 - len(body)) % 2 == 0:
            self.text = self.text[:-1]
        self.places: list[Any] = []
        self.follow: list[int] = []
        self.whole = self._alternatives(0)
        if self.at != len(self.text):
            raise UnreadableError("a pattern of another kind than is known here")
        self._steps: dict[tuple[int, str], int] = {}
        self._fitting: dict[str, int] = {}

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        if len(text) > LONGEST_MATCHED:
            return False
        allowed, reached = self.whole.first, 0
        if not text:
            return self.whole.empty
        for letter in text:
            key = (allowed, letter)
            if key not in self._steps:
                if len(self._steps) > 100_000:
                    self._steps.clear()
                spend(len(self.places))
                self._steps[key] = allowed & self._places_of(letter)
            reached = self._steps[key]
            if not reached:
                return False
            allowed = self._after(reached)
        return bool(reached & self.whole.last)

    def _places_of(self, letter: str) -> int:
        """The places at which a letter may stand."""
        if letter not in self._fitting:
            bits = (1 << place for place, one in enumerate(self.places) if one.fullmatch(letter))
            self._fitting[letter] = sum(bits)
        return self._fitting[letter]

    def _after(self, reached: int) -> int:
        """The places that may follow these."""
        key = (reached, "")
        if key not in self._steps:
            spend(len(self.places))
            found, left = 0, reached
            while left:
                lowest = left & -left
                found |= self.follow[lowest.bit_length() - 1]
                left ^= lowest
            self._steps[key] = found
        return self._steps[key]

    # --- reading, from left to right ---

    def _alternatives(self, depth: int) -> Places:
        bounded("groups of a pattern inside each other", depth, DEEPEST_VALUE)
        found = self._sequence(depth)
        while self.text.startswith("|", self.at):
            self.at += 1
            other = self._sequence(depth)
            found = Places(found.first | other.first, found.last | other.last, found.empty or other.empty)
        return found

    def _sequence(self, depth: int) -> Places:
        found = Places(0, 0, empty=True)
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            start = self.at
            part = self._part(depth)
            repeat = PATTERN_REPEAT.match(self.text, self.at)
            if repeat is not None:
                after = repeat.end()
                part = self._repeat(part, repeat, start, depth)
                self.at = after
            found = self._join(found, part)
        return found

    def _part(self, depth: int) -> Places:
        sign = PATTERN_SIGN.match(self.text, self.at)
        if sign is None or (sign["place"] and any(pair in sign["place"] for pair in ("--", "&&", "||", "~~"))):
            raise UnreadableError("a pattern of another kind than is known here")
        self.at = sign.end()
        if sign["open"]:
            found = self._alternatives(depth + 1)
            if not self.text.startswith(")", self.at):
                raise UnreadableError("a pattern with a group that does not end")
            self.at += 1
            return found
        bounded("places of a pattern", len(self.places) + 1, MOST_PLACES)
        try:
            self.places.append(re.compile(sign["place"]))
        except (re.error, OverflowError):
            raise UnreadableError("a pattern with a class that is none") from None
        self.follow.append(0)
        own = 1 << (len(self.places) - 1)
        return Places(own, own, empty=False)

    def _repeat(self, part: Places, repeat: Any, start: int, depth: int) -> Places:
        """A part as often as it says; it is read again for each time."""
        low, high = {"?": (0, 1), "*": (0, None), "+": (1, None)}.get(repeat[1] or "", (0, None))
        if repeat[2]:
            low = high = int(repeat[2])
        elif repeat[3] is not None:
            if not repeat[3] and not repeat[4]:
                raise UnreadableError("a repeat without a number")
            low, high = int(repeat[3] or 0), int(repeat[4]) if repeat[4] else None
        if high is not None and high < low:
            raise UnreadableError("a repeat whose ends are the wrong way round")
        if high == 0:
            return Places(0, 0, empty=True)
        copies = max(low, 1) if high is None else high
        found = part if low >= 1 else part._replace(empty=True)
        end = self.at
        for number_ in range(2, copies + 1):
            spend(1000)
            self.at = start
            part = self._part(depth)
            found = self._join(found, part if low >= number_ else part._replace(empty=True))
        self.at = end
        if high is None:
            self._lead(part.last, part.first)
        return found

    def _join(self, one: Places, other: Places) -> Places:
        self._lead(one.last, other.first)
        first = one.first | (other.first if one.empty else 0)
        last = other.last | (one.last if other.empty else 0)
        return Places(first, last, one.empty and other.empty)

    def _lead(self, last: int, first: int) -> None:
        while last:
            lowest = last & -last
            self.follow[lowest.bit_length() - 1] |= first
            last ^= lowest


# === 13. Counted guarantees ========================================================================================

_MADE: dict[Any, Any] = {}
"""What was made of a declared domain to compare with, while one folder is verified."""

COUNTED_KIND = {"microaggregation": "k-anonymity", "probabilistic-k": "probabilistic-k"}
"""What each method promises."""
COUNTED_STATUS = {"microaggregation": "checked", "probabilistic-k": "proved with condition"}
"""All that such a method can say of itself: its promise is counted on the table, or holds on a condition about intruders."""
COUNTED_THEOREM = {"microaggregation": "microaggregation-k", "probabilistic-k": "probabilistic-k"}
SHOWN_AS_LABEL = ("interval", "set", "concept", "ancestor")
"""What a group may show that is no value of the attribute."""


class CountedPlan(NamedTuple):
    """What the locked plan of a counted release asks for."""

    lock: dict[str, Any]
    release: dict[str, Any]
    swapped: bool
    quasi: list[str]
    confidential: list[str]
    k_by_attribute: dict[str, int]
    k: int
    l: Optional[int]  # noqa: E741 - the literature's letter
    t: Optional[Fraction]


def read_counted_plan(lock: dict[str, Any]) -> CountedPlan:
    """The plan of a lock whose method is microaggregation or probabilistic k-anonymity."""
    release = lock["release"]
    swapped = release["method"] == "probabilistic-k"

    def with_role(role: str) -> list[str]:
        return [name for name, own in lock["attributes"].items() if own["role"] == role]

    own_k: dict[str, int] = {}
    if swapped and release["grouping"] == "ranking":
        own_k = {name: (release.get("crowds") or {}).get(name, release["k"]) for name in with_role("confidential")}
    closeness = release.get("t")
    return CountedPlan(
        lock=lock,
        release=release,
        swapped=swapped,
        quasi=with_role("quasi"),
        confidential=with_role("confidential"),
        k_by_attribute=own_k,
        k=min(own_k.values(), default=release["k"]),
        l=release.get("l"),
        t=None if closeness is None else number(closeness),
    )


def counted_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """A table whose guarantee is a property of its own: the certificate against the locked plan, then groups, l and t counted."""
    plan = read_counted_plan(lock)
    method = plan.release["method"]
    kind, status = COUNTED_KIND[method], COUNTED_STATUS[method]
    yield from subject_checks(certificate, lock, status)
    told = {name: own for name, own in certificate["guarantee"].items() if name not in ("unit", "status")}
    wanted = {"kind": kind, "k": plan.k, "l": plan.l, "t": plan.t}
    yield must("guarantee", equal(told, wanted), "as the locked plan asks for it")
    yield from claim_checks(certificate, *_counted_claims(plan, kind, status))
    gain = number(plan.release["gain"]) if plan.release["grouping"] == "vmdav" else None
    grouping = {"name": plan.release["grouping"], "gain": gain, "k_by_attribute": plan.k_by_attribute}
    yield must("grouping", equal(certificate["grouping"], grouping), "as the locked plan asks for it")
    ledger = certificate["ledger"]
    spent = number(ledger["epsilon"]) > 0 or number(ledger["delta"]) > 0
    yield must("prior-charges", ledger["charges"] > 0 or not spent, "without charges there is nothing spent")
    yield from look_checks(ledger)
    yield Check("display", None, "by which rule a column shows its values is not compared here")
    yield from counted_table_checks(folder, certificate, plan)


def _counted_claims(plan: CountedPlan, kind: str, status: str) -> tuple[list[dict[str, Any]], list[int]]:
    """The claims of a counted release, and how many conditions each has."""
    rest = {"unit": None, "randomness": "operating system" if plan.swapped else "none needed"}
    theorems = [COUNTED_THEOREM[plan.release["method"]]]
    claims: list[dict[str, Any]] = [
        {"guarantee": {"kind": kind, "k": plan.k}, "status": status, "theorems": theorems, **rest}
    ]
    if plan.l is not None:
        guarantee: dict[str, Any] = {"kind": "l-diversity", "l": Fraction(plan.l), "form": "distinct"}
        claims.append({"guarantee": guarantee, "status": "checked", "theorems": [], **rest})
    if plan.t is not None:
        guarantee = {"kind": "t-closeness", "t": plan.t, "metric": "emd"}
        claims.append({"guarantee": guarantee, "status": "checked", "theorems": [], **rest})
    return claims, [int(plan.swapped)] * len(claims)


def counted_table_checks(folder: Path, certificate: dict[str, Any], plan: CountedPlan) -> Iterator[Check]:
    """The one table: its columns and roles, then what is counted on it."""
    tables, attributes = certificate["tables"], plan.lock["attributes"]
    name = f"table.{plan.release['output']['format']}"
    wanted = {name, "policy.lock.yaml", *carried_files(certificate, plan.lock)}
    fits = len(tables) == 1 and tables[0]["file"] == name
    fits = fits and beside_handbook(certificate) == with_parts(certificate, wanted)
    yield must("single-table", fits, "beside the locked plan, and nothing else")
    if not tables:
        return
    table = tables[0]
    columns = table["columns"]
    fits = table["k"] == plan.k and sorted(columns) == sorted(published_attributes(plan.lock)) == sorted(table["shows"])
    fits = fits and table["quasi"] == [column for column in columns if column in plan.quasi]
    fits = fits and table["confidential"] == [column for column in columns if column in plan.confidential]
    yield must("roles", fits, "every published attribute, with the role of the locked plan")
    if not fits:
        return
    rows, read = reading_checks(folder, name, columns)
    yield from read
    if rows is None:
        return
    kinds = [_kind_shown(attributes[column]["type"], table["shows"][column]) for column in columns]
    for place, column in enumerate(columns):
        cells = {row[place] for row, _ in rows}
        yield domain_check(cells, attributes[column], table["shows"][column], kinds[place], column)
    try:
        in_order = are_sorted(rows, kinds)
    except (ValueError, TypeError, KeyError):
        in_order = False
    yield must("row-order", in_order, "sorted by their own values", about=name)
    many, least = sum(times for _, times in rows), 2 * max(plan.k, *plan.k_by_attribute.values(), 0)
    yield must("row-count", many >= least, f"{many}; two groups have {least} or more", about=name)
    yield from _group_checks(rows, columns, plan, name)


def _group_checks(rows: list[Any], columns: list[str], plan: CountedPlan, name: str) -> Iterator[Check]:
    """k, l and t, counted; groups that are not published cannot be counted, and then l is counted on the whole table."""
    places = [columns.index(each) for each in plan.quasi]
    groups: dict[Any, list[Any]] = {}
    for row, times in rows:
        key = () if plan.swapped else tuple(row[place] for place in places)
        groups.setdefault(key, []).append((row, times))
    if not plan.swapped:
        smallest = min((sum(times for _, times in group) for group in groups.values()), default=0)
        detail = f"the smallest class has {smallest} rows, k = {plan.k}"
        yield must("class-size", smallest >= plan.k, detail, about=name)
    for column in plan.confidential:
        place = columns.index(column)
        if plan.l is not None:
            kind = plan.lock["attributes"][column]["type"]
            fewest = min((len({_value(row[place], kind) for row, _ in group}) for group in groups.values()), default=0)
            yield must("distinct-values", fewest >= plan.l, f"{fewest} at the least", about=column)
        if plan.t is not None and not plan.swapped:
            far = largest_distance(list(groups.values()), rows, place, plan.lock["attributes"][column])
            yield must("closeness", far <= plan.t, f"the farthest group lies {float(far):.4g} off", about=column)


def _value(cell: Any, kind: str) -> Any:
    """A cell as the value that it stands for, so that one value in two spellings is one."""
    return None if cell is None else comparable(cell, kind)


def domain_check(cells: set[Any], attribute: dict[str, Any], shows: str, kind: str, column: str) -> Check:
    """Whether a column shows values of its declared domain, or labels that are made of them."""
    try:
        fits = all(cell is None or _is_shown(cell, attribute, shows, kind) for cell in cells)
    except UnreadableError as error:
        return Check("labels", None, str(error), about=column)
    except BoundError:
        raise
    except (ValueError, TypeError, KeyError):
        fits = False
    return must("labels", fits, "values of the declared domain, or labels made of them", about=column)


def _is_shown(cell: Any, attribute: dict[str, Any], shows: str, kind: str) -> bool:
    """Whether a cell is a value of a domain, lies between its ends, or is an interval, a set or a concept of it."""
    if shows in SHOWN_AS_LABEL and not isinstance(cell, str):
        return False
    if shows == "interval" and cell.startswith("[") and cell.endswith("]"):
        return _is_interval(cell[1:-1], attribute)
    if shows == "set" and cell.startswith("{") and cell.endswith("}"):
        return _is_set(cell[1:-1], attribute)
    if shows in ("concept", "ancestor") and cell in _concepts(attribute["hierarchy"]):
        return True
    if shows in ("mean", "median") and attribute["type"] in ("integer", "decimal", "date", "datetime"):
        low, high = _ends({**attribute, "type": kind})
        return low is None or bool(low <= comparable(cell, kind) <= high)
    return in_domain(cell, attribute)


def in_domain(cell: Any, attribute: dict[str, Any]) -> bool:
    """Whether a value is one of the declared domain: listed, of its pattern, or between its ends."""
    domain, kind = attribute["domain"], attribute["type"]
    value = comparable(cell, kind)
    if isinstance(domain, list):
        low, high = _ends(attribute)
        return bool(low <= value <= high)
    if isinstance(domain, dict) and "values" in domain:
        return value in _listed(attribute)
    return domain is None or _pattern(domain["pattern"]).matches(cell)


def _ends(attribute: dict[str, Any]) -> tuple[Any, Any]:
    """The lowest and the highest value of a declared domain; None where it has none."""
    domain, kind = attribute["domain"], attribute["type"]
    if isinstance(domain, dict) and "values" in domain:
        listed = _listed(attribute)
        return min(listed), max(listed)
    if not isinstance(domain, list):
        return None, None
    low, high = (comparable(end, kind) for end in domain)
    return low, high


def _listed(attribute: dict[str, Any]) -> Any:
    """The listed values of a declared domain, to be compared with; made once."""
    domain, kind = attribute["domain"], attribute["type"]
    key = (id(domain), kind)
    if key not in _MADE:
        _MADE[key] = (frozenset(comparable(each, kind) for each in domain["values"]), domain)
    return _MADE[key][0]


def _pattern(text: str) -> PatternMatcher:
    """A pattern, made once."""
    if text not in _MADE:
        _MADE[text] = PatternMatcher(text)
    found: PatternMatcher = _MADE[text]
    return found


def _is_interval(body: str, attribute: dict[str, Any]) -> bool:
    """Whether a text is two values of a domain, the lower one first; a value may have a comma in it."""
    pieces = body.split(", ")
    domain = attribute["domain"]
    ranks = attribute["type"] == "ordinal" and isinstance(domain, dict) and domain["values"]
    for cut in range(1, len(pieces)):
        spend(len(body))
        low, high = ", ".join(pieces[:cut]), ", ".join(pieces[cut:])
        try:
            if in_domain(low, attribute) and in_domain(high, attribute):
                rank = ranks.index if ranks else lambda cell: comparable(cell, attribute["type"])
                return bool(rank(low) < rank(high))
        except (ValueError, TypeError):
            continue
    return False


def _is_set(body: str, attribute: dict[str, Any]) -> bool:
    """Whether a text is two or more values of a domain; a value may have a comma in it."""
    pieces = body.split(", ")
    ways = [True] + [False] * len(pieces)  # whether the first so many pieces are whole values
    for end in range(1, len(pieces) + 1):
        for start in range(end - 1, -1, -1):
            spend(10)
            if ways[start] and in_domain(", ".join(pieces[start:end]), attribute):
                ways[end] = True
                break
    return len(pieces) > 1 and ways[-1]


def _concepts(hierarchy: Any) -> Any:
    """The names of a hierarchy that the locked plan writes out; UnreadableError for a file, a mask, and `auto`."""
    key = ("concepts", id(hierarchy))
    if key in _MADE:
        return _MADE[key][0]
    tree = hierarchy.get("groups") or hierarchy.get("taxonomy") if isinstance(hierarchy, dict) else None
    if tree is None or (isinstance(tree, dict) and set(tree) == {"sha256"}):
        raise UnreadableError(
            "what its concepts are called is not compared here: the locked plan does not write the hierarchy out"
        )
    found, waiting = {"*", hierarchy.get("rest") or "*"}, [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            found |= set(each)
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
        else:
            found.add(each)
    _MADE[key] = (frozenset(found), hierarchy)
    return _MADE[key][0]


def _kind_shown(kind: str, shows: str) -> str:
    """How the values of a column compare: labels as text, means and medians of numbers as numbers."""
    if shows in SHOWN_AS_LABEL:
        return "text"
    return "decimal" if shows in ("mean", "median") and kind in ("integer", "decimal") else kind


def largest_distance(
    groups: list[Any], rows: list[Any], place: int, attribute: dict[str, Any], along: Optional[bool] = None
) -> Fraction:
    """The largest earth mover's distance of a group from the table: along the order of values, or with all 1 apart.

    `along` says which; without it, along the order where values have one. It is counted in whole numbers, and for each group in
    a time that grows with the group and not with the table.
    """
    kind, domain = attribute["type"], attribute["domain"]
    listed = domain.get("values") if isinstance(domain, dict) else None
    ranks = {text: rank for rank, text in enumerate(listed)} if kind == "ordinal" and listed is not None else None
    has_order = along if along is not None else ranks is not None or kind in ("integer", "decimal", "date", "datetime")

    def sort_key(cell: Any) -> Any:
        if cell is None:
            return (1, 0)
        return (0, ranks[cell] if ranks is not None else comparable(cell, kind))

    def counts_of(group: list[Any]) -> Counter[Any]:
        counts: Counter[Any] = Counter()
        for row, times in group:
            counts[sort_key(row[place])] += times
        return counts

    overall = counts_of(rows)
    order, many = sorted(overall), sum(overall.values())
    index = {each: number_ for number_, each in enumerate(order)}
    upto = list(accumulate(overall[each] for each in order))  # rows with this value or a smaller one
    sums = [0, *accumulate(upto)]

    def moved(first: int, last: int, held: int, own: int) -> int:
        """The sum of |held * many - upto[i] * own| for i from first to before last, which rises with i."""
        middle = min(max(bisect_right(upto, held * many // own), first), last)
        below = held * many * (middle - first) - own * (sums[middle] - sums[first])
        return below + own * (sums[last] - sums[middle]) - held * many * (last - middle)

    worst = Fraction(0)
    for group in groups:
        counts = counts_of(group)
        own = sum(counts.values())
        if not has_order:
            distance = sum(max(0, times * many - overall[each] * own) for each, times in counts.items())
            worst = max(worst, Fraction(distance, own * many))
            continue
        distance = held = start = 0
        for each in sorted(counts):
            distance += moved(start, index[each], held, own)
            held, start = held + counts[each], index[each]
        distance += moved(start, len(order), held, own)
        worst = max(worst, Fraction(distance, own * many * max(1, len(order) - 1)))
    return worst


# === 14. k-anonymity by levels =====================================================================================
#
# Every quasi-identifier shows the labels of one level of its hierarchy, or of several where rows have labels of their own. The
# rules in recoding/ say which label stands for which values. Classes are rows that show the same quasi-identifiers; what each of
# them must have is counted here in whole numbers. With n rows of a class, n_v of them with a confidential value v, and N and N_v
# the same of the published table:
#
#     l               the number of different values, a missing one not among them
#     entropy l       n^n >= l^n * product of n_v^n_v
#     recursive c, l  with counts r1 >= r2 >= ...: r1 < c (rl + ... + rm)
#     t               the earth mover's distance of n_v / n from N_v / N; where it is hierarchical, the mean over the heights of
#                     the tree below its root of the distance with any two nodes 1 apart
#     alpha           n_v <= alpha n
#     beta            n_v / n <= (1 + beta) N_v / N; enhanced: also n_v / n <= (1 - ln(N_v / N)) N_v / N
#     delta           |ln(n_v / n) - ln(N_v / N)| < delta for every value of the table
#
# Logarithms are taken as floats where the two sides lie far apart, and with 60 digits where they do not; of entropies, whose two
# sides may be equal, powers of whole numbers are compared then. A comparison that even that leaves open counts as failed.

FAR_APART = 1e-9
"""Two logarithms that differ by more are told apart by floats."""
OPEN = Decimal("1e-45")
"""Two numbers with 60 digits that differ by less are not told apart."""
MOST_POWERS = 200_000
"""Rows of a class whose entropy is compared by powers of whole numbers."""


class LevelsPlan(NamedTuple):
    """What the locked plan of k-anonymity by levels asks for."""

    lock: dict[str, Any]
    release: dict[str, Any]
    quasi: list[str]
    confidential: list[str]
    criteria: dict[str, Any]
    search: Optional[dict[str, Any]]

    def asked(self, key: str) -> Optional[Fraction]:
        """A criterion that is one number; None where it is not asked for."""
        found = self.release.get(key) if key == "t" else self.criteria.get(key)
        return None if found is None else number(found)

    @property
    def distances(self) -> dict[str, str]:
        """The ground distance of each confidential attribute, of which t is an earth mover's distance."""
        if self.release.get("t") is None:
            return {}
        asked = self.criteria.get("distance")
        return {name: asked or ("ordered" if self._is_ordered(name) else "equal") for name in self.confidential}

    def _is_ordered(self, name: str) -> bool:
        return self.lock["attributes"][name]["type"] in ("integer", "decimal", "date", "datetime", "ordinal")


def read_full_domain_plan(lock: dict[str, Any]) -> LevelsPlan:
    """The plan of a lock whose method is k-anonymity."""
    release = lock["release"]

    def with_role(role: str) -> list[str]:
        return [name for name, own in lock["attributes"].items() if own["role"] == role]

    return LevelsPlan(
        lock=lock,
        release=release,
        quasi=with_role("quasi"),
        confidential=with_role("confidential"),
        criteria=release.get("criteria") or {},
        search=release["recoding"].get("search"),
    )


def full_domain_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """A table with labels of levels: the certificate against the locked plan, then every criterion counted on the table."""
    plan = read_full_domain_plan(lock)
    yield from subject_checks(certificate, lock, "checked")
    yield full_domain_guarantee_check(certificate, plan)
    wanted = full_domain_claims(plan)
    yield from claim_checks(certificate, wanted, [0] * len(wanted))
    told = {name: own for name, own in certificate["search"].items() if name != "kind"}
    loss, local = (plan.search["loss"], plan.search["local"]) if plan.search is not None else (None, False)
    fits = equal(told, {"loss": loss, "local": local, "suppression": number(plan.release["suppression"])})
    fits = fits and (certificate["search"]["kind"] == "fixed") == (plan.search is None)
    yield must("search", fits, "as the locked plan asks for it; whether it is exact is not compared here")
    ledger = certificate["ledger"]
    spent = number(ledger["epsilon"]) > 0 or number(ledger["delta"]) > 0
    yield must("prior-charges", ledger["charges"] > 0 or not spent, "without charges there is nothing spent")
    yield from look_checks(ledger)
    name = f"table.{plan.release['output']['format']}"
    fits = [table["file"] for table in certificate["tables"]] == [name]
    yield must("table-files", fits, "one table, in the file of the locked plan")
    yield full_domain_file_check(certificate, plan)
    yield from full_domain_table_checks(folder, certificate, plan)
    yield Check("label-meaning", None, "what labels stand for is not compared with the locked hierarchies here")


def full_domain_claims(plan: LevelsPlan) -> list[dict[str, Any]]:
    """The claims of a release by levels: k first, then what else is counted on the table, then what on the population."""
    release, criteria = plan.release, plan.criteria
    found: list[dict[str, Any]] = [{"kind": "k-anonymity", "k": release["k"]}]
    if release.get("l") is not None:
        found.append({"kind": "l-diversity", "l": Fraction(release["l"]), "form": "distinct"})
    if criteria.get("entropy_l") is not None:
        found.append({"kind": "l-diversity", "l": plan.asked("entropy_l"), "form": "entropy"})
    if criteria.get("recursive") is not None:
        own = criteria["recursive"]
        found.append({"kind": "recursive-diversity", "c": number(own["c"]), "l": own["l"]})
    if release.get("t") is not None:
        found.append({"kind": "t-closeness", "t": plan.asked("t"), "metric": "emd"})
    if criteria.get("alpha") is not None:
        found.append({"kind": "alpha-deassociation", "alpha": plan.asked("alpha")})
    for form, beta in (criteria.get("beta") or {}).items():
        found.append({"kind": "beta-likeness", "beta": number(beta), "form": form})
    if criteria.get("delta") is not None:
        found.append({"kind": "delta-disclosure", "delta": plan.asked("delta")})
    if criteria.get("k_map") is not None:
        found.append({"kind": "k-map", "k": criteria["k_map"]["k"]})
    return [
        {
            "guarantee": each,
            "unit": None,
            "status": "checked",
            "theorems": ["population-k" if each["kind"] == "k-map" else "full-domain-k"],
            "randomness": "none needed",
        }
        for each in found
    ]


def full_domain_guarantee_check(certificate: dict[str, Any], plan: LevelsPlan) -> Check:
    """Every criterion of the promise against the locked plan."""
    release, criteria = plan.release, plan.criteria
    told = {name: own for name, own in certificate["guarantee"].items() if name not in ("unit", "status")}
    recursive, beta, k_map = criteria.get("recursive"), criteria.get("beta"), criteria.get("k_map")
    form = next(iter(beta)) if beta else None
    wanted = {
        "kind": "k-anonymity",
        "k": release["k"],
        "l": release.get("l"),
        "entropy_l": plan.asked("entropy_l"),
        "recursive": None if recursive is None else {"c": number(recursive["c"]), "l": recursive["l"]},
        "t": plan.asked("t"),
        "closeness": {name: {"distance": own} for name, own in plan.distances.items()},
        "alpha": plan.asked("alpha"),
        "beta": None if beta is None else {"form": form, "beta": number(beta[form])},
        "delta": plan.asked("delta"),
        "k_map": None if k_map is None else {"k": k_map["k"], "sha256": k_map["population"]["sha256"]},
    }
    fits = True
    for name, own in told["closeness"].items():
        fits = fits and bool(own["heights"]) == (own["distance"] == "hierarchical")
        told = {**told, "closeness": {**told["closeness"], name: {"distance": own["distance"]}}}
    if told["k_map"] is not None and k_map is not None:
        digest, is_public = told["k_map"]["sha256"], bool(k_map.get("public"))
        fits = fits and told["k_map"]["file"] == (f"population/{digest[:32]}.csv" if is_public else None)
        told = {**told, "k_map": {name: told["k_map"][name] for name in ("k", "sha256")}}
    return must("guarantee", fits and equal(told, wanted), "every criterion as the locked plan asks for it")


def full_domain_file_check(certificate: dict[str, Any], plan: LevelsPlan) -> Check:
    """Whether there is one table, and every listed file is there for something."""
    tables, promised = certificate["tables"], certificate["guarantee"]
    name = f"table.{plan.release['output']['format']}"
    used = {name, "policy.lock.yaml", *carried_files(certificate, plan.lock)}
    for files in (own for table in tables for own in table["recoding"].values()):
        used |= set(files)
    for own in promised["closeness"].values():
        used |= set(own["heights"])
    if promised["k_map"] is not None and promised["k_map"]["file"] is not None:
        used |= {promised["k_map"]["file"]}
        listed = certificate["files"].get(promised["k_map"]["file"])
        if listed != promised["k_map"]["sha256"]:
            return must("no-idle-files", False, "the population file has another hash than the locked plan names")
    fits = len(tables) == 1 and tables[0]["file"] == name
    fits = fits and beside_handbook(certificate) == with_parts(certificate, used)
    return must("no-idle-files", fits, "one table, and every file is there for something")


def full_domain_table_checks(folder: Path, certificate: dict[str, Any], plan: LevelsPlan) -> Iterator[Check]:
    """The one table: columns, roles and levels, then labels and order, then what is counted on it."""
    if len(certificate["tables"]) != 1:
        return  # said before
    (table,) = certificate["tables"]
    columns, attributes = table["columns"], plan.lock["attributes"]
    every = sorted(published_attributes(plan.lock))
    fits = table["k"] == plan.release["k"] and sorted(columns) == every
    fits = fits and sorted(table["levels"]) == sorted(table["recoding"]) == every
    fits = fits and table["quasi"] == [column for column in columns if column in plan.quasi]
    fits = fits and table["confidential"] == [column for column in columns if column in plan.confidential]
    yield must("roles", fits, "every published attribute, with the role of the locked plan")
    if not fits:
        return
    rules = {column: [read_json(folder, file) for file in table["recoding"][column]] for column in columns}
    yield level_of_columns_check(table, rules, plan)
    rows, read = reading_checks(folder, table["file"], columns)
    yield from read
    if rows is None:
        return
    kinds = [attributes[column]["type"] if table["levels"][column] == [0] else "text" for column in columns]
    known = True
    for place, (column, kind) in enumerate(pairs(columns, kinds)):
        check = shown_check({row[place] for row, _ in rows}, rules[column], kind, column)
        known = known and check.agrees is not False
        yield check
    yield must("row-order", known and are_sorted(rows, kinds), "sorted by their own values", about=table["file"])
    if known:
        yield from class_checks(folder, certificate, plan, rows, rules)


def level_of_columns_check(table: dict[str, Any], rules: dict[str, list[Any]], plan: LevelsPlan) -> Check:
    """The levels of each column against the locked plan, and a rule for each of them."""
    fixed = plan.release["recoding"].get("levels") or {}
    search = plan.search or {}
    fits = True
    for column, levels in table["levels"].items():
        told = [(rule["attribute"], rule["type"], rule["level"]) for rule in rules[column]]
        kind = plan.lock["attributes"][column]["type"]
        fits = fits and told == [(column, kind, level) for level in levels] and levels == sorted(set(levels))
        fits = fits and all(rule["kind"] in ("keep", "groups", "cuts", "masked", "whole") for rule in rules[column])
        fits = fits and len(levels) == len(table["recoding"][column])
        if column not in plan.quasi:
            fits = fits and levels == [0]
        elif plan.search is None:
            fits = fits and levels == [fixed.get(column, 0)]
        else:
            pinned = (search.get("levels") or {}).get(column)
            least = (search.get("finest") or {}).get(column, 0)
            most = (search.get("coarsest") or {}).get(column)
            fits = fits and (len(levels) == 1 or bool(search["local"]))
            fits = fits and (pinned is None or levels == [pinned])
            fits = fits and all(least <= level and (most is None or level <= most) for level in levels)
    return must("recoding-levels", fits, "levels that were locked or may be searched, each with its rule")


def shown_check(cells: set[Any], rules: list[Any], kind: str, column: str) -> Check:
    """Whether every cell of a column is one that one of its rules can show."""
    detail = "every label is one that a rule of its column can show"
    try:
        if len(rules) == 1:
            fits = can_show(rules[0], kind, cells)
        else:
            fits = all(any(shows_cell(rule, cell) for rule in rules) for cell in cells)
    except UnreadableError as error:
        return must("labels", None, str(error), about=column)
    return must("labels", fits, detail, about=column)


def shows_cell(rule: dict[str, Any], cell: Any) -> bool:
    """Whether a rule is one of several that can show a cell; beside labels, a missing value has a label at level 0 too."""
    return (cell == MISSING and rule["kind"] == "keep") or can_show(rule, kind_of_rule(rule), {cell})


def kind_of_rule(rule: dict[str, Any]) -> str:
    """How what a rule shows compares: values by their type, labels as text."""
    return str(rule["type"]) if rule["kind"] == "keep" else "text"


def full_domain_statement(plan: LevelsPlan) -> list[str]:
    """What was counted, in words of this file's own."""
    criteria, release = plan.criteria, plan.release
    found = [f"Every class of equal quasi-identifiers has at least {release['k']} rows."]
    asked = {key: release.get(key) or criteria.get(key) for key in ("l", "entropy_l", "t", "alpha", "delta")}
    words = [f"{key} = {own}" for key, own in asked.items() if own is not None]
    if criteria.get("recursive") is not None:
        words.append(f"recursive c = {criteria['recursive']['c']}, l = {criteria['recursive']['l']}")
    if criteria.get("beta") is not None:
        words += [f"{form} beta = {own}" for form, own in criteria["beta"].items()]
    if words:
        found.append(f"Of every confidential attribute, every class has: {', '.join(words)}.")
    k_map = criteria.get("k_map")
    if k_map is not None and k_map.get("public"):
        found.append(
            f"Every class stands for at least {k_map['k']} people of the population file that is in the folder."
        )
    elif k_map is not None:
        found.append(
            f"That every class stands for at least {k_map['k']} people of a population was NOT verified: its file is not here."
        )
    return [*found, "That is counted and not proved, and it is no differential privacy."]


# --- what is counted on classes ---


def class_checks(
    folder: Path, certificate: dict[str, Any], plan: LevelsPlan, rows: list[Any], rules: dict[str, list[Any]]
) -> Iterator[Check]:
    """k, and every criterion that the locked plan asks for, counted on the table."""
    (table,) = certificate["tables"]
    columns, name, k = table["columns"], table["file"], plan.release["k"]
    places = [columns.index(each) for each in table["quasi"]]
    groups: dict[Any, list[Any]] = {}
    for row, times in rows:
        groups.setdefault(tuple(row[place] for place in places), []).append((row, times))
    smallest = min((sum(times for _, times in group) for group in groups.values()), default=0)
    yield must("class-size", smallest >= k, f"the smallest class has {smallest} rows, k = {k}", about=name)
    for column in table["confidential"]:
        yield from confidential_checks(folder, certificate, plan, list(groups.values()), column)
    if certificate["guarantee"]["k_map"] is not None:
        yield population_check(folder, certificate, list(groups), rules, plan)


def confidential_checks(
    folder: Path, certificate: dict[str, Any], plan: LevelsPlan, groups: list[Any], column: str
) -> Iterator[Check]:
    """What is asked of one confidential attribute."""
    place = certificate["tables"][0]["columns"].index(column)
    attribute, criteria = plan.lock["attributes"][column], plan.criteria
    kind = attribute["type"]
    classes: list[Counter[Any]] = []
    whole: Counter[Any] = Counter()
    for group in groups:
        own: Counter[Any] = Counter()
        for row, times in group:
            own[_value(row[place], kind)] += times
        classes.append(own)
        whole.update(own)
    if plan.release.get("l") is not None:
        fewest = min((len(own) - (None in own) for own in classes), default=0)
        yield must("distinct-values", fewest >= plan.release["l"], f"{fewest} at the least", about=column)
    least, most = plan.asked("entropy_l"), plan.asked("alpha")
    if least is not None:
        fits = all(has_entropy(list(own.values()), least) for own in classes)
        yield must("entropy-diversity", fits, f"at least ln {least} in every class", about=column)
    if criteria.get("recursive") is not None:
        c, l = number(criteria["recursive"]["c"]), criteria["recursive"]["l"]  # noqa: E741
        fits = all(is_recursive(list(own.values()), c, l) for own in classes)
        yield must("recursive-diversity", fits, f"c = {c}, l = {l} in every class", about=column)
    if most is not None:
        fits = all(max(own.values()) <= most * sum(own.values()) for own in classes)
        yield must("largest-share", fits, f"at most {most} in every class", about=column)
    if plan.release.get("t") is not None:
        yield closeness_check(folder, certificate, plan, groups, column, (classes, whole))
    if criteria.get("beta") is not None:
        form = next(iter(criteria["beta"]))
        beta = number(criteria["beta"][form])
        fits = all(is_like(own, whole, beta, enhanced=form == "enhanced") for own in classes)
        yield must("likeness", fits, f"{form} beta at most {beta} in every class", about=column)
    below = plan.asked("delta")
    if below is not None:
        fits = all(discloses_less(own, whole, below) for own in classes)
        yield must("disclosure", fits, f"delta below {below} in every class", about=column)


def closeness_check(
    folder: Path, certificate: dict[str, Any], plan: LevelsPlan, groups: list[Any], column: str, held: Any
) -> Check:
    """Whether every class is within t of the table, by the distance of the locked plan."""
    distance, t = plan.distances[column], number(plan.release["t"])
    attribute = plan.lock["attributes"][column]
    classes, whole = held
    if distance == "hierarchical":
        files = certificate["guarantee"]["closeness"][column]["heights"]
        heights = [read_json(folder, file) for file in files]
        told = [(rule["attribute"], rule["type"], rule["level"]) for rule in heights]
        if told != [(column, attribute["type"], level) for level in range(len(heights))]:
            return must("closeness", False, "the rules of its heights are not those of its levels", about=column)
        far = tree_distance(classes, whole, heights, attribute["type"])
    else:
        place = certificate["tables"][0]["columns"].index(column)
        every = [row for group in groups for row in group]
        far = largest_distance(groups, every, place, attribute, along=distance == "ordered")
    return must("closeness", far <= t, f"the farthest class lies {float(far):.4g} off", about=column)


def tree_distance(classes: list[Any], whole: Any, heights: list[Any], kind: str) -> Fraction:
    """The largest distance of a class from the table in a tree: the mean over heights of the distance between their nodes."""
    sums = [Fraction(0)] * len(classes)
    for rule in heights:
        nodes = {value: label_of(rule, None if value is None else spelled(value), kind) for value in whole}
        many = sum(whole.values())
        overall: Counter[Any] = Counter()
        for value, times in whole.items():
            overall[nodes[value]] += times
        for place, own in enumerate(classes):
            rows = sum(own.values())
            counts: Counter[Any] = Counter()
            for value, times in own.items():
                counts[nodes[value]] += times
            moved = sum(max(0, times * many - overall[node] * rows) for node, times in counts.items())
            sums[place] += Fraction(moved, rows * many)
    return max(sums, default=Fraction(0)) / max(1, len(heights))


def has_entropy(counts: list[int], l: Fraction) -> bool:  # noqa: E741
    """Whether the entropy of a class is at least ln l."""
    rows = sum(counts)
    margin = log(rows) - sum(count * log(count) for count in counts) / rows - log(l)
    if abs(margin) > FAR_APART:
        return margin > 0
    common = gcd(*counts)
    counts, rows = [count // common for count in counts], rows // common
    if rows > MOST_POWERS:
        with localcontext() as context:
            context.prec = 60
            inside = sum((count * Decimal(count).ln() for count in counts), Decimal(0)) / rows
            return Decimal(rows).ln() - inside - decimal(l).ln() > OPEN
    spend(rows)
    right: int = l.numerator**rows
    for count in counts:
        right *= count**count
    return bool((rows * l.denominator) ** rows >= right)


def is_recursive(counts: list[int], c: Fraction, l: int) -> bool:  # noqa: E741
    """Whether the most frequent value is rarer than c times all from the l-th most frequent on."""
    falling = sorted(counts, reverse=True)
    return falling[0] < c * sum(falling[l - 1 :])


def is_like(own: Any, whole: Any, beta: Fraction, *, enhanced: bool) -> bool:
    """Whether no value of a class exceeds its share in the table by more than beta allows."""
    rows, many = sum(own.values()), sum(whole.values())
    for value, times in own.items():
        gain = Fraction(times * many, rows * whole[value]) - 1
        if gain > beta:
            return False
        if enhanced and gain > 0:
            margin = -log(whole[value] / many) - float(gain)
            if abs(margin) <= FAR_APART * (1 + float(gain)):
                with localcontext() as context:
                    context.prec = 60
                    margin = float(-decimal(Fraction(whole[value], many)).ln() - decimal(gain) > OPEN) - 0.5
            if margin < 0:
                return False
    return True


def discloses_less(own: Any, whole: Any, delta_: Fraction) -> bool:
    """Whether a class has every value of the table, each with a share less than e^delta times larger or smaller."""
    rows, many = sum(own.values()), sum(whole.values())
    for value, times in whole.items():
        if value not in own:
            return False
        odds = Fraction(own[value] * many, rows * times)
        odds = max(odds, 1 / odds)
        margin = float(delta_) - log(odds)
        if abs(margin) <= FAR_APART * (1 + float(delta_)):
            with localcontext() as context:
                context.prec = 60
                margin = float(decimal(delta_) - decimal(odds).ln() > OPEN) - 0.5
        if margin < 0:
            return False
    return True


# --- the population ---


def spelled(value: Any) -> str:
    """A value as tables and rules write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def label_of(rule: dict[str, Any], cell: Optional[str], kind: str) -> Any:
    """What a rule shows of a value, which None stands for where it is missing; None where it shows nothing of it."""
    if rule["kind"] == "whole":
        return rule["labels"][0]
    if cell is None:
        return MISSING
    value = comparable(cell, kind)
    if rule["kind"] == "keep":
        return value
    if rule["kind"] == "groups":
        return rule["table"].get(spelled(value))
    if rule["kind"] == "cuts":
        edges = [comparable(edge, kind) for edge in rule["edges"]]
        return rule["labels"][bisect_right(edges, value)]
    hidden = rule["letter"] * max(0, len(cell) - rule["kept"])
    return (
        cell[: rule["kept"]] + hidden if rule["side"] == "right" else hidden + cell[max(0, len(cell) - rule["kept"]) :]
    )


def population_check(
    folder: Path, certificate: dict[str, Any], classes: list[Any], rules: dict[str, list[Any]], plan: LevelsPlan
) -> Check:
    """Whether every class stands for enough people of the population, where its file travels with the release."""
    (table,), k_map = certificate["tables"], certificate["guarantee"]["k_map"]
    if k_map["file"] is None:
        detail = "the population file is not in the folder: that claim rests on the program that made the table"
        return Check("k-map", None, detail)
    quasi, attributes = table["quasi"], plan.lock["attributes"]
    kinds = [attributes[column]["type"] for column in quasi]
    shows = [[(rule, kind_of_rule(rule)) for rule in rules[column]] for column in quasi]
    wanted: dict[Any, set[Any]] = {}  # the classes that show each combination of levels
    for cells in classes:
        levels = tuple(
            next(at for at, (rule, _) in enumerate(own) if cell is None or shows_cell(rule, cell))
            for cell, own in pairs(cells, shows)
        )
        own_kinds = [own[level][1] for own, level in pairs(shows, levels)]
        key = tuple(
            MISSING if cell in (None, MISSING) else comparable(cell, kind) for cell, kind in pairs(cells, own_kinds)
        )
        wanted.setdefault(levels, set()).add(key)
    people: Counter[Any] = Counter()
    try:
        for cells, times in read_population(folder, k_map["file"], quasi, plan.criteria["k_map"].get("count")):
            spend(len(cells) * len(wanted))
            for levels, keys in wanted.items():
                chosen = [own[level][0] for own, level in pairs(shows, levels)]
                key = tuple(label_of(rule, cell, kind) for rule, (cell, kind) in pairs(chosen, pairs(cells, kinds)))
                if key in keys:
                    people[levels, key] += times
    except BoundError:
        raise
    except (ValueError, TypeError, KeyError, csv.Error):
        return must("k-map", False, "the population file cannot be read to its end")
    fewest = min((people[levels, key] for levels, keys in wanted.items() for key in keys), default=0)
    return must("k-map", fewest >= k_map["k"], f"the rarest class has {fewest} people of the population")


def read_population(
    folder: Path, name: str, columns: list[str], count: Optional[str]
) -> Iterator[tuple[list[Any], int]]:
    """The lines of a population file: its quasi-identifiers, None where one is missing, and how many people have them."""
    text = read_text(folder, name).lstrip("\ufeff")
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(lines, [])
    places = [header.index(column) for column in columns]
    at = None if count is None else header.index(count)
    for line in lines:
        if not line:
            continue
        times = 1 if at is None else int(line[at])
        if times < 0 or len(line) != len(header):
            raise ValueError("a line of a population with fewer than no people")
        yield [line[place] or None for place in places], times


# === 15. Noisy counts ==============================================================================================
#
# A table of counts has a number for every combination of its labels, each with discrete Gaussian noise of one sigma. Tables of
# single attributes come first, on the declared cells; from them cells are merged to bins, and wider tables are counted in the
# bins. Which wider tables there are is locked, or chosen: once, from a noisy score of every candidate, or in rounds, each by
# the exponential mechanism, after tables that are locked. A row is in one cell of each table. So the parts are
#
#     the tables of single attributes    n = singles * s counts with the sigma of the singles
#     the locked tables before rounds    n = first * s counts with their sigma
#     the scores, where chosen once      n = candidates, with the sigma of the scores
#     the choices, where in rounds       the exponential mechanism, once in each round
#     the wider tables                   n = tables * s counts with their sigma, for each number of tables that was possible
#
# with s = 1 where a row is added or removed, 2 where it is replaced; of a unit of m rows, s = m^2 or 2 m^2 bounds the sum of
# squared changes, and tables are composed as rho = n / (2 sigma^2). Synthetic rows and intervals are made from these numbers.

LEAST_SIGMA = Fraction(3, 10)
"""Noise below it is none: nine draws in a thousand differ from zero."""
MOST_CELLS = 4_000_000
"""Cells of one table of counts."""
LARGEST_COUNT = 10**15
NOBODY = {b"shoal": b"rows of nobody: synthetic, drawn from noisy counts"}
"""What a Parquet file of synthetic rows says of itself."""


class CountsPlan(NamedTuple):
    """What the locked plan of a release of noisy counts asks for, in the words of this file."""

    lock: dict[str, Any]
    release: dict[str, Any]
    epsilon: Fraction
    delta: Fraction
    max_rows: int
    replaced: bool
    drafted: bool
    asked: dict[str, Any]
    looked: bool = False

    @property
    def published(self) -> set[str]:
        """The attributes that the release shows."""
        return published_attributes(self.lock)

    @property
    def is_synthetic(self) -> bool:
        """Whether synthetic rows are drawn from the counts."""
        return bool(self.release["method"] == "synthetic")

    @property
    def has_rows(self) -> bool:
        """Whether rows are published beside the counts."""
        return self.release.get("counts") is not None

    @property
    def kind(self) -> str:
        """How the wider tables are found."""
        chosen = {"choose": "once", "adapt": "rounds"}
        return next((kind for key, kind in chosen.items() if self.asked.get(key) is not None), "fixed")

    @property
    def square(self) -> int:
        """By how much one unit changes one table, at most: the sum of squared changes."""
        return self.max_rows**2 * (2 if self.replaced else 1)

    @property
    def status(self) -> str:
        """How the promise is known to hold."""
        return "proved for a plan tuned on the data" if self.drafted or self.looked else "proved"


class CountedGroups(NamedTuple):
    """Which tables of counts a locked plan speaks of: attributes that are counted alone, and groups that are or may be."""

    attributes: set[str]
    singles: bool
    merged: bool
    groups: list[frozenset[str]]
    first: list[frozenset[str]]


def counted_groups(plan: CountsPlan) -> CountedGroups:
    """The tables of a locked plan. Where cells are merged, or `singles` is locked, tables of one attribute come first."""
    named = plan.asked.get("groups") or plan.asked.get("workload")
    if named is None and plan.asked.get("every") is not None:
        width = ["singles", "pairs", "triples"].index(plan.asked["every"]) + 1
        named = limit_views(_groups_of(plan, range(width, width + 1)), plan.asked.get("limit"))
    first = [frozenset(group) for group in named or ()] if plan.kind == "rounds" else []
    every = [frozenset(group) for group in named or ()]
    if plan.kind != "fixed":
        chosen = plan.asked.get("choose") or plan.asked.get("adapt") or {}
        known = set(first)
        possible = _groups_of(plan, range(2, (chosen.get("width") or (3 if first else 2)) + 1))
        target = chosen.get("target")
        every = [
            group for group in map(frozenset, possible) if group not in known and (target is None or target in group)
        ]
    wide = [group for group in every if len(group) > 1]
    merged = plan.asked["cells"] == "merged" and (bool(wide) or plan.kind != "fixed")
    attributes = {name for group in [*first, *every] for name in group}
    alone = merged or plan.asked.get("singles") is not None
    attributes = plan.published if alone and plan.is_synthetic else attributes
    groups = wide if alone and plan.kind == "fixed" else every
    held = {name for group in first for name in group} >= attributes
    return CountedGroups(attributes, alone or (plan.kind != "fixed" and not held), merged, groups, first)


def _groups_of(plan: CountsPlan, widths: Iterable[int]) -> list[tuple[str, ...]]:
    """All groups of published attributes of these sizes."""
    found: list[tuple[str, ...]] = []
    for each in widths:
        bounded("tables to choose from", comb(len(plan.published), each), 10 * MOST_FILES)
        found += combinations(sorted(plan.published), each)
    return found


def named_tables(noise: dict[str, Any]) -> int:
    """How many tables come before those that are chosen, or that are the only ones."""
    return int(noise["singles"]) + (int(noise["first"][0]) if "first" in noise else 0)


def read_counts_plan(lock: dict[str, Any]) -> CountsPlan:
    """The plan of a lock that asks for noisy counts."""
    release, unit = lock["release"], lock["unit"]
    return CountsPlan(
        lock=lock,
        release=release,
        epsilon=number(release["epsilon"]),
        delta=number(release["delta"]),
        max_rows=unit["max_rows"] if isinstance(unit, dict) else 1,
        replaced=lock["neighbours"] == "replace_one",
        drafted=is_drafted(lock),
        asked=release["counts"] if release.get("counts") is not None else release["views"],
    )


def noise_check(certificate: dict[str, Any], plan: CountsPlan, asked: CountedGroups) -> Check:
    """How many tables there are, how they are found, and which noise there must be, against the locked plan."""
    noise, groups = certificate["noise"], asked.groups
    fits = noise["kind"] == plan.kind and noise["singles"] == (len(asked.attributes) if asked.singles else 0)
    fits = fits and noise["merged"] == asked.merged
    fits = fits and noise["candidates"] == (0 if plan.kind == "fixed" else len(groups))
    needed = {
        "single_sigma": asked.singles,
        "score_sigma": plan.kind == "once",
        "choice_epsilon": plan.kind == "rounds",
    }
    fits = fits and all((noise[name] is not None) == there for name, there in needed.items())
    first = [noise["first"]] if "first" in noise else []
    fits = fits and [many for many, _ in first] == [len(asked.first)] * bool(asked.first)
    sigmas = [noise["single_sigma"], noise["score_sigma"], *(sigma for _, sigma in [*first, *noise["tables"]])]
    fits = fits and all(number(sigma) >= LEAST_SIGMA for sigma in sigmas if sigma is not None)
    numbers = [many for many, _ in noise["tables"]]
    fits = fits and bool(numbers) and numbers == sorted(set(numbers)) and numbers[-1] <= len(groups)
    if plan.kind == "once":
        locked = plan.asked["choose"].get("count")
    else:
        locked = len(groups) if plan.kind == "fixed" else plan.asked["adapt"].get("rounds")
        fits = fits and len(numbers) == 1
    fits = fits and (locked is None or numbers == [locked])
    fits = fits and len(certificate["counts"]) - named_tables(noise) in numbers
    return must("noise", fits, "as many tables, candidates and rounds as the locked plan says, each with noise")


def noise_parts(noise: dict[str, Any], plan: CountsPlan) -> list[tuple[Any, int]]:
    """What the noise costs: the parts that are composed."""

    def tables(choices: list[tuple[int, Fraction]]) -> Any:
        own = [(many * plan.square, sigma) for many, sigma in choices]
        if plan.max_rows == 1:
            return ("noisy-tables-dp", tuple(sorted(set(own))))
        return ("concentrated-dp", max(many / (2 * sigma**2) for many, sigma in own))

    found: list[tuple[Any, int]] = []
    if noise["singles"]:
        found.append((tables([(noise["singles"], number(noise["single_sigma"]))]), 1))
    if "first" in noise:
        found.append((tables([(noise["first"][0], number(noise["first"][1]))]), 1))
    if noise["kind"] == "once":
        found.append((("noisy-tables-dp", ((noise["candidates"], number(noise["score_sigma"])),)), 1))
    if noise["kind"] == "rounds":
        found.append((("exponential-dp", number(noise["choice_epsilon"])), noise["tables"][0][0]))
    found.append((tables([(many, number(sigma)) for many, sigma in noise["tables"]]), 1))
    return found


def half_width_fits(told: int, sigma: Fraction) -> bool:
    """Whether noise of this sigma lies in -t ... t with 95 % or more, and in no smaller interval."""
    width = float(min(sigma, Fraction(10**12)))
    if width > 1e5:
        return 0 <= told - int(1.959963984540054 * width) <= 2
    spend(9 * width)
    sums = list(accumulate(2 * exp(-((place / width) ** 2) / 2) for place in range(1, int(9 * width) + 3)))
    inside = [1.0, *(1.0 + each for each in sums)]
    if told >= len(inside):
        return False
    wanted, near = 0.95 * inside[-1], 1e-9
    return inside[told] >= wanted * (1 - near) and (told == 0 or inside[told - 1] < wanted * (1 + near))


def count_table_checks(certificate: dict[str, Any], plan: CountsPlan, asked: CountedGroups) -> Iterator[Check]:
    """Which tables of counts there are, in which files, and with which noise."""
    noise, counts, ending = certificate["noise"], certificate["counts"], plan.release["output"]["format"]
    singles, first = counts[: noise["singles"]], counts[noise["singles"] : named_tables(noise)]
    wide = counts[named_tables(noise) :]
    fits = all(len(set(table["columns"])) == len(table["columns"]) for table in counts)
    fits = fits and sorted(table["columns"] for table in singles) == [
        [name] for name in sorted(asked.attributes)
    ] * bool(singles)
    found = [frozenset(table["columns"]) for table in wide]
    fits = fits and len(set(found)) == len(found) and set(found) <= set(asked.groups)
    fits = fits and (plan.kind != "fixed" or len(found) == len(asked.groups))
    before = [frozenset(table["columns"]) for table in first]
    fits = fits and len(before) == len(asked.first) and set(before) == set(asked.first)
    yield must("count-tables", fits, "those of the locked plan, each once")
    fits, digits = True, len(str(len(counts)))
    for place, table in enumerate(counts, 1):
        name = table["name"]
        fits = fits and re.fullmatch(r"[0-9]+-[A-Za-z0-9_-]+", name) is not None
        fits = fits and name.startswith(f"{place:0{digits}d}-") and table["file"] == f"counts/{name}.{ending}"
        fits = fits and list(table["recoding"]) == table["columns"]
    yield must("count-files", fits, "each in the file of its number and name")
    sigma_of = {many: number(sigma) for many, sigma in noise["tables"]}
    paid = [number(noise["single_sigma"]) for _ in singles] + [number(noise["first"][1]) for _ in first]
    paid += [sigma_of[len(wide)] for _ in wide]
    fits = all(number(table["sigma"]) == sigma for table, sigma in pairs(counts, paid))
    widths = {(table["sigma"], table["half_width"]) for table in counts}
    fits = fits and len(widths) <= 3 and all(half_width_fits(width, number(sigma)) for sigma, width in widths)
    yield must("count-noise", fits, "the noise that is paid for, and intervals of 95 %")


def count_label_check(certificate: dict[str, Any], plan: CountsPlan, rules: dict[str, Any]) -> Check:
    """Whether the labels of every table divide the cells of their attribute, in one way for all wider tables."""
    noise, divisions, cells = certificate["noise"], dict[str, str](), dict[str, Any]()
    fits = True
    for place, table in enumerate(certificate["counts"]):
        for column, file in table["recoding"].items():
            rule = rules[file]
            fits = fits and rule["attribute"] == column and rule["type"] == plan.lock["attributes"][column]["type"]
            fits = fits and cells.setdefault(column, rule["cells"]) == rule["cells"]
            if place < noise["singles"] or not noise["merged"]:
                fits = fits and rule["labels"] == rule["cells"]  # a label for each cell
            else:
                fits = fits and divisions.setdefault(column, file) == file
    fits = fits and all(_divides_cells(rule) for rule in rules.values())
    return must(
        "count-labels", fits, "unions of cells, without gap or overlap, the same in all tables of several attributes"
    )


def _divides_cells(rule: dict[str, Any]) -> bool:
    """Whether every cell has exactly one label."""
    cells, labels = rule["cells"], rule["labels"]
    if rule["kind"] != "boxes" or not labels or len(rule["members"]) != len(labels):
        return False
    if not all(isinstance(text, str) for text in (*cells, *labels)):
        return False
    bounded("cells of all labels together", len(cells) * len(labels), MOST_BITS)
    together = 0
    for member in rule["members"]:
        own = _bits(member, len(cells))
        if not own or own & together:
            return False
        together |= own
        spend(1 + (len(cells) >> 10))
    return len(set(labels)) == len(labels) and len(set(cells)) == len(cells) and together == 2 ** len(cells) - 1


class RowReader:
    """A table that is read row by row, each handed to a function that says whether it fits; nothing is kept."""

    def __init__(self, folder: Path, name: str, columns: list[str], notes: Any = None) -> None:
        self.folder, self.name, self.columns, self.notes = folder, name, columns, notes
        self.rows, self.fits = 0, True

    def checks(self, fits: Callable[[Any], bool], unread: str) -> Iterator[Check]:
        """Whether it is written as tables are, with these columns; `unread` is left open where this Python cannot read it."""
        even, name = True, self.name
        try:
            rows = stream_rows(self.folder, name)
            even = next(rows) == self.columns
            for row in rows if even else ():
                even = even and len(row) == len(self.columns)
                self.rows += 1
                self.fits = self.fits and even and fits(row)
        except UnreadableError as error:
            self.fits = False
            yield must(unread, None, str(error), about=name)
            return
        except BoundError:
            raise
        except (ValueError, UnicodeDecodeError):
            self.fits = False
            yield must("table-text", False, "the file is not written as tables are written", about=name)
            return
        self.fits = self.fits and even
        yield must("table-text", True, "written as tables are written", about=name)
        yield must("table-columns", even, "as declared, in every row", about=name)
        silent = has_no_notes(self.folder, name, self.notes)
        yield must("table-notes", silent, "nothing in the file beside its rows and what they are", about=name)


def count_file_checks(
    folder: Path, table: dict[str, Any], rules: dict[str, Any], sums: dict[str, int]
) -> Iterator[Check]:
    """A table of counts: every combination of its labels in their order, with a whole number and its interval.

    What its counts add up to is put into `sums`, by its file, where every check agrees.
    """
    name, half_width = table["file"], table["half_width"]
    labels = [rules[table["recoding"][column]]["labels"] for column in table["columns"]]
    size = 1
    for own in labels:
        size *= len(own)
        bounded("cells of a table of counts", size, MOST_CELLS)
    wanted, whole, added = product(*labels), [True], [0]

    def fits(row: Any) -> bool:
        whole[0] = whole[0] and _is_count(row[-3:], half_width)
        added[0] += comparable(row[-3], "integer") if whole[0] else 0
        return bool(row[:-3] == next(wanted, None))

    read = RowReader(folder, name, [*table["columns"], "count", "low", "high"])
    checks = list(read.checks(fits, "count-cells"))
    yield from checks
    if not all(check.agrees for check in checks if check.id != "table-notes"):
        return
    same = read.fits and table["cells"] == size == read.rows
    yield must("count-cells", same, f"{size:,} combinations of labels, each once and in order", about=name)
    yield must("count-numbers", whole[0], "whole numbers and their intervals", about=name)
    if same and whole[0]:
        sums[name] = added[0]


def _is_count(cells: Any, half_width: int) -> bool:
    """Whether three cells are a whole number and the ends of its interval."""
    try:
        count, low, high = (comparable(cell, "integer") for cell in cells)
    except (ValueError, TypeError):
        return False
    fits = not isinstance(cells[0], bool) and abs(count) <= LARGEST_COUNT
    return fits and (low, high) == (count - half_width, count + half_width)


def count_index(certificate: dict[str, Any]) -> list[dict[str, Any]]:
    """What counts.json has to say about each table."""
    return [
        {
            "name": table["name"],
            "file": table["file"],
            "attributes": table["columns"],
            "sigma": number(table["sigma"]),
            "half_width": table["half_width"],
            "cells": table["cells"],
        }
        for table in certificate["counts"]
    ]


def count_index_check(folder: Path, certificate: dict[str, Any], asked: CountedGroups) -> Check:
    """Whether the index names the tables, and the published scores are those of the candidates, each once."""
    index, noise = read_json(folder, "counts.json"), certificate["noise"]
    wide = [frozenset(table["columns"]) for table in certificate["counts"][named_tables(noise) :]]
    wrong = misfit(index, COUNT_INDEX, "counts.json")
    fits = wrong is None and index["dataset"] == certificate["dataset"]
    fits = fits and equal(index["tables"], count_index(certificate))
    if fits and noise["kind"] != "once":
        fits = index["scores"] == []
    elif fits:
        scored = [frozenset(each["attributes"]) for each in index["scores"]]
        chosen = {group for group, each in zip(scored, index["scores"]) if each["chosen"]}
        fits = len(set(scored)) == len(scored) == len(asked.groups) and set(scored) == set(asked.groups)
        fits = fits and chosen == set(wide)
    return must("count-index", bool(fits), wrong or "names, files, noise, and what was chosen by what")


# --- synthetic rows ---


def synthetic_checks(
    folder: Path, certificate: dict[str, Any], plan: CountsPlan, sums: dict[str, int]
) -> Iterator[Check]:
    """The synthetic table: its name, its columns, its number of rows, and nothing but values that the locked plan allows."""
    told, asked = certificate["synthetic"], plan.release.get("synthetic") or {}
    if not plan.is_synthetic:
        yield must("synthetic-file", told is None, "the locked plan asks for none")
        return
    if told is None:
        yield must("synthetic-file", False, "there is none, though the locked plan asks for it")
        return
    declared = asked.get("rows", "noisy")
    fits = told["file"] == f"synthetic.{plan.release['output']['format']}"
    fits = fits and sorted(told["columns"]) == sorted(plan.published)
    fits = fits and told["declared"] == (declared != "noisy") and (declared == "noisy" or told["rows"] == declared)
    fits = fits and told["rules"] == len(asked.get("never") or ())
    if not fits:
        yield must("synthetic-file", False, "it is not the one that the locked plan asks for")
        return
    if declared == "noisy":
        yield synthetic_number_check(certificate, sums)
    allowed = AllowedRows(told["columns"], plan.lock["attributes"], asked.get("never") or [])
    read = RowReader(folder, told["file"], told["columns"], NOBODY)
    checks = list(read.checks(allowed.holds, "synthetic-values"))
    yield from checks
    if all(check.agrees for check in checks if check.id != "table-notes"):
        detail = f"{read.rows:,} rows, in a file that says what they are"
        yield must("synthetic-file", read.rows == told["rows"], detail)
        detail = "values of the declared domains, and no combination that must never be"
        yield must("synthetic-values", read.fits, detail)


def synthetic_number_check(certificate: dict[str, Any], sums: dict[str, int]) -> Check:
    """Whether there are as many synthetic rows as all tables of counts say, each weighed by the precision of its sum."""
    id_, counts = "synthetic-number", certificate["counts"]
    if not all(table["file"] in sums for table in counts):
        return must(id_, None, "not every table of counts could be read here")
    weights = [1 / (table["cells"] * float(number(table["sigma"])) ** 2) for table in counts]
    weighed = fsum(weight * sums[table["file"]] for weight, table in pairs(weights, counts))
    total = max(weighed / fsum(weights), 1.0)
    fits = abs(certificate["synthetic"]["rows"] - total) <= 0.5 + 1e-9 * total
    return must(id_, fits, "the mean of what the tables of counts add up to, weighed by their noise")


class AllowedRows:
    """Which rows have values of the domains alone, and lie in no combination that must never be; each value is looked at once."""

    def __init__(self, columns: list[str], attributes: dict[str, Any], never: list[Any]) -> None:
        self.own = [attributes[column] for column in columns]
        self.never = [[(columns.index(name), named) for name, named in rule.items()] for rule in never]
        self._known: dict[Any, bool] = {}

    def holds(self, row: Any) -> bool:
        """Whether a row is allowed."""
        try:
            if not all(self._fits(place, cell) for place, cell in enumerate(row)):
                return False
            return not any(
                all(self._lies_in(number_, place, named, row[place]) for place, named in rule)
                for number_, rule in enumerate(self.never)
            )
        except BoundError:
            raise
        except (ValueError, TypeError, KeyError):
            return False

    def _fits(self, place: int, cell: Any) -> bool:
        key = (place, cell)
        if key not in self._known:
            own = self.own[place]
            spend(1)
            self._known[key] = own.get("missing", "value") == "value" if cell is None else in_domain(cell, own)
        return self._known[key]

    def _lies_in(self, rule: int, place: int, named: list[str], cell: Any) -> bool:
        key = (rule, place, cell)
        if key not in self._known:
            self._known[key] = cell is not None and _is_named(cell, self.own[place], named)
        return self._known[key]


def _is_named(cell: Any, attribute: dict[str, Any], named: list[str]) -> bool:
    """Whether a value is one of those that a rule names; two numbers or dates are the ends of a range."""
    kind, listed = attribute["type"], isinstance(attribute["domain"], dict)
    value, words = comparable(cell, kind), [comparable(each, kind) for each in named]
    if kind in ("integer", "decimal", "date", "datetime") and len(words) == 2:
        below = value <= words[1] if listed or kind in ("integer", "date") else value < words[1]
        return bool(words[0] <= value and below)
    return value in words


# --- everything about noisy counts ---


RELIABLE = Fraction(1, 10**11)
"""Below this delta parts are composed by their concentration, because the arithmetic of losses is not relied on there."""


WITH_RHO = {"pure-dp", "laplace-dp", "gaussian-dp", "noisy-tables-dp", "exponential-dp", "concentrated-dp"}
"""Kinds of guarantees for which a parameter of concentrated privacy is known."""


def composition_theorems(parts: list[dict[str, Any]], delta_: Fraction) -> list[str]:
    """By which results the parts of noisy counts keep their promise: their kinds and delta decide."""
    if sum(part["times"] for part in parts) == 1:
        return []
    kinds = {part["guarantee"]["kind"] for part in parts}
    if delta_ < RELIABLE:
        return ["concentrated-composition", *(["basic-composition"] if kinds - WITH_RHO else [])]
    by_rho = "concentrated-dp" in kinds and kinds <= WITH_RHO
    return ["concentrated-composition" if by_rho else "pld-composition"]


def counts_theorems(plan: CountsPlan, rows: Optional[LockedPlan], certificate: dict[str, Any]) -> list[str]:
    """The names of all results that the promise of noisy counts rests on, in their order."""
    found = ["noisy-tables"]
    found += ["bounded-range"] if plan.kind == "rounds" else []
    found += ["adaptive-tables"] if named_tables(certificate["noise"]) else []
    found += theorems_of(rows, len(certificate["tables"])) if rows is not None else []
    found += composition_theorems(certificate["parts"], plan.delta)
    found += ["post-processing"] if plan.is_synthetic else []
    treated = [RECORD_WISE] if plan.lock.get("treatments") else []
    return [*dict.fromkeys(name for name in found if name != RECORD_WISE), *treated]


def counts_promise_checks(certificate: dict[str, Any], plan: CountsPlan, rows: Optional[LockedPlan]) -> Iterator[Check]:
    """What the locked plan of noisy counts decides without a computation."""
    yield from subject_checks(certificate, plan.lock, plan.status)
    guarantee = {"kind": "approx-dp", "epsilon": plan.epsilon, "delta": plan.delta}
    told = {name: own for name, own in certificate["guarantee"].items() if name not in ("unit", "status")}
    wanted = {**guarantee, "neighbours": plan.lock["neighbours"]}
    yield must("guarantee", equal(told, wanted), "as the locked plan asks for it")
    promise = {
        "guarantee": guarantee,
        "unit": unit_of(plan.lock),
        "status": plan.status,
        "theorems": counts_theorems(plan, rows, certificate),
        "randomness": "operating system",
    }
    claims = [promise]
    if rows is not None:
        claims.append(counted_claim(certificate))
    yield from claim_checks(certificate, claims, [0] * len(claims))


def no_rows_check(certificate: dict[str, Any]) -> Check:
    """Whether nothing is said of rows where there are none."""
    fits = certificate["samples"] == certificate["tables"] == [] and number(certificate["epsilon_recoding"]) == 0
    fits = fits and all(certificate[name] is None for name in ("bound", "recoding_choice", "views"))
    return must("samples", fits, "no rows are published beside the counts")


def rows_beside_checks(
    folder: Path, certificate: dict[str, Any], plan: CountsPlan, rows: LockedPlan
) -> Iterator[Check]:
    """Everything about the rows that are published beside counts: what their samples have, and what they show."""
    yield must("bound", certificate["bound"] == rows.release["bound"], "the one of the locked plan")
    yield from sample_checks(certificate, rows)
    yield from view_checks(folder, certificate, rows)
    yield from choice_checks(certificate, rows)
    yield level_check(folder, certificate, rows)
    many = len(certificate["tables"]) if rows.has_views else 1
    fits = number(certificate["epsilon_recoding"]) == rows.epsilon_recoding / many
    yield must("recoding-price", fits, "what the locked plan sets aside", about="rows")
    views = certificate["views"]
    if views is not None:
        parts, told = charged_parts(certificate, rows), number(views["epsilon_composed"])
        # Views that compose by their curves are planned with all of delta, others with half of it.
        by_curve = rows.composes_by_curve and len(certificate["tables"]) > 1
        at_delta = plan.delta if by_curve else plan.delta / 2
        fits = told <= plan.epsilon and (
            fits_by_addition(parts, rows) or is_epsilon_of(ComposedLosses(parts, 2 * told), told, at_delta)
        )
        yield must("views-composed", fits, "epsilon of all views of rows together")
        added = added_epsilon(parts, at_delta)
        near = None if added is None else is_printed(views["epsilon_added_up"], decimal(added), Decimal("1e-5"))
        yield Check("views-added-up", near, "what the same parts add up to one after another")
    for table in certificate["tables"]:
        yield from table_checks(folder, table, sample_of(certificate, table)["k"])


def noisy_counts_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """Everything about a release with noisy counts, of rows beside them, and of synthetic rows."""
    plan = read_counts_plan(lock)._replace(looked=is_looked(certificate))
    asked, rows = counted_groups(plan), read_plan(lock) if plan.has_rows else None
    fits = noise_check(certificate, plan, asked)
    yield fits
    own = samples_check(certificate, rows) if rows is not None else no_rows_check(certificate)
    yield own
    if not (fits.agrees and own.agrees):
        return
    yield from counts_promise_checks(certificate, plan, rows)
    parts = [*noise_parts(certificate["noise"], plan), *(charged_parts(certificate, rows) if rows is not None else [])]
    told = [(read_part(part["guarantee"]), part["times"]) for part in certificate["parts"]]
    yield must("noise-parts", told == parts, "what the noise and the samples cost")
    bounded("times that a part was run", max(times for _, times in parts), MOST_FILES)
    whole = ComposedLosses(parts, 2 * plan.epsilon)
    yield must("promise", whole.keeps(plan.epsilon, plan.delta), "composed here, all parts keep it")
    composed = number(certificate["epsilon_composed"])
    fits_ = composed <= plan.epsilon and is_epsilon_of(whole, composed, plan.delta)
    yield must("composed", fits_, "epsilon of everything together at the promised delta")
    yield from ledger_checks(certificate, plan, whole, parts)
    if rows is not None:
        yield from rows_beside_checks(folder, certificate, plan, rows)
    yield from count_table_checks(certificate, plan, asked)
    files = {file for table in certificate["counts"] for file in table["recoding"].values()}
    rules = {file: read_json(folder, file) for file in sorted(files)}
    labels = count_label_check(certificate, plan, rules)
    yield labels
    yield count_index_check(folder, certificate, asked)
    sums: dict[str, int] = {}
    for table in certificate["counts"] if labels.agrees else ():
        yield from count_file_checks(folder, table, rules, sums)
    yield from synthetic_checks(folder, certificate, plan, sums)
    yield idle_file_check(certificate, lock)
    yield Check("label-meaning", None, "what labels stand for is not compared with the locked hierarchies here")
    if certificate["noise"]["merged"]:
        yield Check("count-bins", None, "that cells were merged by published counts alone is not made again here")
    if plan.kind == "once":
        yield Check("count-choice", None, "that published scores alone chose the tables is not made again here")


# --- steps before the method ---
#
# A locked plan may list steps that change values before its method sees them. A step with several attributes is one step for
# each. What they leave possible is recomputed here by rules of this file's own: the ends between which values lie, and whether a
# value can come out of the last steps.


class Step(NamedTuple):
    """One step for the attributes that it changes, as a certificate lists it, with what the locked plan says of it."""

    kind: str
    attributes: list[str]
    within: list[str]
    depends_on: str
    parameters: dict[str, str]
    asked: Any

    @property
    def entry(self) -> dict[str, Any]:
        """The step as a certificate writes it."""
        return {
            "kind": self.kind,
            "attributes": self.attributes,
            "within": self.within,
            "depends_on": self.depends_on,
            "parameters": self.parameters,
        }


ALONE, BY_CHANCE, OF_OTHERS = "the record alone", "the record and chance", "other records"


def steps_of(lock: dict[str, Any]) -> list[Step]:
    """The steps of a locked plan, one for each attribute that is changed by itself; ValueError for one that is none."""
    found: list[Step] = []
    for step in lock.get("treatments") or []:
        if len(step) != 1:
            raise ValueError("a step of the locked plan is not one step")
        ((kind, asked),) = step.items()
        if kind in ("top", "bottom", "round"):
            word = "base" if kind == "round" else "code"
            found += [Step(kind, [name], [], ALONE, {word: asked[name]}, asked[name]) for name in sorted(asked)]
        elif kind == "random_round":
            for name in sorted(asked):
                base = asked[name]
                told = {"base": str(base), "variance": str(base // 2 * (base - base // 2))}
                found.append(Step(kind, [name], [], BY_CHANCE, told, base))
        elif kind == "swap":
            told = {"rate": asked["rate"]}
            found.append(Step(kind, asked["attributes"], asked["within"], OF_OTHERS, told, asked))
        elif kind == "population_threshold":
            declared = "counts" in asked
            told = {"least": str(asked["least"]), "by": "declared counts" if declared else "rows of the table"}
            told.update({"other": asked["other"]} if "other" in asked else {})
            found.append(Step(kind, [asked["attribute"]], [], ALONE if declared else OF_OTHERS, told, asked))
        else:
            found.append(_pram_step(asked, lock["attributes"][asked["attribute"]], found))
    return found


def _pram_step(asked: dict[str, Any], attribute: dict[str, Any], earlier: list[Step]) -> Step:
    """A step of PRAM: what it keeps or the hash of its matrix, and the epsilon of its own where it has one."""
    name = asked["attribute"]
    if "matrix" in asked:
        told = {"matrix": canonical_hash(asked["matrix"])}
    else:
        told = {"keep": asked["keep"], "missing": asked["missing"]}
    seen = any(
        name in step.within
        or (step.kind == "population_threshold" and step.depends_on == OF_OTHERS and name in step.attributes)
        for step in earlier
    )
    ratio = None if seen else pram_ratio(pram_rows(asked, attribute))
    told.update({} if ratio is None else {"local_epsilon": log_rounded_up(ratio)})
    return Step("pram", [name], [], BY_CHANCE, told, asked)


def pram_rows(asked: dict[str, Any], attribute: dict[str, Any]) -> list[dict[str, Fraction]]:
    """The rows of a matrix of PRAM: for every value, and a missing one where there may be some, what it may become."""
    domain, kind = attribute["domain"], attribute["type"]
    values = ["false", "true"] if kind == "boolean" else list(domain["values"])
    values += [MISSING] if attribute.get("missing", "value") == "value" else []
    if "matrix" in asked:
        rows = [{to: number(share) for to, share in asked["matrix"][value].items()} for value in values]
        if len(asked["matrix"]) != len(values) or any(sum(row.values()) != 1 for row in rows):
            raise ValueError("a row of a matrix of the locked plan does not sum to 1")
        return rows
    drawn = [value for value in values if value != MISSING or asked["missing"] == "draw"]
    keep = number(asked["keep"])
    other = (1 - keep) / (len(drawn) - 1)
    if not 0 < keep < 1:
        raise ValueError("a probability of the locked plan is none")
    bounded("values of a domain", len(drawn), 200_000)
    if len(drawn) > 2:  # two rows stand for all: that of a value and that of another
        return [
            *({drawn[0]: keep if i == 0 else other, drawn[1]: keep if i == 1 else other} for i in (0, 1)),
            *([{MISSING: Fraction(1)}] if len(drawn) < len(values) else []),
        ]
    rows = [{to: keep if to == value else other for to in drawn} for value in drawn]
    return [*rows, *([{MISSING: Fraction(1)}] if len(drawn) < len(values) else [])]


def pram_ratio(rows: list[dict[str, Fraction]]) -> Optional[Fraction]:
    """The largest ratio of two probabilities of one outcome; None where one is 0 and the other is not."""
    largest = Fraction(1)
    for to in {to for row in rows for to in row}:
        shares = [row.get(to, Fraction(0)) for row in rows]
        if min(shares) == 0:
            if max(shares) > 0:
                return None
            continue
        largest = max(largest, max(shares) / min(shares))
    return largest


def log_rounded_up(ratio: Fraction) -> str:
    """The natural logarithm of a fraction from 1 up, rounded up to eight digits, as certificates write costs."""
    if ratio == 1:
        return "0"
    with localcontext() as context:
        context.prec, context.rounding = 70, ROUND_CEILING
        above = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln().next_plus()
        context.prec = 8
        rounded = (+above).normalize()
    if -5 < rounded.adjusted() < 15:
        return f"{rounded:f}"
    mantissa, _, exponent = f"{rounded:e}".partition("e")
    return f"{mantissa}e{int(exponent):+03d}"


def are_steps_allowed(lock: dict[str, Any], *, differential: bool) -> bool:
    """Whether steps fit published attributes and, before a differential method, look at one record alone."""
    unit, steps = lock["unit"], steps_of(lock)
    published = published_attributes(lock) - ({unit["column"]} if isinstance(unit, dict) else set())
    inside = all(set(step.attributes) | set(step.within) <= published for step in steps)
    fitting = inside and all(fits_attribute(step, lock["attributes"][step.attributes[0]]) for step in steps)
    return fitting and not (differential and any(step.depends_on == OF_OTHERS for step in steps))


def fits_attribute(step: Step, attribute: dict[str, Any]) -> bool:
    """Whether a step can be taken on the values of its attribute, and keeps them in their domain."""
    kind, domain, asked = attribute["type"], attribute["domain"], step.asked
    listed = domain["values"] if isinstance(domain, dict) and "values" in domain else None
    if step.kind == "swap":
        names = [*step.attributes, *step.within]
        return 0 < number(asked["rate"]) < 1 and len(set(names)) == len(names)
    if step.kind in ("top", "bottom"):
        if listed is not None:
            return kind in ORDERED and comparable(asked, kind) in [comparable(each, kind) for each in listed]
        ends = domain if isinstance(domain, list) else [asked, asked]
        low, code, high = (comparable(each, kind) for each in (ends[0], asked, ends[1]))
        return bool(kind in ORDERED and kind != "ordinal" and low <= code <= high)
    if step.kind in ("round", "random_round"):
        base = number(str(asked))
        if base <= 0 or listed is not None or kind not in ("integer", "decimal"):
            return False
        if step.kind == "random_round":
            return bool(kind == "integer" and base >= 2 and isinstance(domain, list))
        first, last = (
            (-(-Fraction(domain[0]) // base), Fraction(domain[1]) // base) if isinstance(domain, list) else (0, 0)
        )
        return (kind == "decimal" or base.denominator == 1) and first <= last
    values = ["false", "true"] if kind == "boolean" else listed
    if step.kind == "population_threshold":
        gone = (
            attribute.get("missing", "value") == "value" if "other" not in asked else asked["other"] in (values or [])
        )
        counts = asked.get("counts")
        return bool(values is not None and gone and (counts is None or sorted(counts) == sorted(values)))
    return values is not None


ORDERED = ("integer", "decimal", "date", "datetime", "ordinal")
"""Types whose values have an order, so that there is an above and a below."""


def treatment_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """The steps before the method against the locked plan, and the published values against the steps."""
    steps = steps_of(lock)
    if not steps and "treatments" not in certificate:
        return
    told = certificate.get("treatments", [])
    fits = bool(told) and equal(told, [step.entry for step in steps])
    yield must("treatments", fits, "those of the locked plan, in their order")
    for table in certificate["tables"]:
        own = {column for step in steps for column in step.attributes} & set(table["columns"])
        if own and certificate["method"] != "dp-microaggregation":  # noise moves a centroid to any place of its domain
            yield from _treated_column_checks(folder, table, lock, steps, own)


def _treated_column_checks(
    folder: Path, table: dict[str, Any], lock: dict[str, Any], steps: list[Step], columns: set[str]
) -> Iterator[Check]:
    """Every column of a table that steps have changed: whether it shows nothing that they leave to none."""
    try:
        header, rows = read_rows(folder, table["file"])
    except UnreadableError as error:
        yield must("treated-values", None, str(error), about=table["file"])
        return
    except BoundError:
        raise
    except ValueError:
        return  # said before
    for place, column in enumerate(header):
        if column not in columns:
            continue
        treated = TreatedColumn(lock["attributes"][column], [step for step in steps if column in step.attributes])
        cells = {row[place] for row, _ in rows if row[place] is not None}
        try:
            fits = treated.can_show(cells, *_shown_as(folder, table, column))
        except BoundError:
            raise
        except (ValueError, TypeError, KeyError, IndexError, UnreadableError):
            fits = False
        if fits is not None:
            yield must("treated-values", fits, "none that the steps before the method rule out", about=column)


def _shown_as(folder: Path, table: dict[str, Any], column: str) -> tuple[str, Any]:
    """How a column shows what steps have left: as values, as labels of a rule, or as what a group has in common."""
    if column in table.get("recoding", {}):
        files = table["recoding"][column]
        files = [files] if isinstance(files, str) else files
        if len(files) > 1:
            return "several levels", None
        rule = read_json(folder, files[0])
        return ("value" if rule["kind"] == "keep" else rule["kind"]), rule
    shows = table.get("shows", {}).get(column, "")
    exact_values = shows == "mode" or shows.startswith(("as it is", "permuted"))
    return ("value" if exact_values else shows), None


class TreatedColumn:
    """What the values of an attribute can be after the steps that change it."""

    def __init__(self, attribute: dict[str, Any], steps: list[Step]) -> None:
        self.attribute, self.steps = attribute, steps
        self.kind = attribute["type"]
        self.low, self.high = self._ends()

    def can_show(self, cells: set[Any], shown: str, rule: Any) -> Optional[bool]:
        """Whether cells are values or labels that the steps leave possible; None where nothing can be said of them."""
        if shown == "value":
            return all(self.is_possible(comparable(cell, self.kind)) for cell in cells)
        if shown in ("mean", "median") and self.kind in ("integer", "decimal"):
            values = [Fraction(repr(comparable(cell, "decimal"))) for cell in cells]
            return all(
                (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
                for value in values
            )
        if shown == "cuts" and self.kind in ("integer", "decimal"):
            edges = [Fraction(str(edge)) for edge in rule["edges"]]
            first = 0 if self.low is None else bisect_right(edges, self.low)
            last = len(edges) if self.high is None else bisect_right(edges, self.high)
            return cells <= {*rule["labels"][first : last + 1], MISSING}
        if shown == "groups" and self._values is not None:
            labels = {rule["table"][value] for value in self._values if self.is_possible(comparable(value, self.kind))}
            return cells <= {*labels, MISSING}
        return None

    @property
    def _values(self) -> Any:
        domain = self.attribute["domain"]
        return domain["values"] if isinstance(domain, dict) and "values" in domain else None

    def _rank(self, value: Any) -> Any:
        """Where a value lies in the order of its attribute; None where it has none."""
        if self.kind == "ordinal":
            return Fraction(self._values.index(value))
        if self.kind == "integer":
            return Fraction(value)
        if self.kind == "decimal":
            return Fraction(repr(value))
        return value if self.kind in ("date", "datetime") else None

    def _ends(self) -> tuple[Any, Any]:
        """The lowest and the highest value that the steps leave possible, as ranks; None where there is no end."""
        if self.kind in ("category", "text", "boolean"):
            return None, None
        listed, domain = self._values, self.attribute["domain"]
        ends = listed if listed is not None else domain if isinstance(domain, list) else None
        ranks = [] if ends is None else [self._rank(comparable(each, self.kind)) for each in ends]
        whole: tuple[Any, Any] = (min(ranks), max(ranks)) if ranks else (None, None)
        low, high = whole
        for step in self.steps:
            if step.kind in ("top", "bottom"):
                code = self._rank(comparable(step.asked, self.kind))
                low, high = (
                    (each if each is None or (each < code) == (step.kind == "top") else code) for each in (low, high)
                )
                high = code if step.kind == "top" and high is None else high
                low = code if step.kind == "bottom" and low is None else low
            elif step.kind == "round":
                low, high = (None if each is None else self._nearest(each, number(step.asked)) for each in (low, high))
            elif step.kind == "random_round":
                low, high = (
                    max(low // step.asked * step.asked, whole[0]),
                    min(-(-high // step.asked) * step.asked, whole[1]),
                )
            elif step.kind == "pram":
                low, high = whole
        return low, high

    def _nearest(self, value: Fraction, base: Fraction) -> Fraction:
        """The nearest multiple of a base inside the domain, a half the one farther from 0."""
        times = int(abs(value) / base + Fraction(1, 2)) * (1 if value >= 0 else -1)
        domain = self.attribute["domain"]
        if isinstance(domain, list):
            low, high = (Fraction(end) for end in domain)
            times = min(max(times, -(-low // base)), high // base)
        return times * base

    def is_possible(self, value: Any) -> bool:
        """Whether a value can be there after all steps."""
        at = self._rank(value)
        if at is not None and ((self.low is not None and at < self.low) or (self.high is not None and at > self.high)):
            return False
        return self._comes_out(value, at, len(self.steps))

    def _comes_out(self, value: Any, at: Any, many: int) -> bool:
        """Whether a value can be there after the first steps, looked at from the last of them backwards."""
        for step in reversed(self.steps[:many]):
            if step.kind in ("top", "bottom"):
                if at == self._rank(comparable(step.asked, self.kind)):
                    return True
            elif step.kind == "round":
                return self._is_multiple(value, at, number(step.asked))
            elif step.kind == "random_round":
                ends = [Fraction(end) for end in self.attribute["domain"]]
                return at in ends or at % step.asked == 0
            elif step.kind == "population_threshold":
                if value == step.asked.get("other"):
                    return True
                counts = step.asked.get("counts")
                if counts is not None and counts.get(value, 0) < step.asked["least"]:
                    return False
            elif step.kind == "pram":
                text = str(value).lower() if self.kind == "boolean" else value
                rows = step.asked.get("matrix")
                return rows is None or any(number(row.get(text, "0")) > 0 for row in rows.values())
        return True

    def _is_multiple(self, value: Any, at: Fraction, base: Fraction) -> bool:
        """Whether a value is a multiple of a base, or the number nearest to one that a table can hold."""
        if self.kind == "integer":
            return at % base == 0
        times = round(at / base)
        return any(float((times + more) * base) == value for more in (-1, 0, 1))


def treatment_statement(folder: Path) -> list[str]:
    """What was done before the method, in words of this file's own."""
    lock = read_lock(read_text(folder, "policy.lock.yaml", LARGEST_LOCK))
    steps = steps_of(lock)
    if not steps:
        return []
    done = ", ".join(f"{step.kind} of {visible(', '.join(step.attributes), 100)}" for step in steps[:10])
    more = f" and {len(steps) - 10} more" if len(steps) > 10 else ""
    differential = certified_method(lock) in ("safe-k", "noisy-counts", "synthetic")
    said = (
        "The promise is about the table before that." if differential else "All of this is about the table after that."
    )
    return [f"Values were changed before the method: {done}{more}. {said}"]


# === 16. Plain samples =============================================================================================
#
# Keep each row of a table with probability p and publish the kept rows, at fixed levels. Given the table, the sample is at most
# 1 + epsilon times as likely by other values of any c rows if no value (a combination of all published attributes) appears in
# it too often; p is such that this fails with probability at most delta (theorems sample-exact, sample-published). How often
# each value is in the table decides p, and is not published: that p is safe is not verified here, nor anywhere but in the run.


def is_allowed_sample(release: dict[str, Any]) -> bool:
    """Whether a plan of a plain sample is one that the theorems speak of."""
    treats = release["rare"] in ("drop", "generalize", "replace")
    positive = number(release["epsilon"]) > 0 and 0 < number(release["delta"]) <= Fraction(1, 4)
    return bool(positive and "levels" in release["recoding"] and (treats or release.get("rare_below") is None))


class SampleRelease(NamedTuple):
    """What the locked plan of a plain sample asks for."""

    lock: dict[str, Any]
    release: dict[str, Any]
    c: int
    epsilon: Fraction
    delta: Fraction
    rate: Optional[Fraction]
    """The rate that is declared; None where the table decides it."""


def read_sample_release(lock: dict[str, Any]) -> SampleRelease:
    """The plan of a lock whose method is a plain sample."""
    release, unit = lock["release"], lock["unit"]
    beta = release["sampling"]["beta"]
    return SampleRelease(
        lock=lock,
        release=release,
        c=unit["max_rows"] if isinstance(unit, dict) else 1,
        epsilon=number(release["epsilon"]),
        delta=number(release["delta"]),
        rate=None if beta == "auto" else number(beta),
    )


def fewest_rows(plan: SampleRelease) -> int:
    """How many rows a value has at the least if it may be in a sample once: (r / (r - 1))^c <= 1 + epsilon, r = n - c + 1."""
    factor = 1 + plan.epsilon

    def is_enough(room: int) -> bool:
        spend(plan.c * room.bit_length())
        return bool(room**plan.c * factor.denominator <= factor.numerator * (room - 1) ** plan.c)

    low, high = 1, 2
    while not is_enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high + plan.c - 1


def has_two_digits(rate: Fraction) -> bool:
    """Whether a rate below 1 is a whole number below 100, divided by a power of ten."""
    for _ in range(400):
        if rate >= 10:
            return rate.denominator == 1
        rate *= 10
    return False


def rate_check(certificate: dict[str, Any], plan: SampleRelease) -> Check:
    """The rate: the declared one or one of two digits, and not above the largest that is safe for some table.

    Half of what is drawn of one value lies above its mean, roughly; so no rate above 1 - (1 + epsilon)^(-1/c) and delta is safe.
    """
    rate = number(certificate["samples"][0]["beta"])
    fits = 0 < rate < 1 and (has_two_digits(rate) if plan.rate is None else rate == plan.rate)
    if fits and plan.release["bound"] == "published":
        fits = rate <= plan.epsilon / (6 * plan.c)
    elif fits and rate > plan.delta:
        with localcontext() as context:
            context.prec = 60
            fits = plan.c * (1 - decimal(rate)).ln() + (1 + decimal(plan.epsilon)).ln() >= Decimal("-1e-9")
    return must("sample-rate", fits, "as it was locked, or of two digits; not above what any table allows")


def plain_sample_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """Everything about a plain sample but that its rate is safe for its table."""
    plan, status = read_sample_release(lock), "proved with condition"
    yield from subject_checks(certificate, lock, status)
    yield must("bound", certificate["bound"] == plan.release["bound"], "the one of the locked plan")
    guarantee = {"kind": "sample-privacy", "c": plan.c, "epsilon": plan.epsilon, "delta": plan.delta}
    told = {name: own for name, own in certificate["guarantee"].items() if name not in ("unit", "status")}
    yield must("guarantee", equal(told, guarantee), "as the locked plan asks for it")
    promise = {
        "guarantee": {**guarantee, "rate": plan.rate},
        "unit": unit_of(lock),
        "status": status,
        "theorems": ["sample-exact" if plan.release["bound"] == "tight" else "sample-published"],
        "randomness": "operating system",
    }
    yield from claim_checks(certificate, [promise], [1 + is_drafted(lock) + is_looked(certificate)])
    rare, asked = plan.release["rare"], plan.release.get("rare_below") or 0
    wanted = {"k": 1, "declared": plan.rate is not None, "rare": rare, "rare_below": max(fewest_rows(plan), asked)}
    one = len(certificate["samples"]) == 1
    drawn = {name: own for name, own in certificate["samples"][0].items() if name != "beta"} if one else {}
    yield must("samples", one and equal(drawn, wanted), "one sample, drawn as the locked plan asks for it")
    if not one:
        return
    yield rate_check(certificate, plan)
    ledger = certificate["ledger"]
    spent = number(ledger["epsilon"]) > 0 or number(ledger["delta"]) > 0
    yield must("prior-charges", ledger["charges"] > 0 or not spent, "without charges there is nothing spent")
    yield from look_checks(ledger)
    yield from sampled_table_checks(folder, certificate, plan)


def sampled_table_checks(folder: Path, certificate: dict[str, Any], plan: SampleRelease) -> Iterator[Check]:
    """The one table: its file and columns, the levels of its labels, and its rows."""
    tables, name = certificate["tables"], f"table.{plan.release['output']['format']}"
    table = tables[0] if tables else {}
    wanted = {"file": name, "name": None, "sample": 0, "k": 1, "boxes": None, "recoding_choice": None}
    fits = len(tables) == 1 and {key: table[key] for key in wanted} == wanted
    yield must("table-files", fits, "one table, in the file of the locked plan")
    published = sorted(published_attributes(plan.lock))
    fits = fits and sorted(table["columns"]) == sorted(table["recoding"]) == published
    yield must("table-columns", fits, "every published attribute, each with a rule", about=name)
    if not fits:
        return
    levels = plan.release["recoding"]["levels"]
    same = sorted(levels) == published
    for column in published:
        rule = read_json(folder, table["recoding"][column])
        same = same and rule["attribute"] == column and rule["type"] == plan.lock["attributes"][column]["type"]
        same = same and type(rule["level"]) is int and rule["kind"] != "boxes"
        coarser = plan.release["rare"] == "generalize" and same and rule["level"] > levels[column]
        same = same and (coarser or rule["level"] == levels[column])
    yield must("recoding-levels", same, "the recoding applied is one that was locked")
    yield from table_checks(folder, table, 1)
    yield idle_file_check(certificate, plan.lock)
    yield Check("label-meaning", None, "what labels stand for is not compared with the locked hierarchies here")


# === 17. Groups and buckets ========================================================================================
#
# Confidential values are shown as buckets, and records stand in groups. In the linked form there are two tables: the records,
# each with the number of its group, and what groups hold: a line for each combination of buckets that a group holds and how many
# of its records have it. So everything that is promised of groups can be counted here: with n records in all, N of them in a
# combination, and m records of a group, M of them in the combination, the group's ratio is the larger of M n / (m N) and its
# inverse, and without end where M is 0; the largest ratio of all is at most t, and no share M / m is above 1/l. In the permuted
# form there is one table and the groups are not shown: then only the buckets can be looked at, and what is said of groups rests
# on the program that made it.

GROUP_TABLES = {"linked": ("records", "confidential"), "permuted": ("table",)}
"""The names of the tables of each form."""


class BucketPlan(NamedTuple):
    """What the locked plan of a release by groups and buckets asks for."""

    lock: dict[str, Any]
    release: dict[str, Any]
    linked: bool
    bucketized: bool
    confidential: list[str]
    rest: list[str]
    k: int
    l: Optional[int]  # noqa: E741 - the literature's letter
    t: Optional[Fraction]


def read_bucket_plan(lock: dict[str, Any]) -> BucketPlan:
    """The plan of a lock whose method is t-closeness or anatomy."""
    release, attributes = lock["release"], lock["attributes"]
    linked, bucketized = release["form"] == "linked", release.get("show") == "bucket"
    confidential = [name for name, own in attributes.items() if own["role"] == "confidential"]
    return BucketPlan(
        lock=lock,
        release=release,
        linked=linked,
        bucketized=bucketized,
        confidential=confidential,
        rest=[name for name in published_attributes(lock) if name not in confidential],
        k=max(release["k"], release.get("l", 0)),
        l=release.get("l") if linked else None,
        t=number(release["t"]) if bucketized else None,
    )


def bucketized_claims(plan: BucketPlan) -> tuple[list[dict[str, Any]], list[int]]:
    """The claims of a release by groups, and how many conditions each has."""
    near, anatomy = plan.release["grouping"] == "near", plan.release["method"] == "anatomy"
    own = ["anatomy-diversity" if anatomy else "bucket-closeness"]
    counted = {"unit": None, "status": "checked", "theorems": own, "randomness": "none needed"}
    drawn = {"unit": None, "status": "proved with condition", "randomness": "operating system"}
    if plan.linked:
        claims: list[dict[str, Any]] = [{"guarantee": {"kind": "k-anonymous-relation", "k": plan.k}, **counted}]
        conditions = [0]
    else:
        relation = {"kind": "probabilistic-k", "k": plan.k}
        claims, conditions = [{"guarantee": relation, "theorems": ["knowledge-gain"], **drawn}], [1 + near]
        counted["randomness"] = "operating system"
    if plan.l is not None:
        claims.append({"guarantee": {"kind": "l-diversity", "l": Fraction(plan.l), "form": "frequency"}, **counted})
        conditions.append(0)
    if plan.t is not None:
        claims.append({"guarantee": {"kind": "t-closeness", "t": plan.t, "metric": "ratio"}, **counted})
        gain = {"kind": "knowledge-gain", "factor": plan.t}
        claims.append({"guarantee": gain, "theorems": ["knowledge-gain"], **drawn})
        conditions += [0 if plan.linked else 1, 1 + near]
    return claims, conditions


def bucketized_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """A release by groups and buckets: the certificate against the locked plan, then everything that tables show of groups."""
    plan = read_bucket_plan(lock)
    claims, conditions = bucketized_claims(plan)
    first = claims[0]
    yield from subject_checks(certificate, lock, first["status"])
    told = {name: own for name, own in certificate["guarantee"].items() if name not in ("unit", "status")}
    wanted = {"kind": first["guarantee"]["kind"], "k": plan.k, "l": plan.l, "t": plan.t}
    yield must("guarantee", equal(told, wanted), "as the locked plan asks for it")
    yield from claim_checks(certificate, claims, conditions)
    grouping = {"name": plan.release["grouping"], "form": "linked" if plan.linked else "permuted"}
    grouping["show"] = "bucket" if plan.bucketized else "value"
    yield must("grouping", equal(certificate["grouping"], grouping), "as the locked plan asks for it")
    ledger = certificate["ledger"]
    spent = number(ledger["epsilon"]) > 0 or number(ledger["delta"]) > 0
    yield must("prior-charges", ledger["charges"] > 0 or not spent, "without charges there is nothing spent")
    yield from look_checks(ledger)
    yield idle_file_check(certificate, lock)
    files = group_table_check(certificate, plan)
    yield files
    if not files.agrees:
        return
    rules = {}
    for name in plan.confidential if plan.bucketized else ():
        rules[name] = read_json(folder, certificate["tables"][-1]["recoding"][name])
        fits = certificate["buckets"][name] == rules[name]["labels"] and rules[name]["attribute"] == name
        fits = fits and divides_values(rules[name], lock["attributes"][name])
        yield must("buckets", fits, "they divide the declared values in their order: no gap, no overlap", about=name)
        if not fits:
            return
    yield from group_checks(folder, certificate, plan, rules)


def group_table_check(certificate: dict[str, Any], plan: BucketPlan) -> Check:
    """Whether the tables are those of the locked plan: their files, columns, what these show, and which have rules."""
    form, tables = plan.release["output"]["format"], certificate["tables"]
    names = GROUP_TABLES["linked" if plan.linked else "permuted"]
    parts = [plan.rest, plan.confidential] if plan.linked else [plan.rest + plan.confidential]
    secret = set(plan.confidential) if plan.bucketized else set()
    fits = len(tables) == len(names) and set(certificate["buckets"]) == secret
    attributes = set(plan.lock["attributes"])
    for table, name, part in zip(tables, names, parts) if fits else ():
        columns = table["columns"]
        own = [column for column in columns if column in plan.confidential]
        fits = fits and table["file"] == f"{name}.{form}" and sorted(columns) == sorted(part)
        fits = fits and sorted(table["recoding"]) == (sorted(own) if plan.bucketized else [])
        shows = {column: shown_of(column, plan) for column in columns}
        fits = fits and table["shows"] == shows and len(set(table["recoding"].values())) == len(table["recoding"])
        added = [table[key] for key in ("group", "count") if table[key] is not None]
        fits = fits and (table["group"] is not None) == plan.linked and not attributes & set(added)
        fits = fits and (table["count"] is not None) == (name == "confidential") and len(set(added)) == len(added)
        fits = fits and all(table[key] is None or table[key].rstrip("_") == key for key in ("group", "count"))
    if fits and plan.linked:
        fits = tables[0]["group"] == tables[1]["group"]
    return must("table-files", fits, "those of the locked plan, each with its columns")


def shown_of(column: str, plan: BucketPlan) -> str:
    """What a column shows: values or buckets, and where they stand."""
    if column not in plan.confidential:
        return "as it is"
    where = "in the table of groups" if plan.linked else "permuted inside hidden groups"
    return f"{'bucket' if plan.bucketized else 'as it is'}, {where}"


def divides_values(rule: dict[str, Any], attribute: dict[str, Any]) -> bool:
    """Whether buckets divide the declared values of an attribute, and are called by what they hold.

    Numbers, dates and times are divided by edges that rise; other values are listed, each in one bucket, and those of an ordinal
    attribute in their order.
    """
    labels, kind, domain = rule["labels"], attribute["type"], attribute["domain"]
    try:
        if rule["type"] != kind or not labels or len(set(labels)) != len(labels) or MISSING in labels:
            return False
        if kind in ("integer", "decimal", "date", "datetime"):
            low, high = _ends(attribute)
            edges = rule["edges"]
            places = [comparable(edge, kind) for edge in edges]
            rising = all(one < other for one, other in zip(places, places[1:]))
            inside = low is None or all(low < place <= high for place in places)
            return rule["kind"] == "cuts" and bool(edges) and rising and inside and labels == interval_labels(edges)
        listed = ["false", "true"] if kind == "boolean" else domain["values"]
        table = rule["table"]
        if rule["kind"] != "groups" or sorted(table) != sorted(listed) or set(table.values()) != set(labels):
            return False
        held = [[value for value in listed if table[value] == label] for label in labels]
        if kind == "ordinal":
            names = [run[0] if len(run) == 1 else f"[{run[0]}, {run[-1]}]" for run in held]
            return labels == names and [value for run in held for value in run] == listed
        return all(is_set_label(label, run) for label, run in zip(labels, held))
    except BoundError:
        raise
    except (ValueError, TypeError, KeyError):
        return False


def interval_labels(edges: list[str]) -> list[str]:
    """What buckets of numbers are called: below the first edge, from one to the next, and from the last one up."""
    inner = [f"[{low}, {high})" for low, high in zip(edges, edges[1:])]
    return [f"< {edges[0]}", *inner, f">= {edges[-1]}"]


def is_set_label(label: str, values: list[str]) -> bool:
    """Whether a bucket of values without an order is called by them: in braces, whatever their order, or by the only one."""
    if len(values) == 1:
        return label == values[0]
    body = sorted(label[1:-1].split(", "))
    return label[:1] == "{" and label[-1:] == "}" and body == sorted(", ".join(values).split(", "))


def group_checks(folder: Path, certificate: dict[str, Any], plan: BucketPlan, rules: dict[str, Any]) -> Iterator[Check]:
    """The tables read, their cells and their order looked at, and groups counted where they are shown."""
    held = []
    for table in certificate["tables"]:
        columns, kinds = _group_columns(table, plan)
        rows, read = reading_checks(folder, table["file"], columns)
        yield from read
        if rows is None:
            return
        known = True
        for place, column in enumerate(columns):
            if column not in table["columns"]:
                continue
            cells = {row[place] for row, _ in rows}
            if column in rules:
                check = must("labels", can_show(rules[column], "text", cells), "buckets of its rule", about=column)
            else:
                check = domain_check(cells, plan.lock["attributes"][column], "as it is", kinds[place], column)
            known = known and check.agrees is not False
            yield check
        try:
            in_order = known and are_sorted(rows, kinds)
        except (ValueError, TypeError, KeyError):
            in_order = False
        yield must("row-order", in_order, "sorted by their own values", about=table["file"])
        held.append(rows)
    many = sum(times for _, times in held[0])
    name = certificate["tables"][0]["file"]
    yield must("row-count", many >= 2 * plan.k, f"{many}; two groups have {2 * plan.k} or more", about=name)
    if plan.linked:
        yield from linked_checks(certificate, plan, *held)
    else:
        yield must("achieved-t", certificate["achieved_t"] is None, "none is stated: nobody could count it")


def _group_columns(table: dict[str, Any], plan: BucketPlan) -> tuple[list[str], list[str]]:
    """The columns of a table of a release by groups, and how the cells of each compare."""
    own = [
        (name, "text" if name in table["recoding"] else plan.lock["attributes"][name]["type"])
        for name in table["columns"]
    ]
    first = [(table["group"], "integer")] if table["group"] is not None else []
    last = [(table["count"], "integer")] if table["count"] is not None else []
    found = [*first, *own, *last]
    return [name for name, _ in found], [kind for _, kind in found]


def linked_checks(
    certificate: dict[str, Any], plan: BucketPlan, records: list[Any], lines: list[Any]
) -> Iterator[Check]:
    """Everything that is promised of groups, counted on the two tables with whole numbers."""
    sizes: Counter[Any] = Counter()
    for row, times in records:
        sizes[row[0]] += times
    groups: dict[Any, Counter[Any]] = {}
    counted = True
    for row, times in lines:
        held, cells = groups.setdefault(row[0], Counter()), row[1:-1]
        try:
            many = comparable(row[-1], "integer")
        except (ValueError, TypeError):
            many = 0
        counted = counted and times == 1 and many >= 1 and cells not in held
        held[cells] += many
    yield must("group-counts", counted, "each combination of a group once, with a whole number of records")
    if not counted:
        return
    try:
        numbers = sorted(comparable(each, "integer") for each in sizes)
    except (ValueError, TypeError):
        numbers = []
    linked = numbers == list(range(1, len(sizes) + 1)) and set(sizes) == set(groups)
    linked = linked and all(sum(held.values()) == sizes[each] for each, held in groups.items())
    yield must("linked-groups", linked, f"{len(sizes)} groups, numbered from 1, with as many records in both tables")
    if not linked:
        return
    smallest = min(sizes.values(), default=0)
    yield must("group-size", smallest >= plan.k, f"the smallest group has {smallest} records, k = {plan.k}")
    if plan.l is not None:
        yield from _share_checks(certificate, plan, groups)
    if plan.t is None:
        yield must("achieved-t", certificate["achieved_t"] is None, "none is stated")
        return
    far = largest_ratio(list(groups.values()))
    yield must("closeness", far is not None and far <= plan.t, f"the farthest group has a ratio of {_shown_ratio(far)}")
    told = certificate["achieved_t"]
    yield must("achieved-t", far is not None and told is not None and number(told) == far, "as it is counted here")


def _share_checks(certificate: dict[str, Any], plan: BucketPlan, groups: dict[Any, Counter[Any]]) -> Iterator[Check]:
    """The largest share of one value (or bucket) of each confidential attribute in a group."""
    for place, column in enumerate(certificate["tables"][-1]["columns"]):
        largest = Fraction(0)
        for held in groups.values():
            values: Counter[Any] = Counter()
            for cells, many in held.items():
                values[cells[place]] += many
            largest = max(largest, Fraction(max(values.values()), sum(values.values())))
        fits = plan.l is not None and largest * plan.l <= 1
        yield must("value-share", fits, f"{largest} at the most, and 1/{plan.l} is allowed", about=column)


def largest_ratio(groups: list[Counter[Any]]) -> Optional[Fraction]:
    """The largest ratio between a group's share of a combination and the table's, either way; None where it is without end."""
    overall: Counter[Any] = Counter()
    for held in groups:
        overall.update(held)
    many, worst = sum(overall.values()), Fraction(1)
    for held in groups:
        if len(held) < len(overall):
            return None
        own = sum(held.values())
        for cells, times in held.items():
            ratio = Fraction(times * many, own * overall[cells])
            worst = max(worst, ratio, 1 / ratio)
    return worst


def bucketized_statement(plan: BucketPlan) -> list[str]:
    """What was verified of a release by groups, in words of this file's own."""
    if not plan.linked:
        return ["Confidential columns were permuted inside groups that are not published. No differential privacy."]
    found = [f"Every group has at least {plan.k} records, and the tables do not say which of them has which line."]
    if plan.l is not None:
        found.append(f"No confidential value makes up more than 1/{plan.l} of a group.")
    if plan.t is not None:
        found.append(f"No bucket is more than {plan.t} times as frequent in a group as in the table, or as rare.")
    found.append("That is counted and not proved, and it is no differential privacy.")
    if plan.t is not None:
        near = (
            ", and does not reason from who was near enough to be grouped,"
            if plan.release["grouping"] == "near"
            else ""
        )
        found.append(
            f"Who knows nothing but how often each bucket occurs in the table{near} gains no more than this factor by a theorem; "
            "who knows more may gain more."
        )
    return found


def _shown_ratio(ratio: Optional[Fraction]) -> str:
    return "infinity" if ratio is None else f"{ratio} (about {float(ratio):.4g})"


# === 18. Noisy centroids ===========================================================================================
#
# Records stand in N = n div k clusters of k (the last one has what is left over too), by orders that were fixed in advance. Every
# record shows the noisy centroid of its cluster. Neighbours replace one record, and n is public. Each numeric attribute has a
# grid; its domain is W steps wide. One replaced record moves the sums of an attribute
#
#     several corners take turns    each of N sums by W:  L1 N W,  L2^2 N W^2,  each alone W
#     a single corner               the N + 1 partial sums, up to one constant, which their differences do not show:
#                                   L1 W ((N + 1) div 2),  L2^2 (N + 1) (floor(W/2)^2 + ceil(W/2)^2) / 2,  each alone ceil(W/2)
#     ranks of one attribute        all N sums together by W
#
# so that Laplace noise of scale L1 / epsilon, the optimal noise of a box with the half-side of what each moves alone, or Gaussian
# noise of sigma^2 = L2^2 / (2 rho) keeps epsilon or rho. A categorical attribute has N choices of the exponential mechanism, each
# with epsilon / N, or with epsilon_c where N epsilon_c^2 / 8 is rho: among the concepts of its tree, with the scores -sum of
# distances, in millionths. The distance of two concepts with a ancestors in all (each its own) and c of them in common is
# log2(1 + (a - c) / a); one replaced value moves the difference of two scores by the spread at the most, which is found here.
#
# epsilon is divided by the cube roots of the attributes' weights, rho by their square roots. The thesis' calibration,
# `per_record`, has noise of scale W / epsilon: what one record changes in one sum. All sums together cost N times as much, and
# all attributes the sum of that: this is what is promised.

FINEST_DECIMALS = 1 << 20
"""The most steps of a domain of decimals: a step is the least power of ten that makes no more."""
MOST_STEPS = 1 << 31
"""The most steps of a domain of whole numbers, days or microseconds: of one each, or of the least power of ten."""
DISTANCE_STEPS = 1_000_000
EPOCH = datetime.fromisoformat("1970-01-01")
MOST_CORNERS = 64
MOST_SIDES = 1024
"""Numbers of one draw of the optimal noise."""
MOST_CONCEPTS = 1000
LARGEST_EPSILON = 700
NUMERIC = ("integer", "decimal", "date", "datetime", "ordinal")
ROOT = "*"


class CentroidsPlan(NamedTuple):
    """What the locked plan of noisy centroids asks for, with the k and the kind of noise that the certificate states."""

    lock: dict[str, Any]
    release: dict[str, Any]
    rows: int
    k: int
    corners: int
    noise: str
    asked: Fraction
    """The epsilon of the locked plan: of everything, or with `per_record` of one cluster and one attribute."""
    asked_delta: Fraction
    looked: bool = False

    @property
    def clusters(self) -> int:
        """N."""
        return self.rows // self.k

    @property
    def ranked(self) -> bool:
        """Whether each attribute is clustered by its own ranks."""
        return bool(self.release["grouping"] == "ranking")

    @property
    def by_record(self) -> bool:
        """Whether the noise is that of the thesis."""
        return bool(self.release["calibration"] == "per_record")

    @property
    def ordered(self) -> bool:
        """Whether noise is on partial sums along a single order."""
        return not self.ranked and self.corners == 1 and not self.by_record

    @property
    def nodes(self) -> int:
        """Numbers that are drawn for each numeric attribute."""
        return self.clusters + self.ordered

    @property
    def columns(self) -> list[str]:
        """The attributes that are published, as the locked plan lists them."""
        published = published_attributes(self.lock)
        return [name for name in self.lock["attributes"] if name in published]

    @property
    def epsilon(self) -> Fraction:
        """What is promised."""
        return self.asked * self.clusters * len(self.columns) if self.by_record else self.asked

    @property
    def delta(self) -> Fraction:
        """What is promised: nothing but Gaussian noise uses it."""
        return self.asked_delta if self.noise == "gaussian" else Fraction(0)

    @property
    def drafted(self) -> bool:
        """Whether parts of the plan were drafted from the data."""
        return is_drafted(self.lock)

    @property
    def replaced(self) -> bool:
        """Whether neighbours replace a row."""
        return True

    @property
    def status(self) -> str:
        """How the promise is known to hold."""
        return "proved for a plan tuned on the data" if self.drafted or self.looked else "proved"

    def weight(self, name: str) -> Fraction:
        """How much the error of an attribute counts."""
        return number(self.lock["attributes"][name].get("weight", "1"))


def read_centroids_plan(lock: dict[str, Any], certificate: dict[str, Any]) -> CentroidsPlan:
    """The plan of a lock, with the numbers that it leaves to the program."""
    release, told = lock["release"], certificate["clusters"]
    every = min(MOST_CORNERS, 1 << min(len(published_attributes(lock)), 30))
    several = release["grouping"] != "ranking" and release["calibration"] == "per_record"
    corners = release.get("corners") or (every if several else 1)
    return CentroidsPlan(
        lock=lock,
        release=release,
        rows=release["rows"],
        k=release.get("k") or told["k"],
        corners=corners,
        noise=told["noise"] if release["noise"] == "auto" else release["noise"],
        asked=number(release["epsilon"]),
        asked_delta=number(release["delta"]),
        looked=is_looked(certificate),
    )


def is_allowed_centroids(lock: dict[str, Any], max_rows: int) -> bool:
    """Whether a plan of noisy centroids is one that the theorems speak of."""
    release, attributes = lock["release"], [lock["attributes"][name] for name in published_attributes(lock)]
    rows, k, ranked, noise = release["rows"], release.get("k"), release["grouping"] == "ranking", release["noise"]
    epsilon, delta_ = number(release["epsilon"]), number(release["delta"])
    fits = lock["neighbours"] == "replace_one" and max_rows == 1 and release["repeat"] == 1 and bool(attributes)
    fits = fits and epsilon > 0 and delta_ < 1 and rows >= 4 and (k is None or 2 <= k <= rows // 2)
    corners = release.get("corners")
    fits = fits and (corners is None or (not ranked and corners <= min(MOST_CORNERS, 1 << min(len(attributes), 30))))
    fits = fits and not (noise == "gaussian" and delta_ == 0) and not (noise == "optimal" and ranked)
    if release["calibration"] == "per_record":
        fits = fits and not ranked and noise in ("auto", "laplace") and delta_ == 0 and k is not None
    return bool(fits and all(_has_centroids(own, ranked=ranked) for own in attributes))


def _has_centroids(attribute: dict[str, Any], *, ranked: bool) -> bool:
    """Whether every value of an attribute has a place in a declared domain that was not read from the data."""
    kind, domain = attribute["type"], attribute["domain"]
    listed = isinstance(domain, dict) and "values" in domain
    fits = attribute.get("missing") == "refuse" and attribute.get("outside") != "suppress"
    fits = fits and all(
        attribute[key] is None or attribute["provenance"][key] == "declared" for key in ("domain", "hierarchy")
    )
    fits = fits and number(attribute.get("weight", "1")) > 0
    if kind in NUMERIC:
        return bool(fits and (listed or (kind != "ordinal" and isinstance(domain, list) and len(domain) == 2)))
    return bool(fits and not ranked and (kind == "boolean" or listed))


# --- grids ---


def point_of(value: Any, kind: str) -> Fraction:
    """A number, a day or a microsecond as a point of a line."""
    if kind == "decimal":
        return number(value[1:]) * -1 if value.startswith("-") else number(value)
    read = comparable(value, kind)
    if kind == "date":
        return Fraction(read.toordinal())
    if kind == "datetime":
        since = read - EPOCH
        return Fraction((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds)
    return Fraction(read)


class Grid(NamedTuple):
    """The grid of a numeric attribute: its first point, its step, the last point, and whether its values are listed."""

    low: Fraction
    step: Fraction
    high: Fraction
    listed: bool
    """Whether the values that may be shown are listed; else all points may."""

    @property
    def steps(self) -> int:
        """The width of the domain."""
        return -int(-(self.high - self.low) // self.step)


def grid_of(attribute: dict[str, Any]) -> Grid:
    """The grid of a declared domain."""
    kind, domain = attribute["type"], attribute["domain"]
    listed = domain["values"] if isinstance(domain, dict) else None
    if kind == "ordinal":
        return Grid(Fraction(0), Fraction(1), Fraction(len(listed or ()) - 1), True)
    points = sorted(point_of(value, kind) for value in (domain if listed is None else listed))
    low, high = points[0], points[-1]
    step, most = Fraction(1), FINEST_DECIMALS if kind == "decimal" else MOST_STEPS
    if low == high:
        raise ValueError("a domain of a single value")
    while (high - low) / step > most:
        step *= 10
    while kind == "decimal" and (high - low) / (step / 10) <= most:
        step /= 10
    return Grid(low, step, high, listed is not None)


def is_on_grid(cell: Any, attribute: dict[str, Any], grid: Grid) -> bool:
    """Whether a cell is a point of the grid inside the domain; of a domain that lists its values, one of them."""
    kind = attribute["type"]
    if grid.listed:
        return in_domain(cell, attribute)
    at = Fraction(comparable(cell, kind)) if kind == "decimal" else point_of(cell, kind)
    code = int((at - grid.low) / grid.step + Fraction(1, 2)) if at >= grid.low else -1
    is_last = float(at) == float(grid.high) if kind == "decimal" else at == grid.high
    code = grid.steps if is_last else code  # the last step may be a shorter one
    nearest = min(grid.high, grid.low + code * grid.step)
    same = float(nearest) == float(at) if kind == "decimal" else nearest == at
    return 0 <= code <= grid.steps and same


# --- trees of concepts ---


class ConceptTree:
    """The concepts of a categorical attribute: which may be drawn, and how far one value moves their scores."""

    def __init__(self, rows: list[tuple[str, ...]], *, inner: bool) -> None:
        """`rows`: each value with its labels, from fine to one for all; `inner`: whether concepts above values may be drawn."""
        self.inner = inner
        paths = sorted(row[::-1] for row in rows)
        below: dict[tuple[str, ...], set[str]] = {}
        for path in paths:
            for end in range(1, len(path)):
                below.setdefault(path[:end], set()).add(path[end])
        spend(20 * len(paths) * max(map(len, paths)))
        self.names: set[str] = set()
        self.values = {row[0] for row in rows}
        self.children: dict[Any, list[Any]] = {}
        named: set[Any] = set()
        for path in paths:
            above: Any = None
            for end in range(1, len(path) + 1):
                node = path[:end]
                if below.get(node) == {node[-1]}:
                    continue  # a label that repeats the one below it is the same concept
                if node not in named:
                    named.add(node)
                    self.names.add(self._name(node, len(path) - end))
                    self.children.setdefault(above, []).append(node)
                    self.children.setdefault(node, [])
                above = node

    def _name(self, node: tuple[str, ...], level: int) -> str:
        """What a concept is called: where a value or another one has its name, it says its level."""
        label = node[-1]
        return f"{label} (level {level})" if level and (label in self.values or label in self.names) else label

    @property
    def drawn(self) -> set[str]:
        """What may be drawn."""
        return self.names if self.inner else self.values

    def spread(self) -> int:
        """The largest, over values x and y, of max - min over concepts of d(concept, x) - d(concept, y).

        A distance depends on the depths of the two and of where they part. So concepts are told apart by depth and by where they
        leave the ways to x and y, and values below a node by the depths of what leaves their ways at each depth.
        """
        (root,) = self.children[None]
        found = 0
        # For each node: the depths of its concepts, and for each different value below it what leaves its way, downwards.
        held: dict[Any, tuple[frozenset[int], Counter[Any]]] = {}
        order, depths, waiting = [], {root: 1}, [root]
        while waiting:
            node = waiting.pop()
            order.append(node)
            for child in self.children[node]:
                depths[child] = depths[node] + 1
                waiting.append(child)
        ways_above: dict[Any, Any] = {}
        for node in reversed(order):
            below = self.children[node]
            own = frozenset({depths[node]} if self.inner or not below else ())
            if not below:
                held[node] = (own, Counter({(depths[node], (own,)): 1}))
                continue
            every = own.union(*(held[child][0] for child in below))
            kinds = Counter((held[child][0], frozenset(held[child][1])) for child in below)
            ways: Counter[Any] = Counter()
            for concepts, values in kinds:
                rest = self._rest(own, kinds, [concepts, values])
                for depth, leaves in values:
                    ways[depth, (rest, *leaves)] += 1
            held[node] = (every, ways)
            ways_above[node] = (own, kinds, depths[node])
        outside: dict[Any, tuple[frozenset[int], ...]] = {root: ()}
        for node in order:
            if node not in ways_above:
                continue
            own, kinds, depth = ways_above[node]
            found = max(found, self._spread_at(own, kinds, depth, outside[node]))
            for child in self.children[node]:
                rest = self._rest(own, kinds, [held[child][0], frozenset(held[child][1])])
                outside[child] = (*outside[node], rest)
        return found

    def _rest(self, own: frozenset[int], kinds: Any, *without: Any) -> frozenset[int]:
        """The depths of the concepts at a node and below it, without one child of each kind that is named."""
        left = Counter(kinds)
        for concepts, values in without:
            left[concepts, values] -= 1
        spend(len(left))
        return own.union(*(concepts for (concepts, _), many in left.items() if many > 0))

    def _spread_at(self, own: frozenset[int], kinds: Any, depth: int, outside: tuple[frozenset[int], ...]) -> int:
        """The same for values that part at one node."""
        found = 0
        listed = list(kinds)
        for place, first in enumerate(listed):
            for second in listed[place:]:
                if first == second and kinds[first] < 2:
                    continue
                middle = self._rest(own, kinds, first, second)
                for x, ways_x in first[1]:
                    for y, ways_y in second[1]:
                        spend(10 * (len(ways_x) + len(ways_y) + len(outside)))
                        moved = [
                            distance(at, x, way + 1) - distance(at, y, way + 1)
                            for way, ats in enumerate((*outside, middle))
                            for at in ats
                        ]
                        for way, ats in enumerate(ways_x, depth + 1):
                            moved += [distance(at, x, way) - distance(at, y, depth) for at in ats]
                        for way, ats in enumerate(ways_y, depth + 1):
                            moved += [distance(at, x, depth) - distance(at, y, way) for at in ats]
                        found = max(found, max(moved) - min(moved))
        return found


_DISTANCES: dict[tuple[int, int], int] = {}
"""Distances in millionths, by the number of all ancestors and of those in common; they follow from these alone."""


def distance(one: int, other: int, common: int) -> int:
    """The distance of two concepts at these depths, the root at 1, that have so many ancestors in common; in millionths."""
    every = one + other - common
    if (every, common) not in _DISTANCES:
        with localcontext() as context:
            context.prec = 40
            real = (Decimal(2 * every - common) / every).ln() / Decimal(2).ln()
            whole = (real * DISTANCE_STEPS + Decimal("0.5")).to_integral_value(ROUND_FLOOR)
        _DISTANCES[every, common] = int(whole)
    return _DISTANCES[every, common]


def concept_tree(folder: Path, attribute: dict[str, Any]) -> ConceptTree:
    """The tree of a categorical attribute; UnreadableError where its hierarchy is in a file that is not read here."""
    values = ["false", "true"] if attribute["type"] == "boolean" else attribute["domain"]["values"]
    bounded("values of a categorical attribute", len(values), MOST_CONCEPTS)
    if len(values) < 2 or len(set(values)) != len(values) or ROOT in values:
        raise ValueError("values from which no centroid can be drawn")
    hierarchy = attribute["hierarchy"]
    rows = [[value] for value in values]
    if hierarchy is not None:
        (kind,) = [key for key in LEVELS_OF if key in hierarchy]
        rows = LEVELS_OF[kind](hierarchy, values, folder)
    if len({row[-1] for row in rows}) > 1:
        rows = [[*row, ROOT] for row in rows]
    inner = hierarchy is not None and attribute["type"] != "boolean"
    return ConceptTree([tuple(row) for row in rows], inner=inner)


def _levels_of_groups(hierarchy: dict[str, Any], values: list[str], _: Path) -> list[list[str]]:
    """Levels of named groups, whose members are values or labels of the level before."""
    levels = [hierarchy["groups"]] if isinstance(hierarchy["groups"], dict) else hierarchy["groups"]
    rest, rows = hierarchy.get("rest"), [[value] for value in values]
    below = set(values)
    for at, level in enumerate(levels):
        group = {member: label for label, members in level.items() for member in _listed_names(members)}
        by_label = at > 0 and set(group) <= below and not (rest is None and set(group) == set(values))
        for row in rows:
            label = group.get(row[-1] if by_label else row[0], rest)
            if label is None:
                raise ValueError("a value without a group")
            row.append(label)
        below = {row[-1] for row in rows}
    return rows


def _listed_names(members: Any) -> list[str]:
    return members if isinstance(members, list) else [members]


def _levels_of_tree(hierarchy: dict[str, Any], values: list[str], folder: Path) -> list[list[str]]:
    """A tree of names: for each value those above it; one that lies less deep is repeated until they begin."""
    tree = hierarchy["taxonomy"]
    if isinstance(tree, dict) and set(tree) == {"sha256"}:
        tree = read_names(read_text(folder, f"hierarchies/{tree['sha256'][:32]}.txt"))
    paths: dict[str, list[str]] = {}
    waiting: list[tuple[Any, list[str]]] = [(tree, [])]
    while waiting:
        node, above = waiting.pop()
        if isinstance(node, dict):
            for name, below in node.items():
                paths[name] = [name, *above]
                waiting.append((below, paths[name]))
        elif isinstance(node, list):
            waiting += [(each, above) for each in node]
        elif node:
            paths[node] = [node, *above]
    height = max(len(paths[value]) for value in values)
    return [[value] * (height - len(paths[value])) + paths[value] for value in values]


def _levels_of_file(hierarchy: dict[str, Any], values: list[str], folder: Path) -> list[list[str]]:
    """A table of labels: the value first, then its labels from fine to coarse; the delimiter is the first that fits all rows."""
    text = read_bytes(folder, f"hierarchies/{hierarchy['file']['sha256'][:32]}.txt").decode("utf-8-sig")
    for delimiter in [hierarchy["delimiter"]] if "delimiter" in hierarchy else [";", "\t", "|", ","]:
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
        except csv.Error:
            continue
        if rows and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows):
            known = {row[0]: row for row in rows}
            return [known[value] for value in values]
    raise UnreadableError("its hierarchy is in a file of a form that is not read here")


def _levels_of_mask(hierarchy: dict[str, Any], values: list[str], _: Path) -> list[list[str]]:
    """Each level hides letters on one side of a text, or cuts them off."""
    mask = hierarchy["mask"]
    length = mask.get("length") or max(map(len, values))
    kept = mask.get("prefix") or mask.get("keep") or list(range(length - 1, 0, -1))
    letter = "" if "prefix" in mask else "*"
    rows = []
    for value in values:
        hidden = [max(0, len(value) - many) for many in kept]
        if mask.get("side", "right") == "right":
            rows.append([value, *(value[: len(value) - gone] + letter * gone for gone in hidden)])
        else:
            rows.append([value, *(letter * gone + value[gone:] for gone in hidden)])
    return rows


LEVELS_OF: dict[str, Callable[[dict[str, Any], list[str], Path], list[list[str]]]] = {
    "groups": _levels_of_groups,
    "taxonomy": _levels_of_tree,
    "file": _levels_of_file,
    "mask": _levels_of_mask,
}
"""How a hierarchy of names is read as rows: a value, then its labels from fine to coarse."""


NAME_OF_TREE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'\[\]{}&*!|>%@`#,?:-][^"'\[\]{},#:]*)"""
LINE_OF_TREE = re.compile(
    rf"(?P<indent> *)(?P<item>- +)?(?P<name>{NAME_OF_TREE})"
    rf"(?P<parent>:(?: +(?:\[(?P<list>{NAME_OF_TREE}(?:,\s*{NAME_OF_TREE})*)\s*\]|(?P<leaf>{NAME_OF_TREE})))?)?\s*(?:#.*)?"
)
"""A line of a file of names: a name, with a list behind it, with names below it, or alone behind a dash."""


def read_names(text: str) -> dict[str, Any]:
    """A tree of names from a file: YAML as people write such trees, a name to a line or lists of them; nothing beyond that.

    The tree that a name is in is found by how far its line is indented; a dash stands a little deeper than the line itself.
    """
    tree: dict[str, Any] = {}
    ways: list[tuple[int, dict[str, Any]]] = [(-1, tree)]
    for line in text.lstrip("\ufeff").splitlines():
        if not line.strip() or line.lstrip().startswith("#") or line.strip() == "---":
            continue
        found = LINE_OF_TREE.fullmatch(line)
        if found is None:
            raise UnreadableError("its taxonomy is in a file of a form that is not read here")
        depth = 2 * len(found["indent"]) + (1 if found["item"] else 0)
        while ways[-1][0] >= depth:
            ways.pop()
        own = ways[-1][1].setdefault(_tree_name(found["name"]), {})
        below = re.findall(NAME_OF_TREE, found["list"] or "") or ([found["leaf"]] if found["leaf"] else [])
        own.update({_tree_name(name): {} for name in below if name not in ("~", "null")})
        ways.append((depth + (2 if found["item"] else 0), own))
    return tree


def _tree_name(text: str) -> str:
    """A name as it is meant."""
    if text.startswith('"'):
        return str(json.loads(text))
    return text[1:-1].replace("''", "'") if text.startswith("'") else text.strip()


# --- noise ---


def noise_of(told: dict[str, Any], plan: CentroidsPlan) -> bool:
    """Whether the noise of one attribute is the one that its epsilon, or its rho, asks for."""
    given = {name: told[name] for name in ("scale", "side", "sigma", "choice_epsilon") if told[name] is not None}
    by_rho = plan.noise == "gaussian"
    if (told["epsilon"] is None, told["rho"] is None) != (by_rho, not by_rho):
        return False
    many, steps = plan.clusters, told["steps"]
    paid = number(told["rho"] if by_rho else told["epsilon"])
    wanted = {"laplace": "scale", "optimal": "side", "gaussian": "sigma"}[plan.noise]
    if paid <= 0 or list(given) != [wanted if told["kind"] == "numeric" else "choice_epsilon"]:
        return False
    near = 1 - Fraction(1, 10**4)
    if told["kind"] == "categorical":
        each = number(given["choice_epsilon"])
        if by_rho:
            least = min(8 * near * paid, Fraction(LARGEST_EPSILON**2 * many))
            return bool(each <= LARGEST_EPSILON and least <= many * each**2 <= 8 * paid)
        return bool(each * many == paid)
    if plan.noise == "optimal":
        return bool(plan.nodes <= MOST_SIDES and given["side"] == (-(-steps // 2) if plan.ordered else steps))
    if plan.noise == "laplace":
        whole = steps * ((many + 1) // 2 if plan.ordered else many)
        return bool(number(given["scale"]) * paid == (steps if plan.ranked else whole))
    return _is_sigma(number(given["sigma"]), paid, square_of(steps, plan), near)


def _is_sigma(sigma: Fraction, rho: Fraction, square: Fraction, near: Fraction) -> bool:
    """Whether noise of this sigma costs no more than rho, and is not much more than that needs."""
    return bool(
        sigma >= LEAST_SIGMA and square <= 2 * rho * sigma**2 and (near * 2 * rho * sigma**2 <= square or sigma < 1)
    )


def square_of(steps: int, plan: CentroidsPlan) -> Fraction:
    """How far one record moves all noised numbers of an attribute, in the sum of squares."""
    if plan.ranked:
        return Fraction(steps**2)
    if not plan.ordered:
        return Fraction(plan.clusters * steps**2)
    low = steps // 2
    return (plan.clusters + 1) * Fraction(low**2 + (steps - low) ** 2, 2)


def shares_fit(certificate: dict[str, Any], plan: CentroidsPlan) -> bool:
    """Whether epsilon, or rho, is divided by the weights of the attributes alone, and not more of it than there is."""
    attributes, by_rho = certificate["attributes"], plan.noise == "gaussian"
    paid = [number(own["rho"] if by_rho else own["epsilon"]) for own in attributes]
    if plan.by_record:
        return all(each == plan.asked * plan.clusters for each in paid)
    weights = [plan.weight(own["name"]) for own in attributes]
    total = sum(paid, Fraction(0)) if by_rho else plan.asked
    if len(set(weights)) == 1:
        return bool(sum(paid) <= total) and all(each * len(paid) == total for each in paid)
    with localcontext() as context:
        context.prec = 60
        roots = [Fraction(decimal(weight) ** (Decimal(1) / (2 if by_rho else 3))) for weight in weights]
    near = Fraction(1, 10**5)  # shares are rounded down to six digits
    fits = all(abs(each * sum(roots) - total * root) <= near * total * root for each, root in zip(paid, roots))
    return bool(fits and sum(paid) <= total)


def centroid_parts(certificate: dict[str, Any], plan: CentroidsPlan) -> list[tuple[Any, int]]:
    """What the noise of all attributes costs: the parts that are composed."""
    found: Counter[Any] = Counter()
    rho = Fraction(0)
    for own in certificate["attributes"]:
        if own["choice_epsilon"] is not None:
            found["exponential-dp", number(own["choice_epsilon"])] += plan.clusters
        elif own["rho"] is not None:
            rho += number(own["rho"])
        else:
            times = plan.clusters if plan.by_record else 1
            found["pure-dp", number(own["epsilon"]) / times] += times
    return [*([(("concentrated-dp", rho), 1)] if rho else []), *found.items()]


# --- errors, and the k that makes them least ---


class BoxNoise:
    """The optimal noise of so many numbers, in units of the half-side of its box: uniform in a box that is drawn first.

    The half-side of box i is i + 1/2, and its probability is proportional to e^(-i epsilon) (i + 1/2)^numbers. Where it is about
    200 or more, it is taken as a gamma number.
    """

    def __init__(self, numbers: int, epsilon: float) -> None:
        middle, spread = (numbers + 1) / epsilon, sqrt(numbers + 1) / epsilon
        low, high = max(0.0, middle - 12 * spread), middle + 12 * spread + 40 / epsilon
        if middle > 200:
            width = (high - low) / 4000
            sides = [low + (place + 0.5) * width for place in range(4000)]
        else:
            sides = [place + 0.5 for place in range(int(low), int(high) + 2)]
        spend(len(sides))
        logs = [numbers * log(side) - epsilon * side for side in sides]
        top = max(logs)
        weights = [exp(each - top) for each in logs]
        whole = sum(weights)
        self.sides = [(side, weight / whole) for side, weight in zip(sides, weights) if weight > 0]
        self.mean = (numbers + 1) / epsilon if middle > 200 else sum(side * weight for side, weight in self.sides)

    def half_width(self, *, ordered: bool) -> float:
        """t with a number, or the difference of two, in -t ... t with 95 %."""

        def beyond(at: float) -> float:
            if ordered:
                return sum(weight * max(0.0, 1 - at / (2 * side)) ** 2 for side, weight in self.sides)
            return sum(weight * max(0.0, 1 - at / side) for side, weight in self.sides)

        low, high = 0.0, 2 * self.sides[-1][0]
        spend(30 * len(self.sides))
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) > 0.05 else (low, middle)
        return high


def half_width_of(told: dict[str, Any], plan: CentroidsPlan) -> float:
    """How far noise moves a centroid of k records with 95 %, as a share of the domain's width."""
    steps, ordered = told["steps"], plan.ordered
    if told["scale"] is not None:
        size = float(number(told["scale"])) * (4.1129553 if ordered else log(20))
    elif told["sigma"] is not None:
        size = float(number(told["sigma"])) * 1.959964 * (sqrt(2) if ordered else 1)
    else:
        size = told["side"] * BoxNoise(plan.nodes, float(number(told["epsilon"]))).half_width(ordered=ordered)
    return float((size + 1 + ordered) / (plan.k * steps))  # a step more, or two, as what is drawn lies on the grid


MOST_TRIED = 3000
"""Cluster sizes, and numbers of clusters, among which k is looked for: all up to here."""
MEAN_NOISE = {
    "laplace": (1.0, 1.5),
    "optimal": (1 / 2, 2 / 3),
    "gaussian": (sqrt(2 / 3.141592653589793), 2 / sqrt(3.141592653589793)),
}
"""The mean size of one number of noise, and of the difference of two, in units of scale, side of the drawn box or sigma."""


def largest_rho(epsilon: Fraction, delta_: Fraction) -> float:
    """The largest rho that keeps epsilon and delta."""
    low, high = 0.0, float(min(epsilon, Fraction(10**6))) + 1.0
    spend(60 * 70)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if concentrated_delta(middle, float(epsilon)) <= float(delta_) else (low, middle)
    return low


class ErrorBound:
    """A bound on the mean error of a record, as a share of a domain's width, at any k: of clustering, and of noise."""

    def __init__(self, attributes: list[dict[str, Any]], plan: CentroidsPlan, noise: str) -> None:
        self.plan, self.noise = plan._replace(noise=noise), noise
        weights = [float(plan.weight(own["name"])) for own in attributes]
        by_rho = noise == "gaussian"
        whole = largest_rho(plan.asked, plan.asked_delta) if by_rho else float(plan.asked)
        roots = [weight ** (1 / (2 if by_rho else 3)) for weight in weights]
        shares = [1.0] * len(weights) if plan.by_record else [root / sum(roots) for root in roots]
        self.paid = [
            (own, weight / sum(weights), whole * share) for own, weight, share in zip(attributes, weights, shares)
        ]
        self._boxes: dict[tuple[int, float], float] = {}

    def at(self, k: int) -> float:
        """The bound at one k."""
        plan = self.plan._replace(k=k)
        many, last, rows = plan.clusters, k + plan.rows % k, plan.rows
        stretch = last / (2 * rows) if plan.corners == 1 else (plan.corners * k + last) / (2 * rows)
        spend(2 * len(self.paid))
        noisy = sum(weight * min(1.0, self._share(own, paid, plan) * many / rows) for own, weight, paid in self.paid)
        return min(0.5, stretch) + noisy

    def _share(self, own: dict[str, Any], paid: float, plan: CentroidsPlan) -> float:
        """The mean noise of a cluster's sum as a share of the domain's width; of a choice, by how much it misses the best."""
        many, mean = plan.clusters, MEAN_NOISE[self.noise][plan.ordered]
        if own["kind"] == "categorical":
            each = paid if plan.by_record else sqrt(8 * paid / many) if self.noise == "gaussian" else paid / many
            return float(2 * log(own["concepts"]) / each)
        if self.noise == "gaussian":
            return float(mean * sqrt(float(square_of(own["steps"], plan)) / (2 * paid)) / own["steps"])
        if self.noise == "optimal":
            key = (plan.nodes, paid)
            if key not in self._boxes:
                self._boxes[key] = (
                    plan.nodes / paid + 1 / paid if (plan.nodes + 1) / paid > 200 else BoxNoise(*key).mean
                )
            side = -(-own["steps"] // 2) if plan.ordered else own["steps"]
            whole = (
                1 / 3 if plan.ordered else 1 / 4
            )  # of a step: what numbers on whole steps have above those on a line
            return float((mean * self._boxes[key] * side + whole) / own["steps"])
        changed = 1 if plan.ranked or plan.by_record else (many + 1) // 2 if plan.ordered else many
        return mean * changed / paid


def found_check(certificate: dict[str, Any], plan: CentroidsPlan) -> Check:
    """Whether k and the kind of noise, where the locked plan leaves them open, are those of the least bound on the error."""
    attributes, release = certificate["attributes"], plan.release
    noises = [plan.noise]
    if release["noise"] == "auto" and not plan.by_record:
        noises = ["laplace"] if plan.ranked else ["optimal", "laplace"]
        noises += ["gaussian"] if plan.asked_delta else []
    sizes = [plan.k]
    if release.get("k") is None:
        most = min(MOST_TRIED, plan.rows // 2)
        sizes = sorted({*range(2, most + 1), *(plan.rows // many for many in range(2, most + 1))})
    numeric = any(own["kind"] == "numeric" for own in attributes)
    least, own_bound = float("inf"), float("inf")
    for noise in noises:
        bound = ErrorBound(attributes, plan, noise)
        most_nodes = MOST_SIDES if noise == "optimal" and numeric else plan.rows
        for k in sizes:
            if plan.rows // k + plan.ordered <= most_nodes:
                least = min(least, bound.at(k))
        own_bound = bound.at(plan.k) if noise == plan.noise else own_bound
    detail = f"the error is {own_bound:.4g} of a domain at the most, and nothing else makes that bound smaller"
    return must("found-k", own_bound <= least * 1.001, detail)


# --- everything about noisy centroids ---


def centroids_theorems(certificate: dict[str, Any], plan: CentroidsPlan) -> list[str]:
    """The names of all results that the promise of noisy centroids rests on, in their order."""
    kinds = {own["kind"] for own in certificate["attributes"]}
    whole = "ranked" if plan.ranked else "ordered" if plan.corners == 1 else "insensitive"
    found = [f"{'per-record' if plan.by_record else whole}-centroids"]
    if "numeric" in kinds:
        found.append({"laplace": "laplace-grid", "optimal": "staircase-box", "gaussian": "gaussian"}[plan.noise])
    if "categorical" in kinds:
        found += ["taxonomy-choices", "bounded-range" if plan.noise == "gaussian" else "exponential-mechanism"]
    if plan.noise == "gaussian":
        found.append("concentrated-composition")
    elif sum(part["times"] for part in certificate["parts"]) > 1:
        found.append("basic-composition")
    found.append("post-processing")
    return [*found, *([RECORD_WISE] if plan.lock.get("treatments") else [])]


def centroids_promise_checks(certificate: dict[str, Any], plan: CentroidsPlan) -> Iterator[Check]:
    """What the locked plan of noisy centroids decides without a computation."""
    yield from subject_checks(certificate, plan.lock, plan.status)
    pure = {"kind": "pure-dp", "epsilon": plan.epsilon}
    both = {"kind": "approx-dp", "epsilon": plan.epsilon, "delta": plan.delta}
    told = {name: own for name, own in certificate["guarantee"].items() if name not in ("unit", "status")}
    guarantee = both if plan.noise == "gaussian" else pure
    wanted = {**both, **guarantee, "neighbours": "replace_one"}
    yield must("guarantee", equal(told, wanted), "as the locked plan asks for it, and what all clusters cost")
    promise = {
        "guarantee": guarantee,
        "unit": unit_of(plan.lock),
        "status": plan.status,
        "theorems": centroids_theorems(certificate, plan),
        "randomness": "operating system",
    }
    yield from claim_checks(certificate, [promise], [0])


def clusters_check(certificate: dict[str, Any], plan: CentroidsPlan) -> Check:
    """How records were clustered, against the locked plan."""
    release = plan.release
    wanted = {
        "rows": plan.rows,
        "k": plan.k,
        "k_found": release.get("k") is None,
        "clusters": plan.clusters,
        "last_size": plan.k + plan.rows % plan.k,
        "grouping": release["grouping"],
        "corners": plan.corners,
        "calibration": release["calibration"],
        "noise": plan.noise,
        "noise_found": release["noise"] == "auto",
        "epsilon": plan.asked,
        "delta": plan.asked_delta,
    }
    fits = 2 <= plan.k <= plan.rows // 2 and equal(certificate["clusters"], wanted)
    fits = (
        fits
        and not (plan.noise == "gaussian" and plan.asked_delta == 0)
        and not (plan.noise == "optimal" and plan.ranked)
    )
    fits = fits and not (plan.by_record and plan.noise != "laplace")
    return must("clusters", fits, "as many rows and clusters, made and noised as the locked plan says")


def steps_check(folder: Path, own: dict[str, Any], plan: CentroidsPlan) -> Check:
    """Whether what one record can change of an attribute follows from its locked domain and hierarchy."""
    attribute, name = plan.lock["attributes"][own["name"]], own["name"]
    told = {key: own[key] for key in ("kind", "step", "steps", "spread", "concepts", "weight")}
    wanted: dict[str, Any] = {"kind": "numeric", "step": None, "steps": 0, "spread": 0, "concepts": 0}
    try:
        if attribute["type"] in NUMERIC:
            grid = grid_of(attribute)
            wanted.update(step=grid.step, steps=grid.steps)
        else:
            tree = concept_tree(folder, attribute)
            wanted.update(kind="categorical", spread=tree.spread(), concepts=len(tree.drawn))
    except UnreadableError as error:
        return must("centroid-steps", None, str(error), about=name)
    words = f"{wanted['steps']:,} steps" if wanted["steps"] else f"{wanted['concepts']:,} concepts"
    return must("centroid-steps", equal(told, {**wanted, "weight": plan.weight(name)}), words, about=name)


def kept_by_centroids(
    certificate: dict[str, Any], plan: CentroidsPlan, whole: ComposedLosses, parts: list[tuple[Any, int]]
) -> Iterator[Check]:
    """Whether all parts together keep the promise, and what they are said to compose to."""
    composed = number(certificate["epsilon_composed"])
    if plan.noise != "gaussian":
        cost = sum((part[1] * times for part, times in parts), Fraction(0))
        yield must("promise", cost <= plan.epsilon <= LARGEST_EPSILON, f"all parts add up to {float(cost):g}")
        fits = cost <= composed <= min(plan.epsilon, cost * (1 + Fraction(1, 10**4)))
        yield must("composed", fits, "the sum of all parts")
        return
    # One part is all of it: nothing that is composed finer than by its rho can be smaller.
    fits = concentrated_delta(float(whole.rho or 0), float(plan.epsilon)) <= plan.delta
    fits = fits or (len(parts) > 1 and whole.keeps(plan.epsilon, plan.delta))
    yield must("promise", fits, "composed here, all parts keep it")
    fits = composed <= plan.epsilon and is_epsilon_of(whole, composed, plan.delta)
    yield must("composed", fits, "epsilon of everything together at the promised delta")


def centroids_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """Everything about a release of noisy centroids."""
    plan = read_centroids_plan(lock, certificate)
    attributes = certificate["attributes"]
    fits = clusters_check(certificate, plan)
    yield fits
    named = [own["name"] for own in attributes]
    same = sorted(named) == sorted(plan.columns)
    yield must("roles", same, "every published attribute, each once")
    if not (fits.agrees and same):
        return
    steps = [steps_check(folder, own, plan) for own in attributes]
    yield from steps
    if any(check.agrees is False for check in steps):
        return
    yield from centroids_promise_checks(certificate, plan)
    for own in attributes:
        yield must(
            "centroid-noise", noise_of(own, plan), "as much as its part of the promise asks for", about=own["name"]
        )
    if not all(noise_of(own, plan) for own in attributes):
        return
    yield must("centroid-shares", shares_fit(certificate, plan), "by the weights of the locked plan alone")
    parts = centroid_parts(certificate, plan)
    told = [(read_part(part["guarantee"]), part["times"]) for part in certificate["parts"]]
    yield must("noise-parts", told == parts, "what the noise of all attributes costs")
    whole = ComposedLosses(parts, 2 * plan.epsilon)
    yield from kept_by_centroids(certificate, plan, whole, parts)
    if plan.release.get("k") is None or plan.release["noise"] == "auto":
        yield found_check(certificate, plan)
    for own in attributes:
        if own["kind"] == "numeric":
            found = half_width_of(own, plan)
            fits_ = own["half_width"] is not None and abs(float(number(own["half_width"])) / found - 1) < 0.005
            yield Check("half-width", fits_, f"{found:.4g} of its domain", about=own["name"])
        else:
            yield Check("half-width", own["half_width"] is None, "a drawn concept has none", about=own["name"])
    yield from ledger_checks(certificate, plan, whole, parts)
    yield from centroid_file_checks(certificate, plan, named)
    for table in certificate["tables"]:
        yield from centroid_table_checks(folder, table, plan)
    yield idle_file_check(certificate, lock)


def shown_of_centroid(attribute: dict[str, Any]) -> str:
    """What the column of an attribute shows."""
    if attribute["type"] in NUMERIC:
        return "noisy mean"
    return "drawn value" if attribute["hierarchy"] is None or attribute["type"] == "boolean" else "drawn concept"


def centroid_file_checks(certificate: dict[str, Any], plan: CentroidsPlan, named: list[str]) -> Iterator[Check]:
    """Which tables there are: one of all attributes, or of ranks one for each."""
    tables, ending = certificate["tables"], plan.release["output"]["format"]
    groups = [[name] for name in named] if plan.ranked else [named]
    fits = [table["columns"] for table in tables] == groups and all(table["rows"] == plan.rows for table in tables)
    if len(groups) == 1:
        fits = fits and tables[0]["file"] == f"table.{ending}"
    for place, table in enumerate(tables if len(groups) > 1 else (), 1):
        fits = fits and bool(re.fullmatch(rf"attributes/{place:02d}-[A-Za-z0-9_-]+\.{ending}", table["file"]))
    yield must("table-files", fits, "one of all attributes, or one of each where they were ranked")
    shows = {name: shown_of_centroid(plan.lock["attributes"][name]) for name in named}
    fits = all(table["shows"] == {name: shows[name] for name in table["columns"]} for table in tables)
    yield must("display", fits, "noisy means, and drawn values or concepts")


def centroid_table_checks(folder: Path, table: dict[str, Any], plan: CentroidsPlan) -> Iterator[Check]:
    """A table of centroids: points of grids and concepts of trees, as many rows as are public, in whole clusters."""
    name, columns, attributes = table["file"], table["columns"], plan.lock["attributes"]
    rows, read = reading_checks(folder, name, columns)
    yield from read
    if rows is None:
        return
    kinds = []
    for place, column in enumerate(columns):
        own = attributes[column]
        kinds.append("text" if shown_of_centroid(own) == "drawn concept" else own["type"])
        cells = {row[place] for row, _ in rows}
        try:
            if own["type"] in NUMERIC:
                grid = grid_of(own)
                fits: Optional[bool] = all(cell is not None and is_on_grid(cell, own, grid) for cell in cells)
            else:
                drawn = {comparable(each, kinds[-1]) for each in concept_tree(folder, own).drawn}
                fits = all(cell is not None and comparable(cell, kinds[-1]) in drawn for cell in cells)
        except UnreadableError:
            fits = None
        except BoundError:
            raise
        except (ValueError, TypeError, KeyError):
            fits = False
        yield must("labels", fits, "what a centroid can be, and nothing else", about=column)
    try:
        in_order = are_sorted(rows, kinds)
    except (ValueError, TypeError, KeyError):
        in_order = False
    yield must("row-order", in_order, "sorted by their own values", about=name)
    sizes: Counter[Any] = Counter()
    for row, times in rows:
        sizes[row] += times
    yield must("row-count", sum(sizes.values()) == plan.rows, f"{sum(sizes.values()):,}", about=name)
    left = plan.rows % plan.k
    odd = [size for size in sizes.values() if size % plan.k]
    fits = odd == [] if not left else len(odd) == 1 and odd[0] % plan.k == left and odd[0] > plan.k
    yield must("class-size", fits, f"equal rows are whole clusters of {plan.k:,}", about=name)


def centroids_statement(lock: dict[str, Any], certificate: dict[str, Any]) -> list[str]:
    """What was verified of noisy centroids, in words of this file's own."""
    plan, release, unit = read_centroids_plan(lock, certificate), lock["release"], lock["unit"]
    whose = "one row"
    if isinstance(unit, dict):
        whose = f"the one row of each value of column '{visible(unit['column'], 100)}' that takes part"
    promise = (
        f"({release['epsilon']}, {release['delta']})"
        if plan.noise == "gaussian"
        else str(certificate["guarantee"]["epsilon"])
    )
    found = [
        f"{promise}-differential privacy for {whose} replaced by any other. Status: {plan.status}.",
        f"How many rows there are, {plan.rows:,}, is public. Each shows the noisy centroid of its cluster: no row is anybody's.",
    ]
    if plan.by_record:
        found.append(
            f"The noise is what epsilon {release['epsilon']} asks for in one cluster and one attribute; all of them together are "
            "protected by no more than the first line says."
        )
    if plan.drafted:
        found.append("Parts of the plan were drafted from the data; what that gives away is not covered.")
    if plan.looked:
        found.append(
            "Results on the data were seen with another plan before; what the choice of this plan gives away is not covered."
        )
    return found


# === 19. Rows inside boxes =========================================================================================
#
# The declared domain is halved again and again. A box at depth i with n rows is halved where n - threshold - i B, or -B if that
# is larger, is above 0 after two-sided geometric noise of scale s is added: Pr[noise = z] is proportional to p^|z|, p = e^(-1/s).
# One row more adds one to the count of the boxes that hold it, one at each depth. Where the count is far above the threshold the
# row changes the odds of one more division hardly at all, and where it is far below it stays at -B; in between counts fall by at
# least B from one depth to the next. So what the row changes at all depths together is at most, however deep the tree is,
#
#     2/s + sum over i >= 1 of ln((1 + p - p^(iB+1)) / (1 + p - p^(iB))).
#
# Boxes do not overlap, and a row is in one of them: in each, the count and a sum for each attribute are measured with one draw of
# noise for numbers that all move by up to `side` steps, at the epsilon of the means. Attributes with three or more values without
# an order are counted first, each in a histogram of which one row moves one count by one. The three are added up. For a unit of
# several rows, or one that is replaced, each counts as many times as rows come or go. Rows are made from these numbers alone.

MOST_TERMS = 4096
"""Terms of the sum that are added one by one; what is left is bounded by a geometric sum."""
LARGEST_ROW_EPSILON = Fraction(500)
"""Beyond it no noise is made."""
FEWEST_VALUES = 3
"""An attribute without an order that has so many values is counted first."""
BOX_SHOWS = {"ordered": "spread inside boxes", "nominal": "drawn inside boxes"}


class BoxesPlan(NamedTuple):
    """What the locked plan of rows inside boxes asks for, in the words of this file."""

    lock: dict[str, Any]
    release: dict[str, Any]
    epsilon: Fraction
    delta: Fraction
    max_rows: int
    replaced: bool
    drafted: bool
    looked: bool = False

    @property
    def steps(self) -> int:
        """How many rows come or go between neighbours."""
        return self.max_rows * (2 if self.replaced else 1)

    @property
    def status(self) -> str:
        """How the promise is known to hold."""
        return "proved for a plan tuned on the data" if self.drafted or self.looked else "proved"


def read_boxes_plan(lock: dict[str, Any]) -> BoxesPlan:
    """The plan of a lock that asks for rows inside boxes."""
    release, unit = lock["release"], lock["unit"]
    return BoxesPlan(
        lock=lock,
        release=release,
        epsilon=number(release["epsilon"]),
        delta=number(release["delta"]),
        max_rows=unit["max_rows"] if isinstance(unit, dict) else 1,
        replaced=lock["neighbours"] == "replace_one",
        drafted=is_drafted(lock),
    )


def is_allowed_boxes(lock: dict[str, Any]) -> bool:
    """Whether boxes can be made as a locked plan asks: a pure epsilon, and a value of a declared domain in every cell."""
    release = lock["release"]
    shown = [lock["attributes"][name] for name in published_attributes(lock)]
    alone = set(release) <= {"method", "epsilon", "delta", "grouping", "repeat", "output"}
    fits = alone and number(release["epsilon"]) > 0 and number(release["delta"]) == 0 and release["repeat"] == 1
    return bool(fits and shown and all(_has_centroids(own, ranked=False) for own in shown))


def halving_cost(scale: Fraction, bias: int) -> Decimal:
    """What the tree costs at most for one row: the formula at the head of this section, from above."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, MAX_EMAX, MIN_EMIN
        rate = 1 / decimal(scale)
        p = (-rate).exp()
        step = (-min(rate * bias, Decimal(1000))).exp()  # a larger one bounds what is left from above too
        total, power = 2 * rate, step
        for _ in range(MOST_TERMS):
            if power < Decimal("1e-50") * rate:
                break
            total += ((1 + p - p * power) / (1 + p - power)).ln()
            power *= step
        # Each term is at most p^(iB) (1 - p) / (1 + p - p^(iB)), and those that are left fall as fast as p^(iB).
        total += power * (1 - p) / ((1 - step) * (1 + p - power))
        return total * (1 + Decimal("1e-40"))


def box_tree_check(boxes: dict[str, Any]) -> Check:
    """Whether the noise of the tree costs no more than is said."""
    tree = boxes["tree"]
    told, scale = number(tree["epsilon"]), number(tree["scale"])
    if not 0 < told <= LARGEST_ROW_EPSILON or scale * told < 2:
        return must("box-tree", False, "less noise than any tree needs for its epsilon")
    found = halving_cost(scale, tree["bias"])
    return must(
        "box-tree", decimal(told) >= found, f"it costs {round_up(found)} for one row, {float(told):g} is set aside"
    )


def box_share_check(boxes: dict[str, Any], plan: BoxesPlan) -> Check:
    """Whether tree, histograms and means together cost no more than the promise leaves for one row."""
    values, row = boxes["values"], number(boxes["row_epsilon"])
    shares = [number(boxes["tree"]["epsilon"]), number(boxes["means"]["epsilon"])]
    shares += [number(values["epsilon"])] * len(values["attributes"]) if values is not None else []
    fits = row * plan.steps == plan.epsilon and 0 < row <= LARGEST_ROW_EPSILON
    fits = fits and min(shares) > 0 and sum(shares) <= row
    return must("box-shares", fits, f"{float(sum(shares)):g} of {float(row):g} for one row, {plan.steps} times")


def box_number_check(certificate: dict[str, Any], plan: BoxesPlan) -> Check:
    """Whether a box has the numbers that are paid for, with noise for every change of them."""
    boxes, attributes = certificate["boxes"], certificate["attributes"]
    means, values = boxes["means"], boxes["values"]
    names = [own["name"] for own in attributes]
    fits = sorted(names) == sorted(published_attributes(plan.lock)) and means["numbers"] == 1 + len(names)
    fits = fits and means["side"] >= 1 and means["inner"] <= means["side"]
    for own in attributes if fits else ():
        locked = plan.lock["attributes"][own["name"]]
        fits = fits and own["kind"] == ("ordered" if locked["type"] in NUMERIC else "nominal")
        fits = fits and number(own["weight"]) == number(locked.get("weight", "1"))
    counted = [own["name"] for own in attributes if own["kind"] == "nominal" and own["points"] >= FEWEST_VALUES]
    fits = fits and counted == ([] if values is None else values["attributes"])
    return must("box-numbers", fits, "a count, and a sum for each attribute; a histogram of values without an order")


def box_error_check(means: dict[str, Any]) -> Check:
    """Whether noise moves the count of a box as far as is printed."""
    told, found = float(number(means["half_width"])), BoxNoise(means["numbers"], float(number(means["epsilon"])))
    wide = found.half_width(ordered=False)
    return Check("box-error", abs(told / wide - 1) < 0.005, f"{wide:.4g} records, in 95 of 100 cases")


def box_parts(boxes: dict[str, Any], plan: BoxesPlan) -> list[tuple[Any, int]]:
    """What is composed: the histograms, the tree and the means, each for the unit."""
    values = boxes["values"]
    found: list[tuple[Any, int]] = []
    if values is not None:
        found.append((("pure-dp", number(values["epsilon"]) * plan.steps), len(values["attributes"])))
    found.append((("pure-dp", number(boxes["tree"]["epsilon"]) * plan.steps), 1))
    return [*found, (("pure-dp", number(boxes["means"]["epsilon"]) * plan.steps), 1)]


def box_theorems(plan: BoxesPlan) -> list[str]:
    """The names of all results that the promise rests on, in their order."""
    found = ["halving-tree", "box-means", "staircase-box"]
    found += ["group-privacy"] if plan.max_rows > 1 else []
    found += ["replace-one"] if plan.replaced else []
    return [*found, "post-processing", *([RECORD_WISE] if plan.lock.get("treatments") else [])]


def box_grid_check(certificate: dict[str, Any], plan: BoxesPlan) -> Check:
    """Whether steps and numbers of values follow from the locked domains; the promise does not rest on how fine they are."""
    fits: Optional[bool] = True
    for told in certificate["attributes"]:
        own = plan.lock["attributes"][told["name"]]
        if told["kind"] == "ordered":
            grid = grid_of(own)
            same = told["points"] == grid.steps + 1 and told["step"] is not None and number(told["step"]) == grid.step
            fits = fits and same if not same else fits
        elif own["type"] == "boolean" or isinstance(own["domain"], dict):
            many = 2 if own["type"] == "boolean" else len(own["domain"]["values"])
            fits = fits and told["points"] == many and told["step"] is None
        else:
            fits = fits and None
    listed = "how many values are told apart follows from the locked domains"
    return Check("box-grid", fits, listed if fits is not None else "the locked plan does not list all values")


def is_in_box_column(cell: Any, attribute: dict[str, Any], grid: Any) -> bool:
    """Whether a cell is a value of the declared domain, and a point of its grid where it has one."""
    if cell is None:
        return False
    return in_domain(cell, attribute) if grid is None else is_on_grid(cell, attribute, grid)


def box_table_checks(folder: Path, certificate: dict[str, Any], plan: BoxesPlan) -> Iterator[Check]:
    """The one table: its file, its columns, values of the declared grids alone, in their order, as many rows as are stated."""
    tables, name = certificate["tables"], f"table.{plan.release['output']['format']}"
    fits = len(tables) == 1 and tables[0]["file"] == name
    yield must("table-files", fits, "one table, in the file of the locked plan")
    if not fits:
        return
    table = tables[0]
    kinds = {own["name"]: own["kind"] for own in certificate["attributes"]}
    fits = table["columns"] == [own["name"] for own in certificate["attributes"]]
    yield must("table-columns", fits, "every published attribute, in the order of the attributes", about=name)
    shows = {column: BOX_SHOWS[kind] for column, kind in kinds.items()}
    yield must("display", equal(table["shows"], shows), "as the locked plan makes it")
    if not fits:
        return
    rows, read = reading_checks(folder, name, table["columns"], "table-text")
    yield from read
    if rows is None:
        return
    all_known = True
    for place, column in enumerate(table["columns"]):
        own = plan.lock["attributes"][column]
        try:
            grid = grid_of(own) if own["type"] in NUMERIC else None
            known = all(is_in_box_column(cell, own, grid) for cell in {row[place] for row, _ in rows})
        except BoundError:
            raise
        except (ValueError, TypeError, KeyError):
            known = False
        all_known = all_known and known
        yield must("labels", known, "values of the declared domain, on its grid", about=column)
    of_type = [plan.lock["attributes"][column]["type"] for column in table["columns"]]
    yield must("row-order", all_known and are_sorted(rows, of_type), "sorted by their own values", about=name)
    found = sum(times for _, times in rows)
    yield must("row-count", found == table["rows"], f"{found:,} rows, as many as are stated", about=name)


def boxes_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """Everything about a release of rows that are spread inside boxes."""
    plan, boxes = read_boxes_plan(lock)._replace(looked=is_looked(certificate)), certificate["boxes"]
    own = box_number_check(certificate, plan)
    yield own
    if not own.agrees:
        return
    yield from subject_checks(certificate, lock, plan.status)
    guarantee = {"kind": "pure-dp", "epsilon": plan.epsilon}
    told = {name: each for name, each in certificate["guarantee"].items() if name not in ("unit", "status")}
    wanted = {**guarantee, "delta": Fraction(0), "neighbours": lock["neighbours"]}
    yield must("guarantee", equal(told, wanted), "as the locked plan asks for it")
    promise = {
        "guarantee": guarantee,
        "unit": unit_of(lock),
        "status": plan.status,
        "theorems": box_theorems(plan),
        "randomness": "operating system",
    }
    yield from claim_checks(certificate, [promise], [0])
    yield box_tree_check(boxes)
    yield box_share_check(boxes, plan)
    yield box_error_check(boxes["means"])
    parts = box_parts(boxes, plan)
    said = [(read_part(part["guarantee"]), part["times"]) for part in certificate["parts"]]
    yield must("noise-parts", said == parts, "what histograms, tree and means cost")
    total = sum(part[1] * times for part, times in parts)
    yield must("promise", total <= plan.epsilon, "added up, all parts keep it")
    composed = number(certificate["epsilon_composed"])
    fits = total <= composed <= plan.epsilon and is_printed(certificate["epsilon_composed"], decimal(Fraction(total)))
    yield must("composed", fits, "what the parts add up to")
    yield from ledger_checks(certificate, plan, ComposedLosses(parts, 2 * plan.epsilon), parts)
    yield box_grid_check(certificate, plan)
    yield from box_table_checks(folder, certificate, plan)
    yield idle_file_check(certificate, lock)


def boxes_statement(lock: dict[str, Any], certificate: dict[str, Any]) -> list[str]:
    """What was verified of rows inside boxes, in words of this file's own."""
    plan, unit = read_boxes_plan(lock)._replace(looked=is_looked(certificate)), lock["unit"]
    whose = "one row"
    if isinstance(unit, dict):
        whose = f"all rows (at most {unit['max_rows']}) with one value of column '{visible(unit['column'], 100)}'"
    change = "replaced by any other" if plan.replaced else "added or removed"
    found = [
        f"{lock['release']['epsilon']}-differential privacy for {whose} {change}. Status: {plan.status}.",
        "The rows are spread inside boxes with noisy counts and means: they are nobody's, and their number is noisy too.",
    ]
    if plan.drafted:
        found.append("Parts of the plan were drafted from the data; what that gives away is not covered.")
    if plan.looked:
        found.append(
            "Results on the data were seen with another plan before; what the choice of this plan gives away is not covered."
        )
    return found


# === 20. The program ===============================================================================================


def safe_k_checks(folder: Path, certificate: dict[str, Any], lock: dict[str, Any]) -> Iterator[Check]:
    """Everything about a release of random samples."""
    plan = read_plan(lock)._replace(looked=is_looked(certificate))
    fits = samples_check(certificate, plan)
    yield fits
    if not fits.agrees:
        return
    yield from promise_checks(certificate, plan)
    yield from sample_checks(certificate, plan)
    yield from view_checks(folder, certificate, plan)
    yield from choice_checks(certificate, plan)
    yield level_check(folder, certificate, plan)
    largest = max([2 * plan.epsilon, *(number(point["epsilon"]) for point in certificate["curve"])])
    whole = ComposedLosses(charged_parts(certificate, plan), largest)
    yield from kept_checks(certificate, plan, whole)
    yield from curve_checks(certificate, plan, whole)
    yield from ledger_checks(certificate, plan, whole, charged_parts(certificate, plan))
    for table in certificate["tables"]:
        yield from table_checks(folder, table, sample_of(certificate, table)["k"])
    yield idle_file_check(certificate, lock)
    yield Check("label-meaning", None, "what labels stand for is not compared with the locked hierarchies here")


def verify(folder: Path) -> list[Check]:
    """Everything that can be verified from the folder alone. What cannot be read to its end is a check that failed."""
    checks: list[Check] = []
    with limited_work():
        try:
            checks.extend(checks_of(folder, read_json(folder, "certificate.json")))
        except Exception as error:  # noqa: BLE001 - what is no file's fault is raised again
            checks.append(unreadable(error))
    return [shown(check) for check in checks]


@contextmanager
def limited_work() -> Iterator[None]:
    """Count the work on one folder."""
    WORK.left = MOST_WORK
    try:
        yield
    finally:
        WORK.left = float("inf")
        _MADE.clear()


def unreadable(error: Exception) -> Check:
    """What a file that makes no sense led to, as a check that failed; raises what is no file's fault."""
    if isinstance(error, BoundError):
        return must("bounds", False, str(error))
    if isinstance(error, KeyError):
        return must("readable", False, f"a file of the folder has no key {error}")
    if isinstance(error, MemoryError):
        return must("readable", None, "it takes more memory than there is")
    if isinstance(error, UnreadableError):
        return must("readable", None, str(error))
    if isinstance(error, OSError):
        return must("readable", False, f"{type(error).__name__}: {error.strerror}")
    if isinstance(error, (TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)):
        return must("readable", False, f"{type(error).__name__}: {error}")
    raise error


def checks_of(folder: Path, certificate: Any) -> Iterator[Check]:
    """The checks of a folder, one after another, as far as it can be read; whatever makes no sense raises."""
    before = list_folder(folder)
    yield from content_checks(folder, certificate, before)
    if list_folder(folder) != before:
        yield must("readable", False, "the folder was changed while it was read")


def content_checks(folder: Path, certificate: Any, found: Listing) -> Iterator[Check]:
    """The same, with what the folder holds."""
    if not isinstance(certificate, dict) or type(certificate.get("format")) is not int:
        yield must("format", False, "certificate.json holds no key 'format'")
        return
    if certificate["format"] != FORMAT:
        yield must("format", False, f"this verifier knows format {FORMAT}; ask for a newer one")
        return
    keys = key_check(certificate)
    yield keys
    if not keys.agrees:
        return
    plain = plain_check(found, certificate["files"])
    yield plain
    yield from hash_checks(folder, certificate, found)
    if not plain.agrees or any(name not in found.files for name in certificate["files"]):
        return  # what is not there fails every check that needs it
    yield from part_checks(folder, certificate)
    try:
        lock = read_lock(read_text(folder, "policy.lock.yaml", LARGEST_LOCK))
    except BoundError:
        raise
    except ValueError as error:
        yield must("lock-text", False, str(error))
        return
    yield must("lock-text", True, "written as locked plans are")
    method = certified_method(lock)
    fits = method in CERTIFICATES and CERTIFICATES[method] is CERTIFICATES[certificate["method"]]
    yield must("lock-method", fits, "makes certificates of this kind")
    if not fits:
        return
    keys = lock_key_check(lock)
    yield keys
    if not keys.agrees:
        return
    allowed = is_allowed(lock)
    yield must("lock-allowed", allowed, "the theorems speak of plans like this one")
    if not allowed:
        return
    yield from METHOD_CHECKS[method](folder, certificate, lock)
    yield from treatment_checks(folder, certificate, lock)
    yield from handbook_check(certificate)
    yield Check(
        "wording", None, "sentences, premises and the page are not compared here; read what this program says below"
    )


METHOD_CHECKS: dict[str, Callable[[Path, Any, Any], Iterator[Check]]] = {
    "safe-k": safe_k_checks,
    "sample": plain_sample_checks,
    "k-anonymity": full_domain_checks,
    "microaggregation": counted_checks,
    "probabilistic-k": counted_checks,
    "t-closeness": bucketized_checks,
    "anatomy": bucketized_checks,
    "noisy-counts": noisy_counts_checks,
    "synthetic": noisy_counts_checks,
    "dp-microaggregation": centroids_checks,
    "box-microaggregation": boxes_checks,
}
"""What is checked of a certificate, by its method."""


def unseen(lock: dict[str, Any]) -> list[str]:
    """What the promise rests on and no verifier can see in the folder, for methods that hide it by design."""
    release = lock["release"]
    if release["method"] == "probabilistic-k":
        return ["The groups are not published: that the claim holds rests on the program that made the table."]
    if release["method"] in ("t-closeness", "anatomy") and not read_bucket_plan(lock).linked:
        return ["That anything holds of the groups rests on the program that made the table."]
    if release["method"] == "sample":
        return [
            "That the rate is safe for the table rests on the program that drew the sample: the table's counts are not here."
        ]
    return []


def statement(folder: Path) -> list[str]:
    """What was verified, in words of this file's own."""
    lock = read_lock(read_text(folder, "policy.lock.yaml", LARGEST_LOCK))
    release, named = lock["release"], f"The custodian calls the dataset '{visible(lock['dataset'], 100)}'."
    if release["method"] == "microaggregation":
        return [
            f"Every class of equal quasi-identifiers has at least {release['k']} rows.",
            "That is counted and not proved, and it is no differential privacy.",
            named,
        ]
    if release["method"] == "k-anonymity":
        return [*full_domain_statement(read_full_domain_plan(lock)), named]
    if release["method"] == "probabilistic-k":
        return [
            "Probabilistic k-anonymity on a condition about what an intruder knows. No differential privacy.",
            *unseen(lock),
            named,
        ]
    if release["method"] in ("t-closeness", "anatomy"):
        return [*bucketized_statement(read_bucket_plan(lock)), *unseen(lock), named]
    if release["method"] == "sample":
        sampled = read_sample_release(lock)
        rows = "any one row" if sampled.c == 1 else f"any {sampled.c} rows"
        chance = f"with probability at least 1 - {release['delta']} over the draw"
        return [
            f"A plain sample: {chance} no values of {rows} make it more than 1 + {release['epsilon']} times as likely as others.",
            "Status: proved with condition. No differential privacy.",
            "Condition: table, rate and rare values are taken as given; what they give away by themselves is not covered.",
            *unseen(lock),
            named,
        ]
    if release["method"] == "dp-microaggregation":
        own = boxes_statement if certified_method(lock) == "box-microaggregation" else centroids_statement
        return [*own(lock, read_json(folder, "certificate.json")), named]
    counts = certified_method(lock) in ("noisy-counts", "synthetic")
    plan: Any = read_counts_plan(lock) if counts else read_plan(lock)
    plan = plan._replace(looked=is_looked(read_json(folder, "certificate.json")))
    unit, whose = lock["unit"], "one row"
    if isinstance(unit, dict):
        whose = f"all rows (at most {unit['max_rows']}) with one value of column '{visible(unit['column'], 100)}'"
    change = "replaced by any other" if plan.replaced else "added or removed"
    promise = f"({release['epsilon']}, {release['delta']})-differential privacy"
    found = [f"{promise} for {whose} {change}. Status: {plan.status}."]
    if release["method"] == "synthetic":
        found.append(
            "The synthetic rows were drawn from noisy counts: they are nobody's, and no row of the table is shown."
        )
    if not counts and plan.already_sampled:
        found.append(
            "Condition, which only the custodian can know: the table itself was drawn from a larger population, each person "
            f"independently with probability at most {release['sampling']['already']}, and nothing else is computed from it."
        )
    if plan.drafted:
        found.append("Parts of the plan were drafted from the data; what that gives away is not covered.")
    if plan.looked:
        found.append(
            "Results on the data were seen with another plan before; what the choice of this plan gives away is not covered."
        )
    return [*found, named]


OUTCOMES = {True: "ok           ", False: "FAILED       ", None: "NOT VERIFIED "}


TAKEN_AS_PREMISES = {"count-bins", "count-choice"}
"""What this file does not make again: that bins and chosen tables follow from earlier noisy numbers, as the promise assumes."""


UNSEEN_CLAIMS = {"k-map"}
"""What is claimed beside the promise, and can be counted only with a file that the custodian need not pass on."""


MOST_NAMES = 6
"""Checks that the last line names; the lines above it have all of them."""


def some_names(checks: list[Check]) -> str:
    """The names of the first checks, and how many more there are."""
    more = len(checks) - MOST_NAMES
    names = ", ".join(visible(check.name) for check in checks[:MOST_NAMES])
    return f"{names}, and {more} more, which are listed above" if more > 0 else names


def report(checks: list[Check]) -> tuple[list[str], int]:
    """The lines to print, what failed or was not verified first, and the exit code."""
    failed = [check for check in checks if check.agrees is False]
    unknown = [check for check in checks if check.agrees is None]
    missing = [check for check in unknown if check.promise]
    others = [check for check in unknown if not check.promise]
    agree = [check for check in checks if check.agrees]
    lines = [
        f"{OUTCOMES[check.agrees]} {visible(check.name)}: {visible(check.detail)}"
        for check in (*failed, *missing, *others, *agree)
    ]
    count = f"{len(agree)} checks agree, {len(failed)} failed, {len(unknown)} not verified"
    if failed:
        return [*lines, f"{count}. FAILED: do not rely on this folder."], 3
    if missing:
        verdict = f"{count}. NOT VERIFIED, though the promise rests on it: {some_names(missing)}."
        if any(NO_PYARROW in check.detail for check in missing):
            verdict += " Install pyarrow (python -m pip install pyarrow), and run this again."
        return [*lines, verdict], 3
    taken = [check for check in others if check.id in TAKEN_AS_PREMISES]
    unseen = [check for check in others if check.id in UNSEEN_CLAIMS]
    said = [
        f"{some_names(some)}; {why}"
        for some, why in (
            ([check for check in others if check not in (*taken, *unseen)], "the promise does not rest on that"),
            (taken, "a premise of the promise, which `shoal verify` makes again"),
            (unseen, "a claim on a file that is not in the folder, so nobody can count it here"),
        )
        if some
    ]
    verdict = "VERIFIED but for that premise" if taken else "VERIFIED but for that claim" if unseen else "VERIFIED"
    return [*lines, f"{count} ({'. '.join(said)}). {verdict}: all that the promise rests on and a folder can show."], 0


def main(arguments: list[str]) -> int:
    """Print every check; the exit code says the outcome."""
    folder = Path(arguments[0]) if len(arguments) == 1 else None
    try:
        is_there = folder is not None and os.path.lexists(folder / "certificate.json")
    except (OSError, ValueError):
        is_there = False
    if folder is None or not is_there:
        print("usage: python verifier.py FOLDER   (a release folder with certificate.json)", file=sys.stderr)
        return 2
    checks = verify(folder)
    lines, code = report(checks)
    for line in lines:
        print(line)
    for line in (*statement(folder), *treatment_statement(folder)) if code == 0 else ():
        print(line)
    return code


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
