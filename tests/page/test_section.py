"""A page of sections shows every kind of block: a table under every figure, every name literally, and nothing that acts."""

from __future__ import annotations

import re

from shoal.page.html import section_page
from shoal.page.section import (
    BarPair,
    BarTable,
    BulletList,
    ColumnHead,
    DataTable,
    FactList,
    Figure,
    Section,
    WarningList,
    Words,
    heads,
)
from shoal.page.svg import draw_histograms
from tests.publish.reading import Page

HOSTILE = '<img src="http://example.org/x" onerror=alert(1)> \u202eevil\u202c {{ 7 * 7 }} & "quoted"'
ESCAPED = "&lt;img src=&#34;http://example.org/x&#34; onerror=alert(1)&gt; \u202eevil\u202c {{ 7 * 7 }} &amp; &#34;quoted&#34;"
OPENING = {
    "title": HOSTILE,
    "mark": "for the custodian",
    "dataset": HOSTILE,
    "lead": "made today",
    "sentence": "what is promised",
    "cautions": [HOSTILE],
    "footer": "the end",
}


def shown(*blocks, title="A section"):
    page = section_page(OPENING, [Section(title, blocks)])
    assert Page(page).faults == []
    return page


def test_every_block_shows_hostile_names_literally():
    table = DataTable([ColumnHead(HOSTILE, note=HOSTILE)], [[(HOSTILE, HOSTILE)], [HOSTILE]], frozenset({1}))
    bars = BarTable(HOSTILE, (HOSTILE, "after"), [BarPair(HOSTILE, 0.5, 1.0, (HOSTILE, "2"))])
    drawing = draw_histograms([1, 2], [2, 1], (HOSTILE, "b"), HOSTILE, HOSTILE)
    page = shown(
        Words(HOSTILE),
        FactList([(HOSTILE, HOSTILE, HOSTILE)]),
        BulletList([HOSTILE]),
        WarningList([HOSTILE]),
        table,
        bars,
        Figure([drawing], HOSTILE, table),
        title=HOSTILE,
    )
    assert "<img" not in page
    assert page.count(f"<bdi>{ESCAPED}</bdi>") >= 9  # the dataset, the title, and every cell, head, label and fact
    assert Page(page).text.count("evil") >= 20


def test_a_table_has_a_head_numbers_and_a_row_in_bold():
    page = shown(
        DataTable(
            heads(["name"], ["loss"], ["why"]), [("age", "1 %", ""), ("pay", ("2 %", "or so"), "noise")], frozenset({1})
        )
    )
    assert '<th scope="col" class="number"><bdi>loss</bdi></th>' in page
    assert (
        '<tr class="chosen"><td><bdi>pay</bdi></td><td class="number"><bdi>2 %</bdi><small>or so</small></td>' in page
    )


def test_bars_are_as_long_as_their_amounts_and_are_named_by_their_columns():
    bars = BarTable(
        "label", ("before", "after"), [BarPair("a", 1, 4, ("1", "4")), BarPair("b", 2, 0, ("2", "0"), rest=True)]
    )
    page = shown(bars)
    assert re.findall(r'<rect width="([\d.]+)%"/>', page) == ["25", "100", "50", "0"]
    assert '<tr class="rest">' in page
    assert page.count('class="swatch"') == 2
    assert BarTable("label", ("before", "after"), [BarPair("a", 0, 0, ())]).widths(BarPair("a", 0, 0, ())) == ("0", "0")


def test_under_every_figure_stands_its_table():
    table = DataTable(heads(["bin"], ["before"]), [("0 to 1", "3")])
    page = shown(Figure([draw_histograms([3], [3], ("0", "1"), "age", "words of the drawing")], "a caption", table))
    assert 'role="img" aria-label="words of the drawing"' in page
    assert page.index("<figcaption>a caption</figcaption>") < page.index("<bdi>0 to 1</bdi>")


def test_a_section_of_level_three_has_its_heading():
    page = section_page(OPENING, [Section("outer", []), Section("inner", [Words("said", quiet=True)], level=3)])
    assert "<h2><bdi>outer</bdi></h2>" in page
    assert "<h3><bdi>inner</bdi></h3>" in page
    assert '<p class="quiet">said</p>' in page
    assert Page(page).faults == []
