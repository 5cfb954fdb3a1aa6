"""Pages in a real browser, at the width of a screen, of a telephone and of paper: nothing is cut, fetched, wrong or unnamed.

The browser is Debian's chromium, driven by Playwright. Every kind of release is made once, and its pages are opened once.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shoal.page.html import section_page
from shoal.page.section import BarPair, BarTable, DataTable, FactList, Figure, Section, Words, heads
from shoal.page.svg import draw_histograms
from shoal.publish.comparison.methods import compare_methods
from shoal.publish.plan.methods import plan
from shoal.publish.plan.page import plan_page
from shoal.publish.report.assessment.page import assessment_page
from shoal.publish.run.release import Release
from tests.publish import (
    box_clinic,
    centroid_clinic,
    clinic,
    counted_clinic,
    grouped_clinic,
    level_clinic,
    noisy_clinic,
    sample_clinic,
)
from tests.publish.report.assessment.assessed import assessed

playwright = pytest.importorskip("playwright.sync_api", reason="cannot run here: Playwright is not installed")

pytestmark = pytest.mark.slow

ABSENT = "cannot run here: no chromium is installed (Debian package chromium)"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
VIEWS = {"screen": (1280, "screen"), "telephone": (390, "screen"), "paper": (688, "print")}
"""Widths in pixels, and the medium; a sheet of A4 without its margins is 182 mm wide."""
UNNAMED = """() => [...document.querySelectorAll('img, svg')].filter(one =>
    one.tagName === 'IMG' ? !one.alt
    : one.getAttribute('aria-hidden') !== 'true' && !(one.getAttribute('role') === 'img' && one.getAttribute('aria-label'))
).map(one => one.outerHTML.slice(0, 80))"""
TOO_WIDE = "() => Math.max(0, document.scrollingElement.scrollWidth - innerWidth)"

KINDS: dict[str, Callable[[Path], Release]] = {
    "safe-k": lambda folder: clinic.publish(folder, report=True, assess=True),
    "views": lambda folder: clinic.publish(folder, {"release.views": "pairs"}, report=True),
    "synthetic": lambda folder: noisy_clinic.publish(folder, "synthetic", report=True),
    "k-anonymity": lambda folder: level_clinic.publish(folder, "every", report=True),
    "microaggregation": lambda folder: counted_clinic.publish(folder, "diverse"),
    "t-closeness": lambda folder: grouped_clinic.publish(folder, "linked", report=True),
    "sample": lambda folder: sample_clinic.publish(folder, changes={"release.rare": "drop"}, rare=4, report=True),
    "centroids": lambda folder: centroid_clinic.publish(folder, {"release.k": 30}, report=True),
    "boxes": lambda folder: box_clinic.publish(folder, report=True),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip(ABSENT)
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield running
        running.close()


def faults_of(browser: playwright.Browser, path: Path) -> list[str]:
    """Everything that is wrong with a page."""
    found: list[str] = []
    page = browser.new_page()
    page.route(re.compile("^(?!file:)"), lambda route: route.abort())
    page.on("request", lambda one: None if one.url.startswith("file:") else found.append(f"asks for {one.url}"))
    page.on("console", lambda said: found.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    page.goto(path.as_uri())
    found += [f"has no words: {one}" for one in page.evaluate(UNNAMED)]
    for name, (width, medium) in VIEWS.items():
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media=medium)
        over = page.evaluate(TOO_WIDE)
        if over:
            found.append(f"{over} pixels too wide for the {name}")
    page.close()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_pages_of_every_kind_of_release_are_sound(browser, tmp_path, kind):
    made = KINDS[kind](tmp_path)
    pages = [made.custodian_folder / "report.html", made.folder / "certificate.html"]
    if kind in ("safe-k", "synthetic"):
        pages += [made.folder / "README.html", made.folder / "codebook.html", tmp_path / "plan.html"]
        planned = clinic.planned() if kind == "safe-k" else plan(noisy_clinic.policy(kind))
        pages[-1].write_text(plan_page(planned), encoding="utf-8")
    assert {path.name: faults_of(browser, path) for path in pages} == {path.name: [] for path in pages}


def test_the_page_of_a_comparison_is_sound(browser, tmp_path):
    table, page = clinic.write_table(tmp_path / "table.csv", 100), tmp_path / "compared.html"
    coarse = clinic.policy({"release": {"method": "k-anonymity", "k": 5}, "budget": None})
    policies = {"x" * 60: clinic.policy(), "<b onclick=alert(1)>": coarse, "microaggregation": coarse}
    page.write_text(compare_methods(policies, table, seed=1, full=False).page(), encoding="utf-8")
    assert faults_of(browser, page) == []


def test_no_table_of_a_comparison_with_attacks_scrolls_on_a_screen(browser, tmp_path):
    table, page = clinic.write_table(tmp_path / "table.csv", 60), tmp_path / "compared.html"
    coarse = clinic.policy({"release": {"method": "k-anonymity", "k": 5}, "budget": None})
    found = compare_methods({"microaggregation": coarse, "safe-k": clinic.policy()}, table, seed=1)
    page.write_text(found.page(), encoding="utf-8")
    shown = browser.new_page(viewport={"width": 1280, "height": 900})
    shown.goto(page.as_uri())
    over = shown.evaluate(
        "() => [...document.querySelectorAll('.scroll')].map(one => one.scrollWidth - one.clientWidth)"
    )
    shown.close()
    assert len(over) >= 4
    assert max(over) == 0


@pytest.mark.parametrize("columns", [10, 28])
def test_the_page_of_an_assessment_is_sound(browser, tmp_path, columns):
    names = ["x" * 100, "<b onclick=alert(1)>\u202eevil", *(f"attribute number {i}" for i in range(columns - 2))]
    page = tmp_path / "assessment.html"
    page.write_text(assessment_page(assessed(names, control=500), names[0], names[1]), encoding="utf-8")
    assert faults_of(browser, page) == []


def test_names_that_are_long_hostile_or_many_are_not_cut(browser, tmp_path):
    """A table of fourteen columns of text, names of a hundred letters without a gap, and markup in the place of a name."""
    names = ["x" * 100, "<b onclick=alert(1)>\u202eevil", *(f"attribute number {i}" for i in range(12))]
    wide = DataTable(heads(names, ["rows"]), [[*names, "1,234,567"]] * 3)
    bars = BarTable(
        names[0], ("by clustering", "by noise", "in all"), [BarPair(name, 1, 2, ("1 %",) * 3) for name in names]
    )
    drawing = draw_histograms([1, 2], [2, 1], (names[0], names[1]), names[0], names[1])
    blocks = [
        Words(names[0]),
        FactList([(names[0], *names[:2])]),
        wide,
        bars,
        Figure([drawing, drawing], names[0], wide),
    ]
    fields = ("title", "mark", "dataset", "lead", "sentence", "footer")
    page = tmp_path / "report.html"
    opening = {**dict.fromkeys(fields, names[0]), "cautions": names}
    page.write_text(
        section_page(opening, [Section(name, blocks, level) for name, level in zip(names[:2], (2, 3), strict=True)])
    )
    assert faults_of(browser, page) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<img alt="x" src="http://example.invalid/x.png">', "asks for http://example.invalid/x.png"),
        ("<script>console.error('a fault')</script>", "a fault"),
        ('<svg viewBox="0 0 1 1"><title>x</title></svg>', "has no words"),
        ('<div style="width: 500px">x</div>', "pixels too wide for the telephone"),
        ("<style>@media print { p { width: 50rem } }</style><p>x</p>", "pixels too wide for the paper"),
    ],
)
def test_a_fault_is_noticed(browser, tmp_path, body, fault):
    page = tmp_path / "page.html"
    page.write_text(f'<!doctype html><meta name="viewport" content="width=device-width">{body}', encoding="utf-8")
    assert any(fault in each for each in faults_of(browser, page))
