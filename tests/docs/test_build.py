"""The documentation builds without warnings and without a network, and its pages need none."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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
