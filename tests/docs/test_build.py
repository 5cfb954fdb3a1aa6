"""The documentation builds without warnings and without a network, and its pages need none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The documentation, built afresh; a page outside every table of contents is a warning, so an error."""
    out = tmp_path_factory.mktemp("docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(out / "trees")]
    done = subprocess.run([*command, "docs", str(out / "html")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


def test_the_documentation_builds_and_its_pages_need_no_network(built):
    """One test for all that is asked of the pages: a build is slow, and xdist would repeat it."""
    pages = {page.relative_to(built).as_posix(): page.read_text("utf-8") for page in built.rglob("*.html")}
    assert "index.html" in pages
    loaded = r'<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//|<link[^>]*stylesheet[^>]*href="(?:https?:)?//'
    assert not [name for name, text in pages.items() if re.search(loaded, text)]

    assert (built / "_static" / "tex-svg.js").stat().st_size > 1_000_000
    assert "_static/tex-svg.js" in pages["tutorial/planning.html"]
    assert "<pre>12\n</pre>" in re.sub(r"<span[^>]*>|</span>", "", pages["tutorial/planning.html"])
    assert "shoal plan" in pages["reference/cli.html"]
    for module in (ROOT / "src" / "shoal" / "guarantee").glob("[a-z]*.py"):
        assert f"shoal.guarantee.{module.stem}" in pages["reference/guarantee.html"]


def test_pages_share_a_kernel_and_neither_names_nor_folders(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    from patient_cells import SharedKernel

    kernel = SharedKernel()
    tell = "import os; print(os.getpid(), os.path.basename(os.getcwd()), 'left' in globals())"
    printed = {}
    try:
        for name, first_cell in {"first": "left = 1", "second": "other = 2"}.items():
            (tmp_path / name).mkdir()
            page = new_notebook(cells=[new_code_cell(first_cell), new_code_cell(tell)])
            kernel(page, cwd=str(tmp_path / name), allow_errors=False, timeout=-1, record_timing=False)
            printed[name] = page.cells[1].outputs[0].text.split()
        with pytest.raises(CellExecutionError, match="left"):
            kernel(new_notebook(cells=[new_code_cell("left")]), cwd=str(tmp_path), allow_errors=False, timeout=-1)
    finally:
        kernel.stop()
    assert printed["first"] == [printed["second"][0], "first", "True"]
    assert printed["second"][1:] == ["second", "False"]
