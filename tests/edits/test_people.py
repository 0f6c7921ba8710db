"""Two people of a vault have names that a reader can tell apart."""

from pathlib import Path

import pytest

from vault_memory.edits.people import NameTaken, people_in, refuse_twin, twins
from vault_memory.rules.paths.layout import Layout

LOOKALIKES = ["Ann", "ANN", "ann ", "a\u200bnn", "ａｎｎ"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("ann", "ben"):
        (tmp_path / "Users" / name).mkdir(parents=True)
    (tmp_path / "Users" / "list.txt").touch()
    return tmp_path


def test_people_are_those_with_a_folder(root: Path) -> None:
    assert people_in(root) == ["ann", "ben"]
    assert people_in(root / "nowhere") == []


@pytest.mark.parametrize("name", LOOKALIKES)
def test_a_new_name_that_reads_like_another_is_refused(root: Path, name: str) -> None:
    with pytest.raises(NameTaken) as taken:
        refuse_twin(name, root, Layout())

    assert taken.value.details == {"name": name, "other": "ann"}


@pytest.mark.parametrize("name", ["", "ann", "anna", "carl"])
def test_another_name_and_a_person_who_is_there_may_stay(root: Path, name: str) -> None:
    refuse_twin(name, root, Layout())


def test_the_person_of_the_vault_has_no_twin_and_may_stay(root: Path) -> None:
    layout = Layout(user="Zoe")

    refuse_twin("Zoe", root, layout)
    with pytest.raises(NameTaken):
        refuse_twin("zoe", root, layout)


@pytest.mark.parametrize("name", LOOKALIKES)
def test_names_that_read_alike_are_a_group(name: str) -> None:
    assert twins(["ben", name, "ann", "ann"]) == [tuple(sorted({name, "ann"}))]
    assert twins(["ann", "ben"]) == []
