"""Questions against one ledger: 1,000 from 8 processes, one process alone, a book of 10,000 events, and the command itself.

python benchmarks/session.py              all four
python benchmarks/session.py command      one of them: crowd, alone, long_book, command
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
from pyarrow import csv

from shoal.datasets.visits import visits, write_policy
from shoal.errors import BudgetError
from shoal.guarantee.differential import PureDP
from shoal.ledger.event import Budget, Cost
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.query.questions.count import Count
from shoal.query.session import register, session

PROCESSES, EACH, ROOM = 8, 125, 900
EPSILON = Fraction(1, 1000)


def prepared(folder, rows=50_000):
    """A registered dataset whose budget has room for 900 questions."""
    policy = Policy.load(write_policy(folder))
    budget = {"epsilon": str(ROOM * EPSILON), "delta": "1e-5"}
    path = folder / "asked.yaml"
    path.write_text(policy.with_changes({"release": None, "budget": budget}).dump())
    pq.write_table(visits(rows, seed=1), folder / "visits.parquet")
    register(path, folder / "visits.parquet", ledger=str(folder / "ledger.sqlite"), new_ledger=True)
    return policy.dataset


def question(number):
    """One of a thousand that all differ."""
    return Count(f"age between {number % 50} and {60 + number // 50}")


def asker(folder, dataset, name, barrier, results):
    """Ask 125 questions that nobody else asks."""
    given, worst = 0, 0.0
    with session(dataset, ledger=f"{folder}/ledger.sqlite") as asking:
        asking.price(Count("age >= 1"), EPSILON)
        barrier.wait()
        start = time.perf_counter()
        for number in range(EACH):
            before = time.perf_counter()
            try:
                asking.ask(question(name * EACH + number), EPSILON, "laplace")
                given += 1
            except BudgetError:
                pass
            worst = max(worst, time.perf_counter() - before)
        results.put((given, time.perf_counter() - start, worst))


def crowd(folder):
    """8 processes against one ledger: no overrun, no lost charge, and how fast."""
    dataset = prepared(folder)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(PROCESSES), context.Queue()
    askers = [
        context.Process(target=asker, args=(str(folder), dataset, name, barrier, results)) for name in range(PROCESSES)
    ]
    for each in askers:
        each.start()
    found = [results.get(timeout=600) for _ in askers]
    for each in askers:
        each.join()
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        account, events = ledger.account(dataset), ledger.verify()
        answers = sum(event.kind == "answer" for event in ledger.events())
    given, seconds = sum(each[0] for each in found), max(each[1] for each in found)
    print(f"{PROCESSES} processes, {PROCESSES * EACH:,} questions, room for {ROOM}:")
    print(f"  answered {given}, charged {account.questions}, recorded {answers}, refused {PROCESSES * EACH - given}")
    print(f"  spent {account.spent.words()} of {account.budget.words()}; {events:,} events, chain intact")
    print(f"  {PROCESSES * EACH / seconds:.0f} questions a second; the slowest took {max(e[2] for e in found):.2f} s")
    if not given == account.questions == answers == ROOM or account.spent.epsilon != ROOM * EPSILON:
        sys.exit("a charge was lost, or the budget was overrun")


def alone(folder):
    """One process, one question after another."""
    dataset = prepared(folder)
    with session(dataset, ledger=str(folder / "ledger.sqlite")) as asking:
        start = time.perf_counter()
        asking.ask(Count("age >= 1"), EPSILON, "laplace")
        first, start = time.perf_counter() - start, time.perf_counter()
        for number in range(200):
            asking.ask(question(number), EPSILON, "laplace")
        each = (time.perf_counter() - start) / 200
        start = time.perf_counter()
        for _ in range(200):
            asking.ask(question(7), EPSILON)
        again = (time.perf_counter() - start) / 200
    print(f"\none process, 50,000 rows: the first question {first:.2f} s, then {1000 * each:.1f} ms each, ", end="")
    print(f"{1000 * again:.1f} ms from the record")


def long_book(folder):
    """A ledger of 10,000 events: what opening and one more charge cost."""
    url, cost, budget = str(folder / "long.sqlite"), Cost.of("1e-6", 0, [(PureDP("1e-6"), 1)]), Budget.of(1, 0)

    def charge(ledger, number):
        options = {"budget": budget, "neighbours": "add_remove", "plan": "p", "table": b"t"}
        return ledger.charge("long", cost, questions=[f"q{number}"], **options)

    with Ledger(url) as ledger:
        for number in range(5_000):
            receipt = charge(ledger, number)
            ledger.answered("long", receipt, f"q{number}", table="t", cost=cost, content=b"1")
    with Ledger(url) as ledger:
        start = time.perf_counter()
        charge(ledger, 5_000)
        first, start = time.perf_counter() - start, time.perf_counter()
        for number in range(200):
            charge(ledger, 5_001 + number)
        each, start = (time.perf_counter() - start) / 200, time.perf_counter()
        events = ledger.verify()
        print(f"\n{events:,} events: first charge of a process {first:.2f} s (the whole chain is checked), ", end="")
        print(f"then {1000 * each:.1f} ms each; verify {time.perf_counter() - start:.2f} s")


def command(folder, runs=9):
    """`shoal ask` on 20,000 rows of CSV with a person unit: CPU seconds (user and system) of a whole process."""
    write_policy(folder)
    csv.write_csv(visits(20_000, seed=1), folder / "visits.csv")
    ledger = str(folder / "ledger.sqlite")
    register(folder / "policy.yaml", folder / "visits.csv", ledger=ledger, new_ledger=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def cpu(*words):
        before = os.times()
        program = [sys.executable, "-c", "from shoal.cli import main; main()", *words]
        subprocess.run(program, check=True, capture_output=True, env=environment)  # noqa: S603 - our own words
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def ask(age):
        return cpu("ask", "hospital-visits", "count", f"age >= {age}", "--epsilon", "0.01", "--ledger", ledger)

    ask(20)  # compiles the modules, and reads them into the cache of files
    found = {
        "the interpreter and --version": [cpu("--version") for _ in range(runs)],
        "a new question": [ask(30 + run) for run in range(runs)],
        "one on record": [ask(30 + run) for run in range(runs)],
    }
    print(f"\nshoal ask, 20,000 rows of CSV, CPU seconds, median of {runs} (least, most):")
    for name, seconds in found.items():
        print(f"  {name:30}{statistics.median(seconds):.2f} ({min(seconds):.2f}, {max(seconds):.2f})")


def main():
    """Print them, or those that were named."""
    jobs = {job.__name__: job for job in (crowd, alone, long_book, command)}
    for name in sys.argv[1:] or jobs:
        job = jobs[name]
        with tempfile.TemporaryDirectory() as folder:
            job(Path(folder))


if __name__ == "__main__":
    main()
