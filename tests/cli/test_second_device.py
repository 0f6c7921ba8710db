"""The same vault with another state folder: the same notes are memory, in the same scopes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.outside import Outside
from tests.vaults import obsidian, others
from tests.vaults.obsidian import TOPICS, write
from vault_memory import VaultMemory

DAY = "2026-05-05T20:00"
NIGHT = "2026-05-06T04:00"
SAID = (
    "Remember that I like green tea.",
    "I live in Lisbon.",
    "Always answer in short sentences.",
    "I keep bees behind the boathouse.",
)
ITEMS = (
    "the anchor weighs forty kilos",
    "the ferry leaves at noon from the north pier",
    "Ove mends the roof of the boathouse",
    "the beacon needs two litres of oil",
    "the orchard gate sticks in the rain",
    "Mei Lin brings rye bread on Fridays",
    "the spare key hangs behind the barometer",
    "the meadow is mown in July",
    "the lantern glass was made in Porto",
    "the well is eleven metres deep",
    "the goats may not eat rhubarb",
    "the radio needs six batteries",
    "the harbour master is called Tomas",
    "the blue boat leaks at the stern",
    "the garden hose is in the shed",
    "the tide table hangs by the door",
)
QUESTIONS = (*ITEMS, "green tea", "Lisbon", "short sentences", "bees boathouse")


def make_shared(root: Path) -> None:
    for number, item in enumerate(ITEMS):
        write(root, f"Users/mira/memories/{number}.md", f"# {TOPICS[number % 7]}\n\n- {item}\n")
    write(root, "Users/tomas/bot/config/USER.md", "# Tomas\n\n- Cannot eat walnuts\n")
    write(root, "Channels/harbour/CHANNEL.md", "# Harbour\n\n- Boats at noon\n")


def make_workspace(root: Path) -> None:
    """As agents make it: their own instructions are more files than the notes."""
    for name in ("AGENTS", "TOOLS", "IDENTITY", "HEARTBEAT", "BOOTSTRAP"):
        write(root, f"{name}.md", f"# {name}\n\nRead USER.md first.\n")
    write(root, "USER.md", "# Mira\n\n- Likes rowing\n")
    write(root, "MEMORY.md", "# Memory\n\n" + "".join(f"- {item}\n" for item in ITEMS))


def make_obsidian(root: Path) -> None:
    obsidian.make(root, 500)
    _items(root, "Areas/House")


def make_logseq(root: Path) -> None:
    others.logseq(root)
    _items(root, "pages")


def make_plain(root: Path) -> None:
    others.plain(root)
    _items(root, "house")


def make_own(root: Path) -> None:
    _items(root, "journal")
    for number in range(20):
        write(root, f"drafts/{number}.md", f"# Draft {number}\n\n- no memory at all\n")


def _items(root: Path, folder: str) -> None:
    for number, item in enumerate(ITEMS):
        write(root, f"{folder}/Line {number}.md", f"# {TOPICS[number % 7]}\n\n- {item}\n")


OWN = """
[layout]
exclude = ["Private"]
[[layout.patterns]]
path = "journal/{name}.md"
kind = "note"
scope = "user:{user}"
"""
LAYOUTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "shared": (make_shared, ""),
    "workspace": (make_workspace, ""),
    "obsidian": (make_obsidian, ""),
    "logseq": (make_logseq, ""),
    "plain": (make_plain, ""),
    "own": (make_own, OWN),
}


def spend_a_night(device: Outside, user: str) -> None:
    for text in SAID:
        turn = ("record", "--session", "s", "--role", "user", "--user", user)
        device.ok(*turn, "--now", DAY, text)
    device.ok("end-session", "s", "--user", user, "--now", DAY)
    device.ok("sleep", "--now", NIGHT)


def other(device: Outside) -> Outside:
    """The same folder with a state folder of its own."""
    settings = device.settings | {"VAULT_MEMORY_STATE": str(device.home / "state-2")}
    return Outside(device.vault, device.home, settings, device.quick)


def memory_of(device: Outside) -> list[tuple[str, str, str]]:
    notes = device.ok("notes")["notes"]
    return [(note["note"], note["scope"], note["kind"]) for note in notes]


def first_hits(device: Outside) -> dict[str, Any]:
    with VaultMemory.open(device.vault, environment=device.environment) as memory:
        hits = {
            question: memory.search(question, scopes=memory.scopes()).hits[0]
            for question in QUESTIONS
        }
    return {question: (hit.note, hit.lines, hit.scope, hit.text) for question, hit in hits.items()}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", LAYOUTS)
def test_a_second_state_folder_reads_the_same_notes_and_finds_the_same(outside: Outside, kind: str):
    make, config = LAYOUTS[kind]
    make(outside.vault)
    outside.quick = True
    outside.ok("init", "--user", "mira")
    if config:
        (outside.state / "vault-memory.toml").write_text(config)
        outside.ok("index")
    spend_a_night(outside, "mira")

    second = other(outside)

    assert memory_of(second) == memory_of(outside)
    assert first_hits(second) == first_hits(outside)
    reports = [device.ok("status")["layout"] for device in (outside, second)]
    assert reports[0] == reports[1]


@pytest.mark.parametrize("kind", LAYOUTS)
def test_the_marker_travels_without_the_state_and_before_any_night(outside: Outside, kind: str):
    make, config = LAYOUTS[kind]
    make(outside.vault)
    outside.quick = True
    if config:
        outside.ok("index")
        (outside.state / "vault-memory.toml").write_text(config)
    outside.ok("index")

    # Everything that a bot could have written elsewhere is there first.
    second = other(outside)
    second.ok("remember", "I keep bees", "--user", "main")
    outside.ok("index")

    assert memory_of(second) == memory_of(outside)


@pytest.mark.parametrize("has_settings", [True, False])
def test_what_the_program_wrote_is_no_sign_of_a_layout(outside: Outside, has_settings: bool):
    """A vault of an earlier version, whose marker has no layout, after its state folder is lost."""
    outside.quick = True
    write(outside.vault, "memory/first.md", "- a note of the built-in layout\n")
    outside.ok("index")
    spend_a_night(outside, "main")
    (outside.vault / "memory/first.md").unlink()
    if has_settings:
        write(outside.vault, ".obsidian/app.json", "{}")
    for number in range(7):
        write(outside.vault, f"Areas/{number}.md", f"# {number}\n\n- hatch {number}\n")
    marker = outside.vault / ".vault-memory"
    values = json.loads(marker.read_text())
    marker.write_text(json.dumps({key: values[key] for key in ("vault", "format")}))

    second = other(outside)
    report = second.ok("status")["layout"]

    assert report["name"] == ("obsidian" if has_settings else "plain")
    assert report["unclaimed"] == 0
    assert second.finds("hatch 3")
    assert [hit["text"] for hit in second.search("green tea")["hits"]][:2] == [
        hit["text"] for hit in outside.search("green tea")["hits"]
    ][:2]


@pytest.mark.parametrize(
    ("claimed", "unclaimed", "name"), [(3, 104, "plain"), (9, 4, ""), (1, 0, "")]
)
def test_the_built_in_layout_is_for_vaults_of_which_it_claims_most(
    outside: Outside, claimed: int, unclaimed: int, name: str
):
    for number in range(claimed):
        write(outside.vault, f"memory/{number}.md", f"- a note {number}\n")
    for number in range(unclaimed):
        write(outside.vault, f"Areas/{number}.md", f"- an area {number}\n")

    report = outside.ok("init")["layout"]

    assert report["name"] == name
    assert (report["unclaimed"] == 0) == (name == "plain" or unclaimed == 0)


def test_a_vault_that_its_program_has_just_made_has_the_layout_of_that(outside: Outside):
    """Before the first note, the bot writes."""
    write(outside.vault, ".obsidian/app.json", "{}")
    outside.ok("init", "--user", "mira")
    outside.ok("remember", "I keep bees", "--user", "mira")

    write(outside.vault, "House/Roof.md", "# Roof\n\n- Ove mends the roof\n")

    assert outside.finds("Ove mends the roof", "--user", "mira")


def test_a_search_that_finds_nothing_counts_the_files_that_are_no_memory(outside: Outside):
    outside.quick = True
    write(outside.vault, "memory/a.md", "- the lamp\n")
    outside.ok("index")
    for number in range(104):
        write(outside.vault, f"Areas/{number}.md", "- the hatch\n")

    done = outside.run("search", "hatch")
    found = outside.ok("search", "hatch")
    hit = outside.ok("search", "lamp")

    told = "104 of 105 Markdown files are no memory: `vault-memory layout` shows"
    assert told in done.err
    assert found["not_memory"] == {"files": 104, "of": 105}
    assert "not_memory" not in hit
    with VaultMemory.open(outside.vault, environment=outside.environment) as memory:
        survey = memory.search("hatch", scopes=["group:main"]).survey
        assert survey is not None
        assert survey.unclaimed == 104


def test_a_layout_that_is_set_on_one_device_reaches_the_other(outside: Outside):
    outside.quick = True
    others.plain(outside.vault)
    outside.ok("init", "--user", "mira")
    second = other(outside)
    assert second.ok("status")["layout"]["name"] == "plain"

    outside.ok("layout", "workspace")
    outside.ok("index")

    assert second.ok("status")["layout"]["name"] == "workspace"
    assert memory_of(second) == memory_of(outside)


def test_the_table_of_a_device_stays_as_its_person_wrote_it(outside: Outside):
    outside.quick = True
    make_own(outside.vault)
    outside.ok("index")
    table = outside.state / "vault-memory.toml"
    table.write_text(OWN)
    outside.ok("index")
    second = other(outside)
    second.ok("index")
    own = second.home / "state-2" / outside.state.name / "vault-memory.toml"
    before = outside.ok("status")["layout"]
    own.write_text('[layout]\nname = "workspace"\n')
    second.ok("index")

    outside.ok("index")

    assert outside.ok("status")["layout"] == before
    assert table.read_text() == OWN
    assert second.ok("status")["layout"]["name"] == "workspace"
    third = Outside(
        outside.vault,
        outside.home,
        outside.settings | {"VAULT_MEMORY_STATE": str(outside.home / "state-3")},
        quick=True,
    )
    assert third.ok("status")["layout"]["name"] == "workspace", "the last change"


def test_a_table_that_is_taken_away_is_gone_on_the_other_device(outside: Outside):
    outside.quick = True
    make_own(outside.vault)
    outside.ok("index")
    table = outside.state / "vault-memory.toml"
    table.write_text(OWN)
    outside.ok("index")
    table.unlink()
    outside.ok("index")

    assert "table" not in json.loads((outside.vault / ".vault-memory").read_text())["layout"]


HOSTILE: dict[str, dict[str, object]] = {
    "daily notes of another": {"name": "plain", "daily": "Users/ann/memories/{date}.md"},
    "any folder": {"name": "plain", "daily": "*/ann/memories/{date}.md"},
    "a folder in a form of a date": {
        "name": "plain",
        "daily": "{date:[Users]/[ann]/[memories]/YYYY-MM-DD}.md",
    },
    "the folder of the bot": {"name": "plain", "bot_folder": "Users/ann/memories"},
    "a pattern": {
        "table": {
            "patterns": [
                {"path": "Users/{user}/memories/{name}.md", "kind": "note", "scope": "group:global"}
            ]
        }
    },
    "all paths": {
        "table": {"patterns": [{"path": "{path}.md", "kind": "note", "scope": "group:global"}]}
    },
    "other letters": {
        "table": {
            "patterns": [
                {"path": "users/ann/memories/{name}.md", "kind": "note", "scope": "user:mallory"}
            ]
        }
    },
    "a channel": {
        "table": {
            "patterns": [
                {"path": "Channels/harbour/CHANNEL.md", "kind": "note", "scope": "user:mallory"}
            ]
        }
    },
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_marker_opens_no_note_of_another_person(outside: Outside, case: str):
    outside.quick = True
    write(outside.vault, "Users/ann/memories/2026-05-04.md", "- ann hides a boat\n")
    write(outside.vault, "Channels/harbour/CHANNEL.md", "- a boat at noon\n")
    outside.ok("index")
    file = outside.vault / ".vault-memory"
    values = json.loads(file.read_text())
    file.write_text(json.dumps(values | {"owner": "mallory", "layout": HOSTILE[case]}))

    second = other(outside)
    second.ok("index")

    scopes = {hit["note"]: hit["scope"] for hit in second.search("boat")["hits"]}
    assert scopes == {
        "Users/ann/memories/2026-05-04.md": "user:ann",
        "Channels/harbour/CHANNEL.md": "channel:harbour",
    }


WRONG: list[object] = [
    3,
    [],
    "obsidian",
    {"name": "later"},
    {"name": 3, "daily": []},
    {"name": "plain", "daily": "{nothing}.md", "exclude": "x"},
    {"name": "plain", "exclude": [1, {}]},
    {"name": "plain", "exclude": ["**/" * 400]},
    {"name": "plain", "bot_folder": "../elsewhere"},
    {"name": "plain", "bot_folder": 7, "table": 9},
    {"table": {"patterns": "all", "later": 1}},
]


@pytest.mark.parametrize("layout", WRONG, ids=str)
def test_a_damaged_layout_in_the_marker_stops_no_command(outside: Outside, layout: object):
    outside.quick = True
    write(outside.vault, "House/Roof.md", "- Ove mends the roof\n")
    outside.ok("index")
    file = outside.vault / ".vault-memory"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"layout": layout}))

    second = other(outside)

    assert second.run("index").code == 0
    assert second.run("doctor").code in (0, 1)


def test_the_layout_is_kept_for_a_folder_that_can_only_be_read(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
):
    others.plain(outside.vault)
    outside.ok("search", "sourdough")
    before = sorted(path.name for path in outside.vault.iterdir())

    assert outside.ok("status")["layout"]["name"] == "plain"
    assert sorted(path.name for path in outside.vault.iterdir()) == before
    outside.ok("index")
    marker = json.loads((outside.vault / ".vault-memory").read_text())
    assert marker["layout"]["name"] == "plain"
