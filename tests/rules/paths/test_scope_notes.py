"""Where the notes of a person, a channel and a group are, and where missing ones go."""

from datetime import date

from tests.every import every
from vault_memory.rules.paths.layout import Layout, Pattern, Preset
from vault_memory.rules.paths.scope_notes import places_of

LAYOUT = Layout([])
OWNER = f"user:{LAYOUT.user}"
DAY = date(2026, 1, 1)


@every(
    ("scope", "paths", "profile", "facts", "rules", "notes"),
    [
        (
            "channel:h",
            [],
            "Channels/h/CHANNEL.md",
            "Channels/h/FACTS.md",
            "",
            "Channels/h/memories/",
        ),
        ("group:g", [], "groups/g/MEMORY.md", "groups/g/FACTS.md", "", "groups/g/memory/"),
        (
            "group:g",
            ["groups/g/memory.md"],
            "groups/g/memory.md",
            "groups/g/FACTS.md",
            "",
            "groups/g/memory/",
        ),
        ("group:main", [], "MEMORY.md", "FACTS.md", "", "memory/"),
        (
            "user:ann",
            [],
            "Users/ann/bot/config/USER.md",
            "Users/ann/bot/config/FACTS.md",
            "Users/ann/bot/config/RULES.md",
            "Users/ann/memories/",
        ),
        (
            "user:ann",
            ["Users/ben/lantern/config/USER.md"],
            "Users/ann/lantern/config/USER.md",
            "Users/ann/lantern/config/FACTS.md",
            "Users/ann/lantern/config/RULES.md",
            "Users/ann/memories/",
        ),
        (
            "user:ann",
            ["Users/ann/own/config/RULES.md"],
            "Users/ann/own/config/USER.md",
            "Users/ann/own/config/FACTS.md",
            "Users/ann/own/config/RULES.md",
            "Users/ann/memories/",
        ),
        (OWNER, ["USER.md"], "USER.md", "USER.FACTS.md", "RULES.md", "memory/"),
        (OWNER, ["MEMORY.md"], "USER.md", "USER.FACTS.md", "RULES.md", "memory/"),
    ],
)
def test_notes_of_a_scope_stand_together(
    scope: str, paths: list[str], profile: str, facts: str, rules: str, notes: str
) -> None:
    found = places_of(scope, paths, LAYOUT)

    assert (found.profile, found.facts, found.rules, found.notes) == (profile, facts, rules, notes)
    assert found.scope == scope
    if scope.startswith("channel:"):
        assert found.reflections == ""
    else:
        assert found.reflections == f"{notes}reflections/"


def test_a_configured_bot_names_the_folder_of_a_new_person() -> None:
    layout = Layout([], bot="petrel")

    assert places_of("user:ann", ["Users/ben/lantern/config/USER.md"], layout).profile == (
        "Users/ann/petrel/config/USER.md"
    )


def test_the_owner_of_another_programs_vault_has_the_folder_of_the_bot() -> None:
    layout = Layout([], user="mira", preset=Preset(at_root=True, bot_folder="Bot"))

    found = places_of("user:mira", ["USER.md"], layout)
    assert (found.profile, found.facts, found.rules) == (
        "Bot/USER.md",
        "Bot/FACTS.md",
        "Bot/RULES.md",
    )
    assert (found.notes, found.reflections) == ("Bot/memory/", "Bot/memory/reflections/")
    assert found.learning == "Bot/learning/"
    assert places_of("user:ann", [], layout).profile == "Users/ann/bot/config/USER.md"


def test_dated_notes_transcripts_episodes_and_others_are_listed_in_order() -> None:
    paths = [
        "Users/ann/memories/2026-01-02.md",
        "Users/ann/memories/2026-01-01.md",
        "Users/ann/memories/sessions/2026-01-01.md",
        "Users/ann/memories/boats.md",
        "Users/ann/memories/a.md",
        "Users/ann/transcripts/2026-01-03.jsonl",
        "Users/ben/memories/2026-01-01.md",
        "elsewhere.txt",
    ]

    found = places_of("user:ann", paths, LAYOUT)

    assert [path for _, path in found.dated] == [paths[1], paths[0]]
    assert found.episodes == ((DAY, paths[2]),)
    assert found.undated == (paths[4], paths[3])
    assert found.transcripts == ((date(2026, 1, 3), paths[5]),)


def test_the_owner_has_the_dated_notes_of_the_workspace() -> None:
    found = places_of(OWNER, ["USER.md", "memory/2026-01-01.md", "memory/x.md"], LAYOUT)

    assert found.dated == ((DAY, "memory/2026-01-01.md"),)
    assert found.undated == ("memory/x.md",)


def test_the_notes_of_a_day_have_their_names() -> None:
    person, main = places_of("user:ann", [], LAYOUT), places_of("group:main", [], LAYOUT)

    assert person.note_of(DAY) == "Users/ann/memories/2026-01-01.md"
    assert person.episodes_of(DAY) == "Users/ann/memories/sessions/2026-01-01.md"
    assert person.reflection_of(DAY) == "Users/ann/memories/reflections/2026-W01.md"
    assert person.reflection_of(date(2027, 1, 1)).endswith("2026-W53.md")
    assert (person.learning, main.learning) == ("Users/ann/learning/", "learning/")


def test_a_pattern_of_daily_notes_names_those_of_its_person() -> None:
    patterns = [Pattern("Journal/{date}.md", "dated", "user:{user}")]
    layout = Layout(patterns, user="mira")

    assert places_of("user:mira", [], layout).note_of(DAY) == "Journal/2026-01-01.md"
    assert places_of("user:ann", [], layout).note_of(DAY) == "Users/ann/memories/2026-01-01.md"
