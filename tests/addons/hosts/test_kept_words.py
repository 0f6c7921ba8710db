"""What a person says to a bot is kept, whatever part of the memory is away at that moment."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.addons.hosts.test_hook import RECALL, hook, turns
from tests.scenarios.outside import Outside, until
from vault_memory.rules.conversations.turn import LONGEST

MINE = "Users/mira/wren/config/USER.md"
SAID = {
    "UserPromptSubmit": {"prompt": "I moved to Bergen"},
    "Stop": {"last_assistant_message": "Noted, Bergen."},
    "TurnEnd": {"prompt": "I moved to Bergen", "reply": "Noted, Bergen."},
    "BeforeAgent": {"prompt": "I moved to Bergen"},
}
HOSTS = {
    "UserPromptSubmit": "claude-code",
    "Stop": "codex",
    "TurnEnd": "hermes",
    "BeforeAgent": "gemini-cli",
}


def event(name: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": session, **SAID.get(name, {}), **more}


def end(place: Outside) -> None:
    """Another conversation ends, and takes what waits in the drop folder."""
    hook(place, "claude-code", event("SessionEnd", "s9"))


def said(place: Outside) -> list[tuple[str, str]]:
    return [(turn["role"], turn["text"]) for turn in turns(place)]


@pytest.fixture
def place(outside: Outside) -> Outside:
    outside.write(MINE, "# Mira\n\n- rows the heron boat\n")
    outside.quick = True
    outside.ok("index")
    hook(outside, "claude-code", event("SessionStart", "s0"))
    return outside


@contextmanager
def vault_away(place: Outside) -> Iterator[None]:
    away = place.vault.with_name("away")
    place.vault.rename(away)
    try:
        yield
    finally:
        away.rename(place.vault)


@contextmanager
def empty_mount_point(place: Outside) -> Iterator[None]:
    with vault_away(place):
        place.vault.mkdir()
        try:
            yield
        finally:
            place.vault.rmdir()


@contextmanager
def transcripts_refused(place: Outside) -> Iterator[None]:
    """A file lies where the folder of the transcripts would be: nothing can be recorded."""
    folder = place.vault / "Users" / "mira" / "transcripts"
    folder.write_text("in the way")
    try:
        yield
    finally:
        folder.unlink()


@contextmanager
def configuration_wrong(place: Outside) -> Iterator[None]:
    file = place.state / "vault-memory.toml"
    file.write_text("[recall]\nmemory_budget = 'many'\n")
    try:
        yield
    finally:
        file.unlink()


AWAY: dict[str, Callable[[Outside], Any]] = {
    "the vault is away": vault_away,
    "its disk is not mounted": empty_mount_point,
    "nothing can be recorded": transcripts_refused,
    "the configuration is wrong": configuration_wrong,
}


@pytest.mark.sampled
@pytest.mark.parametrize("trouble", AWAY)
@pytest.mark.parametrize("name", SAID)
def test_what_is_said_meanwhile_is_recorded_once_the_trouble_is_over(
    place: Outside, trouble: str, name: str
) -> None:
    state = place.state
    with AWAY[trouble](place):
        hook(place, HOSTS[name], event(name))
        until(lambda: [*state.glob("drop/*.jsonl"), *state.glob("drop/*.taken")])
        assert said(place) == []
        assert list(state.parent.rglob("hook.log"))

    end(place)

    until(lambda: said(place))
    expected = {
        "user": SAID[name].get("prompt"),
        "assistant": SAID[name].get("reply") or SAID[name].get("last_assistant_message"),
    }
    assert said(place) == [(role, text) for role, text in expected.items() if text]


def test_an_answer_comes_although_nothing_can_be_recorded(place: Outside) -> None:
    place.write("Users/mira/memories/boats.md", "- The heron boat got amber spar varnish\n")
    asked = event("UserPromptSubmit", prompt="Which varnish did the heron boat get?")
    with transcripts_refused(place):
        done = hook(place, "claude-code", asked, **RECALL)

    assert "amber spar varnish" in done.stdout
    end(place)
    until(lambda: said(place))
    assert said(place) == [("user", asked["prompt"])]


def test_beside_a_daemon_what_cannot_be_recorded_is_recorded_later(place: Outside) -> None:
    with place.daemon():
        with transcripts_refused(place):
            hook(place, "claude-code", event("UserPromptSubmit"))
            hook(place, "claude-code", event("Stop"))
            assert said(place) == []
        hook(place, "claude-code", event("UserPromptSubmit", "s2", prompt="Tea?"))
        end(place)
        until(lambda: len(turns(place)) >= 3)

    texts = [turn["text"] for turn in turns(place)]
    assert sorted(texts) == sorted(["I moved to Bergen", "Noted, Bergen.", "Tea?"])


def unusable_states(home: Path) -> dict[str, str]:
    file = home / "file"
    file.write_text("no folder")
    link = home / "link"
    link.symlink_to(home / "gone" / "state")
    return {"gone": "/proc/nowhere", "a file": str(file), "a link": str(link)}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["gone", "a file", "a link"])
def test_without_a_state_folder_the_block_comes_and_words_are_recorded(
    place: Outside, tmp_path: Path, kind: str
) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    away = {"VAULT_MEMORY_STATE": unusable_states(tmp_path)[kind], "XDG_RUNTIME_DIR": str(runtime)}
    marker = (place.vault / ".vault-memory").read_bytes()

    begun = hook(place, "claude-code", event("SessionStart"), **away)
    for name in ("UserPromptSubmit", "UserPromptSubmit", "Stop"):
        hook(place, "claude-code", event(name), **away)

    assert "rows the heron boat" in begun.stdout
    assert said(place) == [("user", "I moved to Bergen"), ("assistant", "Noted, Bergen.")]
    assert (place.vault / ".vault-memory").read_bytes() == marker
    assert [path.stat().st_mode & 0o077 for path in runtime.iterdir()] == [0]


def test_without_a_state_folder_an_unmarked_folder_is_not_made_a_vault(
    outside: Outside, tmp_path: Path
) -> None:
    """It may be the empty mount point of a disk that has the vault."""
    outside.vault.mkdir(parents=True, exist_ok=True)
    away = {"VAULT_MEMORY_STATE": "/proc/nowhere", "XDG_RUNTIME_DIR": str(tmp_path)}

    done = hook(outside, "claude-code", event("UserPromptSubmit"), **away)

    assert "state_folder_unusable" in done.stderr
    assert list(outside.vault.iterdir()) == []


def test_a_temporary_state_folder_of_another_owner_is_not_used(
    place: Outside, tmp_path: Path
) -> None:
    own = tmp_path / "elsewhere"
    own.mkdir()
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    (runtime / f"vault-memory-{os.geteuid()}").symlink_to(own)
    away = {"VAULT_MEMORY_STATE": "/proc/nowhere", "XDG_RUNTIME_DIR": str(runtime)}

    done = hook(place, "claude-code", event("SessionStart"), **away)

    assert done.stdout == ""
    assert "belongs to another user" in done.stderr
    assert list(own.iterdir()) == []


@pytest.mark.sampled
@pytest.mark.parametrize("letter", ["x", "字", "\N{GRINNING FACE}"])
@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop"])
def test_of_a_prompt_that_is_too_long_the_beginning_is_kept(
    place: Outside, letter: str, name: str
) -> None:
    text = "I moved to Bergen. " + letter * LONGEST
    field = next(iter(SAID[name]))
    raw = json.dumps(event(name, **{field: text}), ensure_ascii=False).encode()

    hook(place, "claude-code", raw)

    # A busy computer may need longer than a hook has: then the text waits in the drop folder.
    end(place)
    [turn] = until(lambda: turns(place))
    assert text.startswith(turn["text"])
    assert len(turn["text"].encode()) > 900_000


def test_a_prompt_of_three_megabytes_is_kept_while_nothing_can_be_recorded(place: Outside) -> None:
    text = "I moved to Bergen. " + "日志 " * 400_000
    raw = json.dumps(event("UserPromptSubmit", prompt=text), ensure_ascii=False).encode()
    with transcripts_refused(place):
        hook(place, "claude-code", raw)

    end(place)

    [turn] = until(lambda: turns(place))
    assert text.startswith(turn["text"])
    assert len(turn["text"]) == LONGEST


def test_hermes_killed_before_the_answer_has_its_prompt_recorded(place: Outside) -> None:
    hook(place, "hermes", event("Recall", prompt="I moved to Bergen"))
    assert said(place) == [("user", "I moved to Bergen")]

    hook(place, "hermes", event("TurnEnd"))
    hook(place, "hermes", event("Recall", prompt="I moved to Bergen"))
    hook(place, "hermes", event("TurnEnd"))

    assert said(place) == [("user", "I moved to Bergen"), ("assistant", "Noted, Bergen.")] * 2
