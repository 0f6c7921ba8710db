"""Of what a model found, only names that stand in their evidence are taken, in a form that can be used."""

import json
from typing import Any

from tests.every import every
from vault_memory.rules.facts import found_entities
from vault_memory.rules.facts.found_entities import FoundEntity, read_entities, read_verdicts

EVIDENCE = {"t1": "Bo Lindqvist\nowns the Petrel, a boat. Bo sails.", "t2": "我和小明去上海"}


def read(*rows: Any) -> list[FoundEntity]:
    return read_entities(json.dumps({"entities": rows}), EVIDENCE, key="turn")


def test_an_entity_is_read_with_its_type_its_aliases_and_its_evidence() -> None:
    row = {"name": " Bo  Lindqvist", "type": " Person", "aliases": ["Bo"], "turn": "[t1]"}

    assert read(row) == [FoundEntity("Bo Lindqvist", "person", ("Bo",), "t1")]


@every(
    "row",
    [
        "Bo",
        {"name": "Bo"},
        {"name": "Bo", "turn": "t9"},
        {"name": "Ann", "turn": "t1"},
        {"name": "Lind", "turn": "t1"},
        {"name": "bo", "turn": "t1"},
        {"name": "boat", "turn": "t1"},
        {"name": "", "turn": "t1"},
        {"name": 7, "turn": "t1"},
        {"name": "小红", "turn": "t2"},
    ],
)
def test_what_is_no_name_in_its_evidence_is_left_out(row: Any) -> None:
    assert read(row, {"name": "Petrel", "turn": "t1"}) == [FoundEntity("Petrel", "other", (), "t1")]


def test_a_name_without_blanks_around_it_is_found_in_a_script_without_them() -> None:
    assert read({"name": "小明", "type": "person", "turn": "t2"})[0].name == "小明"


def test_an_alias_is_another_name_that_stands_there_too_and_comes_once() -> None:
    aliases = ["Bo", "Bo", "BO LINDQVIST", "Bosse", 3, "Petrel"]
    [entity] = read({"name": "Bo Lindqvist", "aliases": aliases, "turn": "t1"})

    assert entity.aliases == ("Bo", "Petrel")
    [entity] = read({"name": "Petrel", "aliases": "Bo", "turn": "t1"})
    assert entity.aliases == ()


def test_an_answer_that_repeats_itself_fills_no_page() -> None:
    text = " ".join(f"Name{number}" for number in range(300))
    rows = [{"name": f"Name{number}", "turn": "t"} for number in range(300)]
    many = [f"Name{number}" for number in range(1, 20)]
    rows[0]["aliases"] = many  # type: ignore[assignment]

    found = read_entities(json.dumps({"entities": rows}), {"t": text}, key="turn")

    assert len(found) == found_entities.MOST_ENTITIES
    assert found[0].aliases == tuple(many[: found_entities.MOST_ALIASES])
    long = "A" * found_entities.LONGEST_NAME
    assert [
        len(
            read_entities(
                json.dumps({"entities": [{"name": name, "turn": "t"}]}), {"t": name}, key="turn"
            )
        )
        for name in (long, long + "A")
    ] == [1, 0]


@every("answer", ["", "no", '{"entities": 3}', '{"entities": {"name": "Bo"}}', "[]"])
def test_an_answer_of_another_form_has_no_entities(answer: str) -> None:
    assert read_entities(answer, EVIDENCE, key="turn") == []


def test_verdicts_are_those_of_pairs_that_were_asked_about_and_affirmed() -> None:
    rows = [
        {"pair": "p1", "contradict": "Yes "},
        {"pair": "p2", "contradict": "no"},
        {"pair": "p3", "contradict": "yes"},
        {"pair": 4, "contradict": "yes"},
        "p5",
        {"pair": "p6"},
    ]
    answer = "<think>p2?</think>Here: " + json.dumps({"verdicts": rows})

    assert read_verdicts(answer, ["p1", "p2", "4", "p5", "p6"]) == {"p1", "4"}
    assert read_verdicts('{"verdicts": "yes"}', ["p1"]) == frozenset()
    assert read_verdicts("", ["p1"]) == frozenset()
