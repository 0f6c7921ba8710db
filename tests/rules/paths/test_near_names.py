"""Which names may be misspellings of one another, and which are those of two people."""

from tests.every import every
from vault_memory.rules.paths.near_names import near_names

MISSPELT = [
    ("mrai", "mira"),
    ("mria", "mira"),
    ("Mira", "mira"),
    ("mira ", "mira"),
    ("ob", "bo"),
    ("bob", "bo"),
    ("anne", "ann"),
    ("harbor", "harbour"),
    ("alexandre", "alexander"),
    ("ánn", "ann"),
]
TWO_PEOPLE = [
    ("al", "bo"),
    ("jo", "bo"),
    ("a", "ab"),
    ("ann", "bob"),
    ("mira", "tomas"),
    ("user1", "user2"),
    ("+4915112345678", "+4915112345679"),
    ("7f3c9a", "7f3c9b1"),
    ("team-1", "team"),
    ("x" * 400, "x" * 399),
]


@every(("name", "other"), MISSPELT)
def test_a_slip_of_the_finger_is_near(name: str, other: str):
    assert near_names(name, ["zebedee", other]) == [other]


@every(("name", "other"), TWO_PEOPLE)
def test_the_names_of_two_people_are_not_near(name: str, other: str):
    assert near_names(name, [other]) == []


def test_the_nearest_name_comes_first():
    assert near_names("marina", ["martina", "marian", "carina", "marinas"])[0] == ("carina")
    assert len(near_names("marina", ["martina", "marian", "carina", "marinas"])) == 3


def test_a_name_is_not_near_itself():
    assert near_names("mira", ["mira"]) == []
