"""What was done in ARX and sdcMicro comes along: hierarchy files by name, project files, lists of key variables."""

from __future__ import annotations

import json
import zipfile

import pytest

from shoal.data.schema import Role
from shoal.data.type import Type
from shoal.draft.existing import date_signs, match_hierarchies, read_settings
from shoal.errors import UsageError


def put(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


SEX = "male;*\nfemale;*\n"


def test_hierarchy_files_are_matched_by_name(tmp_path):
    age = "1;0-9;*\n2;0-9;*\n"
    files = {"adult_hierarchy_age": age, "SEX": SEX, "notes": SEX, "adult_hierarchy_marital-status": SEX}
    folder = put(tmp_path / "h", **files)
    found = match_hierarchies(folder, ["age", "sex", "status", "marital-status", "native-country"])
    assert {name: place for name, (_, place) in found.items()} == {
        "age": "adult_hierarchy_age.csv",
        "sex": "SEX.csv",
        "marital-status": "adult_hierarchy_marital-status.csv",
    }
    assert found["age"][0] == (("1", "0-9", "*"), ("2", "0-9", "*"))


def test_a_file_of_the_very_name_comes_first(tmp_path):
    folder = put(tmp_path / "h", a_sex="x;*\n", sex=SEX, z_sex="y;*\n")
    assert match_hierarchies(folder, ["sex"])["sex"][1] == "sex.csv"


def test_commas_and_quotes_are_read(tmp_path):
    folder = put(tmp_path / "h", job='"cook, chef",service,*\nclerk,office,*\n')
    assert match_hierarchies(folder, ["job"])["job"][0][0] == ("cook, chef", "service", "*")


def test_the_shared_tables_find_all_their_hierarchies(shared_data):
    for name in ("adult", "fars_subset"):
        table = next((shared_data / name).glob("*.csv"))
        names = table.read_text().partition("\n")[0].replace(",", ";").split(";")
        folder = shared_data / name / "hierarchies"
        assert len(match_hierarchies(folder, names)) == len(list(folder.glob("*.csv")))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a_sex": SEX, "b_sex": SEX}, "two hierarchy files may be meant"),
        ({"a-sex": SEX, "a_sex": SEX}, "two hierarchy files have its name"),
        ({"sex": "male;*\nfemale\n"}, "as many labels for each value"),
        ({"sex": ""}, "as many labels for each value"),
    ],
)
def test_files_that_leave_a_doubt_are_refused(tmp_path, files, words):
    with pytest.raises(UsageError, match=words):
        match_hierarchies(put(tmp_path / "h", **files), ["sex"])


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        match_hierarchies(tmp_path / "none", ["sex"])


# --- ARX projects -------------------------------------------------------------------------------------------------------

DEFINITION = """<definition>
 <assigment><name>name</name><type>IDENTIFYING_ATTRIBUTE</type><datatype>String</datatype></assigment>
 <assigment><name>age</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>Integer</datatype>
  <ref>hierarchies/age.csv</ref><min>All</min><max>All</max></assigment>
 <assigment><name>seen</name><type>INSENSITIVE_ATTRIBUTE</type><datatype>Date/Time</datatype><format>dd.MM.yyyy</format></assigment>
 <assigment><name>a &amp; b</name><type>SENSITIVE_ATTRIBUTE</type><datatype>String</datatype></assigment>
</definition>"""


def project(path, definition=DEFINITION, **more):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.xml", "<metadata><version>3.9.1</version></metadata>")
        archive.writestr("project.xml", "<project><name>x</name><separator>,</separator></project>")
        archive.writestr("data/input.csv", "name,age\nAda,36\n")
        archive.writestr("input/hierarchies/age.csv", '36,"30-39",*\n37,"30-39",*\n')
        if definition is not None:
            archive.writestr("input/definition.xml", definition)
        for name, content in more.items():
            archive.writestr(name, content)
    return path


def test_an_arx_project_gives_roles_types_and_hierarchies(tmp_path):
    found = read_settings(project(tmp_path / "work.deid"))
    assert found.roles == {
        "name": Role.IDENTIFIER,
        "age": Role.QUASI,
        "seen": Role.OTHER,
        "a & b": Role.CONFIDENTIAL,
    }
    assert found.types == {"name": Type.CATEGORY, "age": Type.INTEGER, "seen": Type.DATE, "a & b": Type.CATEGORY}
    assert found.formats == {"seen": "%d.%m.%Y"}
    assert found.hierarchies["age"] == (
        (("36", "30-39", "*"), ("37", "30-39", "*")),
        "work.deid: input/hierarchies/age.csv",
    )
    assert found.codebook.get("seen").format == "%d.%m.%Y"
    assert found.unit is None


