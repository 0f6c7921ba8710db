"""Settings in JSON are changed in place: what is put in says what was meant, and nothing else of the text moves."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import cases
from vault_memory.addons.hosts.jsonc_edit import append, node_at, put, remove, remove_item
from vault_memory.addons.hosts.jsonc_reader import NotJson, read

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.floats(allow_nan=False, width=16)
    | TEXTS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS | st.just("hooks"), VALUES, max_size=4)
INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])


@st.composite
def object_and_text(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """An object, and how a program or a person could have written it."""
    value = draw(OBJECTS)
    if not isinstance(value.get("hooks", {}), dict):
        value["hooks"] = {"Start": draw(st.lists(VALUES, max_size=3))}
    elif not isinstance(value.get("hooks", {}).get("Start", []), list):
        value["hooks"]["Start"] = []
    text = json.dumps(value, indent=draw(INDENTS), ensure_ascii=draw(st.booleans()))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return value, draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", newline) + draw(
        st.sampled_from(["", newline])
    )


@given(object_and_text())
@settings(max_examples=cases(150))
def test_the_parser_reads_json_correctly(given_: tuple[dict[str, Any], str]) -> None:
    value, text = given_

    assert read(text).plain() == value


@given(object_and_text(), VALUES)
@settings(max_examples=cases(200))
@example(({}, "{}"), 1)
@example(({"hooks": {}}, '{"hooks": {}}'), 1)
@example(({"hooks": {"Start": []}}, '{\n  "hooks": {\n    "Start": []\n  }\n}\n'), {"a": [1]})
@example(({"a": 1}, '{"a":1}'), [])
def test_adding_and_removing_an_item_restores_the_same_bytes(
    given_: tuple[dict[str, Any], str], item: Any
) -> None:
    value, text = given_
    path = ("hooks", "Start")
    missing = [part for part in (path, path[:1]) if node_at(text, part) is None]
    number = len(value.get("hooks", {}).get("Start", []))

    added = append(text, path, item)
    wanted = json.loads(json.dumps(value))
    wanted.setdefault("hooks", {}).setdefault("Start", []).append(item)
    assert json.loads(added.removeprefix("\ufeff")) == wanted
    back = remove_item(added, path, number)
    for part in missing:
        back = remove(back, part)

    assert json.loads(back.removeprefix("\ufeff")) == value
    assert back == text


@given(object_and_text(), TEXTS, VALUES)
@settings(max_examples=cases(100))
def test_setting_a_value_leaves_all_others_unchanged(
    given_: tuple[dict[str, Any], str], key: str, new: Any
) -> None:
    value, text = given_

    assert read(put(text, (key,), new)).plain() == value | {key: new}


@given(object_and_text(), st.data())
@settings(max_examples=cases(100))
def test_a_member_can_be_removed_from_any_position(
    given_: tuple[dict[str, Any], str], data: st.DataObject
) -> None:
    value, text = given_
    key = data.draw(st.sampled_from(sorted(value)) if value else st.just("absent"))

    left = remove(text, (key,))

    assert json.loads(left.removeprefix("\ufeff")) == {
        name: one for name, one in value.items() if name != key
    }


COMMENTED = """\
// mine
{
  model: 'large', // the one that fits
  mcp: {
    /* nothing else yet */
  },
  list: [
    1,
    0x10, // sixteen
  ], // and no more
}
"""


@pytest.mark.parametrize("path", [("mcp", "servers", "x"), ("other",), ("list",)])
def test_comments_and_trailing_commas_survive(path: tuple[str, ...]) -> None:
    is_list = node_at(COMMENTED, path) is not None

    changed = append(COMMENTED, path, {"a": "b"}) if is_list else put(COMMENTED, path, {"a": "b"})
    back = (
        remove_item(changed, path, 2)
        if is_list
        else remove(changed, path[:-1] if len(path) > 2 else path)
    )

    assert [line for line in COMMENTED.splitlines() if line not in changed.splitlines()] == []
    assert read(back).plain() == read(COMMENTED).plain()
    assert back == COMMENTED


def test_the_parser_accepts_json5() -> None:
    text = "{a: .5, 'b': +0x1F, \"c\": 'it\\'s', $d: [Infinity, -2.e1,], /* x */ e: 'l\\\nong', f: '\\x41\\u00e9'}"

    assert read(text).plain() == {
        "a": 0.5,
        "b": 31,
        "c": "it's",
        "$d": [float("inf"), -20.0],
        "e": "long",
        "f": "Aé",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a"}',
        '{"a": }',
        "[1 2]",
        '{"a": 1} x',
        "'open",
        '{"a": "\n"}',
        "{,}",
        "[" * 500,
        "/* open",
    ],
)
def test_invalid_json_is_refused_with_a_line_number(text: str) -> None:
    with pytest.raises(NotJson, match=r"line \d+: expected"):
        read(text)


def test_a_setting_of_an_unexpected_type_is_reported_and_left_alone() -> None:
    with pytest.raises(NotJson, match="`hooks` is not an object"):
        append('{"hooks": []}', ("hooks", "Start"), 1)
    with pytest.raises(NotJson, match=r"`hooks\.Start` is not a list"):
        append('{"hooks": {"Start": {}}}', ("hooks", "Start"), 1)


@given(st.text(alphabet="{}[]:,\"' \\/*\n0a-.", max_size=30))
@settings(max_examples=cases(300))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        read(text)
    except NotJson:
        return
