"""A public table gives domains: lists of values, ranges of numbers, years of dates; nothing of names and texts."""

from __future__ import annotations

import pytest

from shoal.data.type import Type
from shoal.draft.draft import draft_table
from shoal.draft.opening import open_table
from shoal.draft.population import read_population
from shoal.draft.sources import read_sources
from shoal.errors import ShoalError, UsageError

ROWS = "".join(
    f"n{i},{i % 91},{['f', 'm'][i % 2]},{i % 7 / 2},20{i % 20:02}-03-0{1 + i % 9},{i % 5 + 1:02}\n" for i in range(400)
)


@pytest.fixture
def census(tmp_path):
    path = tmp_path / "census.csv"
    path.write_text("name,age,sex,rate,born,region\n" + ROWS)
    return path


def test_domains_are_those_of_the_public_table(census):
    found = read_population(census)
    assert found.source == "the public table census.csv"
    assert found.get("name") is None
    assert (found.get("age").type, found.get("age").interval) == (Type.INTEGER, ("0", "90"))
    assert (found.get("rate").type, found.get("rate").interval) == (Type.DECIMAL, ("0", "3"))
    assert [each.value for each in found.get("sex").values] == ["f", "m"]
    assert [each.value for each in found.get("region").values] == ["01", "02", "03", "04", "05"]
    assert (found.get("born").type, found.get("born").interval) == (Type.DATE, ("2000-01-01", "2019-12-31"))


def test_only_the_columns_that_are_wanted(census):
    assert [column.name for column in read_population(census, ["sex", "other"]).columns] == ["sex"]


def test_a_table_that_says_nothing_is_refused(census, tmp_path):
    with pytest.raises(UsageError, match="says nothing of the columns that are wanted"):
        read_population(census, ["name", "height"])
    (tmp_path / "empty.csv").write_text("age,sex\n")
    with pytest.raises(UsageError, match="has no rows"):
        read_population(tmp_path / "empty.csv")
    with pytest.raises(ShoalError):
        read_population(tmp_path / "none.csv")


def test_codes_and_words_of_a_scale_are_listed_as_a_draft_of_the_public_table_lists_them(tmp_path):
    """Ones and twos in a column of sexes are no range of whole numbers, and answers keep their order."""
    words = ["often", "never", "sometimes"]
    rows = "".join(f"{i % 2 + 1},{words[i % 3]},{i % 12 + 1},{i % 80}\n" for i in range(300))
    path = tmp_path / "public.csv"
    path.write_text("sex,smoking,wohnort,age\n" + rows)
    found = read_population(path)
    assert (found.get("sex").type, [each.value for each in found.get("sex").values]) == (Type.CATEGORY, ["1", "2"])
    assert found.get("smoking").type is Type.ORDINAL
    assert [each.value for each in found.get("smoking").values] == ["never", "sometimes", "often"]
    assert [each.value for each in found.get("wohnort").values] == [str(each) for each in range(1, 13)]
    assert (found.get("age").type, found.get("age").interval) == (Type.INTEGER, ("0", "79"))
    own = tmp_path / "own.csv"
    own.write_text(
        "sex,smoking,wohnort,age\n"
        + "".join(f"{i % 2 + 1},{words[i % 3]},{i % 4 + 1},{i % 60 + 9}\n" for i in range(90))
    )
    names = ["sex", "smoking", "wohnort", "age"]
    drafted = draft_table(open_table(own), beside=read_sources(names, population=path)[0])
    assert drafted["sex"].type is Type.CATEGORY
    assert drafted["smoking"].domain == ["never", "sometimes", "often"]
    assert drafted["wohnort"].domain_provenance == "declared"  # its groups are those of this table
    assert [drafted[name].provenance for name in ("sex", "smoking", "age")] == ["declared"] * 3
