"""A new conversation begins with the summary of the one before; old summaries do not crowd recall."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from vault_memory.api.vault_memory import VaultMemory

SCOPES = ["user:ann"]
NOW = datetime(2026, 5, 26, 9, 0, tzinfo=UTC)
FOLDER = "Users/ann/memories/sessions"
ITEM = "- [episode] Asked for the wind at {place}; open: the hotel ({day}, ref:t1, session:{key})\n"


def write(vault: Path, day: str, *headings: str, place: str = "Ostervik") -> None:
    file = vault / FOLDER / f"{day}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    items = (
        f"## {heading}\n\n" + ITEM.format(place=place, day=day, key=f"{number:010x}")
        for number, heading in enumerate(headings)
    )
    file.write_text("\n".join(items))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    write(folder, "2025-05-20", "18:40 tea")
    (folder / "Users/ann/bot/config").mkdir(parents=True)
    (folder / "Users/ann/bot/config/USER.md").write_text("# Ann\n\n- Likes boats\n")
    return folder


def open_vault(folder: Path) -> VaultMemory:
    environment = {
        "VAULT_MEMORY_STATE": str(folder.parent / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    return VaultMemory.open(folder, environment=environment)


def kinds(memory: VaultMemory, prompt: str = "Good morning", **more: object) -> list[str]:
    block = memory.context(prompt, scopes=SCOPES, now=NOW, **more)  # type: ignore[arg-type]
    return [part.kind for part in block.parts]


def test_the_first_turn_gets_the_newest_episode_even_a_year_old(vault: Path) -> None:
    with open_vault(vault) as memory:
        block = memory.context("Good morning", scopes=SCOPES, now=NOW, session="new")
        assert "Asked for the wind at Ostervik" in block.text
        assert "episode" in kinds(memory), "and so it is without a session"


def test_of_a_day_only_the_newest_conversation_is_given(vault: Path) -> None:
    write(vault, "2026-05-25", "20:10 walk", "18:40 tea")
    with open_vault(vault) as memory:
        text = memory.context("Hello", scopes=SCOPES, now=NOW).text
    assert "20:10 walk" in text
    assert "18:40 tea" not in text


def test_later_turns_and_briefings_get_no_episode(vault: Path) -> None:
    with open_vault(vault) as memory:
        turn = {"session": "s1", "user": "ann", "now": NOW}
        memory.record_turn(role="assistant", text="Welcome back", **turn)  # type: ignore[arg-type]
        memory.record_turn(role="user", text="Good morning", **turn)  # type: ignore[arg-type]
        assert "episode" in kinds(memory, session="s1"), "the prompt itself is no turn before"
        assert "episode" not in kinds(memory, "And the tide?", session="s1")
        assert "episode" not in kinds(memory, purpose="briefing")


def test_the_episode_comes_after_the_reflection_and_is_cut_before_it(vault: Path) -> None:
    file = vault / "Users/ann/memories/reflections/2026-W21.md"
    file.parent.mkdir(parents=True)
    file.write_text("## The week\n\n- She sailed a lot\n")
    with open_vault(vault) as memory:
        both = kinds(memory)
        assert both.index("reflection") < both.index("episode")
        whole = memory.context("Good morning", scopes=SCOPES, now=NOW)
        less = kinds(memory, budget=len(whole.text) - 1)
    assert "reflection" in less
    assert "episode" not in less


def test_the_episode_of_another_person_stays_with_that_person(vault: Path) -> None:
    with open_vault(vault) as memory:
        block = memory.context("Good morning", scopes=["user:bob"], now=NOW)
    assert "wind" not in block.text


@pytest.mark.parametrize(
    ("query", "filters", "hits"),
    [
        ("wind at Faro", {}, 0),
        ("wind at Faro in April 2026", {}, 1),
        ("wind at Faro", {"since": datetime(2026, 4, 1).date()}, 1),
        ("wind at Faro", {"until": datetime(2026, 5, 1).date()}, 1),
        ("wind at Faro", {"archived": True}, 1),
    ],
)
def test_an_episode_of_31_days_is_found_only_by_its_day(
    vault: Path, query: str, filters: dict[str, object], hits: int
) -> None:
    (vault / FOLDER / "2025-05-20.md").unlink()
    write(vault, "2026-04-25", "18:40 tea", place="Faro")
    with open_vault(vault) as memory:
        answer = memory.search(query, scopes=SCOPES, now=NOW, **filters)  # type: ignore[arg-type]
        assert len(answer.hits) == hits


def test_an_episode_of_30_days_is_found(vault: Path) -> None:
    write(vault, "2026-04-26", "18:40 tea", place="Faro")
    with open_vault(vault) as memory:
        assert memory.search("wind at Faro", scopes=SCOPES, now=NOW).hits


def test_recall_repeats_no_episode_and_finds_no_old_one(vault: Path) -> None:
    with open_vault(vault) as memory:
        block = memory.context("the wind at Ostervik", scopes=SCOPES, now=NOW)
        assert block.text.count("Asked for the wind") == 1
        memory.record_turn(
            session="s1", role="user", user="ann", text="I am back from Faro", now=NOW
        )
        later = memory.context("the wind at Ostervik", scopes=SCOPES, now=NOW, session="s1")
    assert "Asked for the wind" not in later.text