def test_what_an_arx_project_says_in_other_words_is_noted(tmp_path):
    other = DEFINITION.replace(
        "SENSITIVE_ATTRIBUTE</type><datatype>String</datatype></assigment>\n</d", "NEW_KIND</type></assigment>\n</d"
    )
    found = read_settings(project(tmp_path / "a.deid", other.replace("dd.MM.yyyy", "w yyyy")))
    assert "a & b" not in found.roles
    assert [note.partition(":")[0] for note in found.notes] == ["'seen'", "'a & b'"]


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (None, "holds no settings of attributes"),
        ("<definition/>", "gives no attribute a type"),
        ("<definition", "should be XML is not"),
        ('<!DOCTYPE d [<!ENTITY a "b">]><definition/>', "entity"),
    ],
)
def test_an_arx_project_that_cannot_be_read(tmp_path, definition, words):
    with pytest.raises(UsageError, match=words):
        read_settings(project(tmp_path / "a.deid", definition))


def test_a_file_that_is_no_project(tmp_path):
    (tmp_path / "a.deid").write_bytes(b"PK\x03\x04 no")
    for name in ("a.deid", "none.deid"):
        with pytest.raises(UsageError, match="the ARX project cannot be read"):
            read_settings(tmp_path / name)


def test_a_file_of_a_project_that_bursts_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.draft.existing.LARGEST_HIERARCHY", 1000)
    with pytest.raises(UsageError, match="too large"):
        read_settings(project(tmp_path / "a.deid", DEFINITION + " " * 100_000))


def test_dates_of_java_are_said_in_our_signs():
    assert date_signs("yyyyMMdd") == "%Y%m%d"
    assert date_signs("MMM d, yyyy h:mm a") == "%b %d, %Y %I:%M %p"
    assert date_signs("yyyy'Q'") is None


# --- lists ----------------------------------------------------------------------------------------------------------------

WANTED = {
    "age": Role.QUASI,
    "sex": Role.QUASI,
    "income": Role.QUASI,
    "illness": Role.CONFIDENTIAL,
    "w": Role.WEIGHT,
    "house": Role.IDENTIFIER,
}
SDC = {
    "keyVars": ["age", "sex"],
    "numVars": "income",
    "sensibleVar": ["illness"],
    "weightVar": "w",
    "hhId": "house",
    "strataVar": None,
    "pramVars": {},  # NULL in R, as jsonlite writes it
    "kAnon": 3,
}
SDC_CSV = "variable,role\nage,keyVars\nsex,keyVars\nincome,numVars\nillness,sensibleVar\nw,weightVar\nhouse,hhId\n"


@pytest.mark.parametrize(("name", "text"), [("sdc.json", json.dumps(SDC)), ("sdc.csv", SDC_CSV)])
def test_key_variables_of_sdcmicro_give_roles_and_the_unit(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = read_settings(tmp_path / name)
    assert found.roles == WANTED
    assert found.unit == "house"
    assert "household" in found.notes[0]
    passed_over = [note for note in found.notes if "kAnon" in note]
    assert len(passed_over) == (name == "sdc.json")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "attribute;type\nage;QUASI_IDENTIFYING_ATTRIBUTE\nname;Identifying\nill;sensitive\nx;\n"),
        ("a.json", '{"age": "QUASI_IDENTIFYING_ATTRIBUTE", "name": "IDENTIFYING", "ill": "confidential"}'),
        (
            "b.json",
            '{"attributes": {"age": {"type": "quasi"}, "name": {"role": "id"}, "ill": {"attributeType": "sensitive"}}}',
        ),
        (
            "c.json",
            '[{"name": "age", "role": "key"}, {"name": "name", "role": "id"}, {"name": "ill", "type": "sensitive"}]',
        ),
    ],
)
def test_attribute_types_of_arx_give_roles(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_settings(tmp_path / name).roles == {
        "age": Role.QUASI,
        "name": Role.IDENTIFIER,
        "ill": Role.CONFIDENTIAL,
    }


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "x,y\n", "no head that names columns"),
        ("a.csv", "", "no head that names columns"),
        ("a.csv", "variable,role\nage,secret\n", "a role that is not known; got secret"),
        ("a.csv", "variable,role\nage,keyVars\nage,sensibleVar\n", "gives? it two roles"),
        ("a.csv", "variable,role\n", "name no column"),
        ("a.csv", "variable,role\na,hhId\nb,hhId\n", "two columns whose rows belong together"),
        ("a.json", "{", "are no JSON"),
        ("a.json", '{"x": 1}', "no settings that are known"),
        ("a.json", '{"keyVars": [1, 2]}', "by their numbers"),
        ("a.txt", "x", "of an unknown kind"),
    ],
)
def test_settings_that_cannot_be_read(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=words):
        read_settings(tmp_path / name)
