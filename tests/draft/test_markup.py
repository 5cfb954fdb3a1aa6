"""XML of strangers: what it says is read, and what it could do is refused."""

from __future__ import annotations

import pytest

from shoal.draft.markup import DEEPEST, read_markup
from shoal.errors import UsageError


def test_elements_are_found_by_their_names_whatever_their_namespace():
    root = read_markup(
        b'<a xmlns="ddi:codebook:2_5" xml:lang="en"><b n="1"> one\n two </b><c><b n="2"/></c></a>', "x.xml"
    )
    assert (root.name, root.attributes) == ("a", {"lang": "en"})
    assert root.text_of("b") == "one two"
    assert root.text_of("c") is root.text_of("d") is None
    assert [each.attributes["n"] for each in root.below("b")] == ["1", "2"]
    assert [each.attributes["n"] for each in root.all("b")] == ["1"]


def test_data_sections_and_known_signs_are_text():
    assert read_markup(b"<a><b><![CDATA[1 < 2]]> &amp; &#65;</b></a>", "x").text_of("b") == "1 < 2 & A"


@pytest.mark.parametrize(
    "content",
    [
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<!DOCTYPE a [<!ENTITY x "y">]><a/>',
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        b'<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1/x.dtd"> %x;]><a/>',
        b'<!DOCTYPE a SYSTEM "http://127.0.0.1/x.dtd"><a>&x;</a>',
    ],
)
def test_entities_are_refused(content):
    with pytest.raises(UsageError, match="entity"):
        read_markup(content, "x.xml")


def test_a_document_type_that_is_only_named_is_passed_over():
    assert read_markup(b'<!DOCTYPE a SYSTEM "http://127.0.0.1/x.dtd"><a/>', "x.xml").name == "a"


def test_what_nests_too_deep_is_refused():
    with pytest.raises(UsageError, match="too deep"):
        read_markup(b"<a>" * (DEEPEST + 2) + b"</a>" * (DEEPEST + 2), "x.xml")


@pytest.mark.parametrize("content", [b"", b"no", b"<a>", b"<a></b>", b"\xff\xfe<", b"<a/><a/>"])
def test_what_is_no_xml_is_said_to_be_none(content):
    with pytest.raises(UsageError, match="should be XML is not"):
        read_markup(content, "x.xml")
