"""The unit of privacy: what it is called, how many steps it takes, and what is no unit."""

import pytest

from shoal.errors import UsageError
from shoal.guarantee.unit import ONE_ROW, Unit

ROW = Unit.row("add_remove")


def test_unit_has_no_default_and_speaks():
    with pytest.raises(TypeError):
        Unit.row()
    person = Unit.person("patient", 3, "replace_one")
    assert "at most 3" in person.words()
    assert "'patient'" in person.words()
    assert Unit.from_saved(person.to_saved()) == person
    assert "one row" in ROW.words()
    for wrong in (
        lambda: Unit.row("nearby"),
        lambda: Unit.person("", 1, "add_remove"),
        lambda: Unit.person("p", 0, "add_remove"),
        lambda: Unit("row", "add_remove", "p", 1),
        lambda: Unit("household", "add_remove", None, 1),
    ):
        with pytest.raises(UsageError):
            wrong()


@pytest.mark.parametrize(
    ("rows", "neighbours", "steps", "theorems"),
    [
        (1, "add_remove", 1, ()),
        (3, "add_remove", 3, ("group-privacy",)),
        (1, "replace_one", 2, ("replace-one",)),
        (3, "replace_one", 6, ("group-privacy", "replace-one")),
    ],
)
def test_a_unit_knows_its_steps_and_what_they_rest_on(rows, neighbours, steps, theorems):
    for unit in (Unit.of_rows(rows, neighbours), Unit.person("patient", rows, neighbours)):
        assert (unit.steps, unit.theorems) == (steps, theorems)
        assert unit.is_one_step == (steps == 1)
        assert unit.has_same_steps(Unit.of_rows(rows, neighbours))
        assert not unit.has_same_steps(Unit.of_rows(rows + 1, neighbours))


def test_a_unit_without_a_name_is_for_numbers_and_not_for_files():
    assert Unit.of_rows(1, "add_remove") == ONE_ROW
    several = Unit.of_rows(2, "add_remove")
    assert several.words() == "all rows (at most 2) of one unit, added or removed"
    with pytest.raises(UsageError, match="a person is found by a column"):
        Unit.from_saved(several.to_saved())


def test_a_unit_is_called_by_its_column():
    assert Unit.person("household", 1, "add_remove").words() == "the row of one 'household', added or removed"
    assert Unit.person("household", 2, "replace_one").rows == "all rows (at most 2) of one 'household'"
