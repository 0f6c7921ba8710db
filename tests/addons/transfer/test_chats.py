"""Import of conversations of ChatGPT and Claude: each message is a turn of its day, once."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.addons.transfer.chats import (
    chatgpt,
    chatgpt_node,
    claude,
    claude_message,
    many_messages,
    written,
    zipped,
)
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory, config
from vault_memory.addons.transfer import chat_exports, json_array
from vault_memory.addons.transfer.chat_exports import NoExport
from vault_memory.conversations import transcripts
from vault_memory.conversations.calls import OwnerUnknown
from vault_memory.learning.checkpoint import CheckpointStore, NightRuns
from vault_memory.rules.conversations.turn import LONGEST, Turn, read_turns

LISBON = datetime(2024, 3, 1, 18, 30, tzinfo=UTC)
PORTO = datetime(2025, 6, 2, 9, 15, tzinfo=UTC)
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SETTINGS = config.Config(
    embedding=config.EmbeddingSettings(kind="off"),
    sleep_cycle=config.SleepCycle(zone="UTC"),
    channel_sleep_cycle=config.ChannelSleepCycle(zone="UTC"),
)
HOMES = [
    chatgpt("lisbon", LISBON, [("user", "I live in Lisbon."), ("assistant", "A fine town.")]),
    chatgpt("porto", PORTO, [("user", "I live in Porto."), ("assistant", "I see.")]),
]


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    (tmp_path / "vault/Users/mira").mkdir(parents=True)
    with opened(tmp_path) as memory:
        yield memory


def opened(folder: Path, settings: config.Config = SETTINGS) -> VaultMemory:
    return VaultMemory.open(
        folder / "vault", settings, environment={"VAULT_MEMORY_STATE": str(folder / "state")}
    )


def turns_of(root: Path) -> list[Turn]:
    """All turns of the vault in the order of their files."""
    files = sorted(root.rglob("*.jsonl"))
    return [turn for file in files for turn in read_turns(file.read_bytes())]


def raw_files(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*.jsonl")}


# ---- what becomes a turn -------------------------------------------------------------------------


@pytest.mark.smoke
def test_an_export_of_chatgpt_becomes_turns_of_its_days(
    memory: VaultMemory, tmp_path: Path
) -> None:
    source = zipped(tmp_path / "export.zip", {"conversations.json": HOMES, "user.json": {}})

    report = memory.transfer.import_chats("chatgpt", source, user="mira")

    assert (report.conversations, report.turns, report.known, report.skipped) == (2, 4, 0, [])
    assert (report.first, report.last) == (LISBON.date(), PORTO.date())
    first, _, porto, _ = turns_of(memory.root)
    assert first == Turn(
        "chatgpt:lisbon-0",
        LISBON.isoformat(),
        "chatgpt:lisbon",
        "user",
        "mira",
        "",
        "I live in Lisbon.",
        source="chatgpt",
        device=first.device,
    )
    assert (porto.id, porto.at) == ("chatgpt:porto-0", PORTO)
    assert [path.name for path in sorted(memory.root.rglob("*.jsonl"))] == [
        "2024-03-01.jsonl",
        "2025-06-02.jsonl",
    ]


def test_an_export_of_claude_becomes_turns_of_a_channel(
    memory: VaultMemory, tmp_path: Path
) -> None:
    spoken = [("user", "We paint the hut in June."), ("assistant", "Noted.")]
    source = written(tmp_path / "data/conversations.json", [claude("hut", PORTO, spoken)])

    report = memory.transfer.import_chats("claude", source.parent, user="mira", channel="harbour")

    assert report.turns == 2
    path = memory.root / f"Channels/harbour/transcripts/{PORTO.date()}.jsonl"
    turns = read_turns(path.read_bytes())
    assert [(turn.id, turn.role, turn.user, turn.channel) for turn in turns] == [
        ("claude:hut-0", "user", "mira", "harbour"),
        ("claude:hut-1", "assistant", "mira", "harbour"),
    ]


def test_of_a_tree_only_the_branch_that_was_seen_last_counts(
    memory: VaultMemory, tmp_path: Path
) -> None:
    chat = chatgpt("tree", PORTO, [("user", "What is a keel?"), ("assistant", "A beam.")])
    at = PORTO.timestamp() + 600
    nodes = {
        "other": chatgpt_node("other", "tree-0", "assistant", at, ["A discarded answer."]),
        "hidden": chatgpt_node(
            "hidden",
            "tree-1",
            "user",
            at,
            ["hidden"],
            metadata={"is_visually_hidden_from_conversation": True},
        ),
        "profile": chatgpt_node(
            "profile",
            "hidden",
            "user",
            at,
            [],
            content={"content_type": "user_editable_context", "user_profile": "A sailor"},
        ),
        "system": chatgpt_node("system", "profile", "system", at, ["Be brief."]),
        "call": chatgpt_node("call", "system", "assistant", at, ["search()"], recipient="web"),
        "code": chatgpt_node(
            "code", "call", "assistant", at, [], content={"content_type": "code", "text": "1+1"}
        ),
        "tool": chatgpt_node("tool", "code", "tool", at, ["a page"]),
        "thought": chatgpt_node(
            "thought", "tool", "assistant", at, [], content={"content_type": "thoughts"}
        ),
        "empty": chatgpt_node("empty", "thought", "assistant", at, [""]),
        "long": chatgpt_node("long", "empty", "user", at, ["x" * (LONGEST + 1)]),
        "image": chatgpt_node(
            "image",
            "long",
            "user",
            at,
            [],
            content={
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                    "Is this a keel?",
                ],
            },
        ),
        "voice": chatgpt_node(
            "voice",
            "image",
            "user",
            at,
            [],
            content={
                "content_type": "multimodal_text",
                "parts": [{"content_type": "audio_transcription", "text": "And this?"}, None],
            },
            metadata={"attachments": [{"name": "plan.pdf"}]},
        ),
        "end": chatgpt_node(
            "end", "voice", "assistant", None, ["Yes\ue200cite\ue202turn0\ue201.", " Both."]
        ),
    }
    chat["mapping"] |= nodes
    chat["current_node"] = "end"
    source = written(tmp_path / "conversations-000.json", [chat])

    report = memory.transfer.import_chats("chatgpt", source, user="mira")

    assert [turn.text for turn in turns_of(memory.root)] == [
        "What is a keel?",
        "A beam.",
        "Is this a keel?\n\n[attached: an image]",
        "And this?\n\n[attached: plan.pdf]",
        "Yes.\n\nBoth.",
    ]
    assert report.left == {
        "of another branch": 1,
        "hidden": 2,
        "of the system": 1,
        "of a tool": 3,
        "a thought of the bot": 1,
        "without words": 1,
        "too long": 1,
    }


def test_of_claude_the_last_branch_counts_and_its_words_alone(
    memory: VaultMemory, tmp_path: Path
) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    minute = timedelta(minutes=1)
    messages = [
        claude_message("a", "user", PORTO, "What is a keel?", parent_message_uuid=root),
        claude_message("b", "assistant", PORTO + minute, "Old.", parent_message_uuid="a"),
        claude_message(
            "c",
            "assistant",
            PORTO + 2 * minute,
            "A beam. This block is not supported.",
            parent_message_uuid="a",
            content=[
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "A beam."},
                {"type": "tool_use", "name": "search", "input": {}},
                {"type": "text", "text": "Of wood."},
            ],
        ),
        claude_message(
            "d",
            "user",
            PORTO + 3 * minute,
            "",
            parent_message_uuid="c",
            attachments=[{"file_name": "", "extracted_content": "words of others"}],
            files=[{"file_name": "keel.png"}],
        ),
    ]
    chat = claude("branches", PORTO, [], chat_messages=messages)
    source = zipped(tmp_path / "data.zip", {"data/conversations.json": [chat], "users.json": []})

    report = memory.transfer.import_chats("claude", source, user="mira")

    assert [turn.text for turn in turns_of(memory.root)] == [
        "What is a keel?",
        "A beam.\n\nOf wood.",
        "[attached: a file]\n\n[attached: keel.png]",
    ]
    assert report.left == {"of another branch": 1}


def test_ids_of_any_form_and_halves_of_letters_are_taken(
    memory: VaultMemory, tmp_path: Path
) -> None:
    chat = chatgpt("odd", PORTO, [])
    chat["mapping"] = {
        "a b": chatgpt_node("a b/" + "ü" * 300, "gone", "user", PORTO.timestamp(), ["cut \ud83d"])
    }
    chat["current_node"] = "not there"
    source = written(tmp_path / "conversations.json", [chat])

    assert memory.transfer.import_chats("chatgpt", source, user="mira").turns == 1
    assert memory.transfer.import_chats("chatgpt", source, user="mira").known == 1
    (turn,) = turns_of(memory.root)
    assert turn.text == "cut \ud83d"
    assert len(turn.id) <= 80


def test_secrets_are_left_out_as_in_a_recorded_turn(memory: VaultMemory, tmp_path: Path) -> None:
    said = "The gate is blue. My password is hunter2-Xk9!"
    source = written(tmp_path / "conversations.json", [chatgpt("gate", PORTO, [("user", said)])])
    memory.transfer.import_chats("chatgpt", source, user="mira")
    (imported,) = turns_of(memory.root)
    recorded = memory.record_turn(session="s", role="user", text=said, user="mira", now=NOW)

    (turn,) = (turn for turn in turns_of(memory.root) if turn.id == recorded.id)
    assert imported.text == turn.text
    assert "hunter2" not in imported.text


# ---- once ----------------------------------------------------------------------------------------


def test_a_second_import_adds_nothing_and_a_later_export_what_is_new(
    memory: VaultMemory, tmp_path: Path
) -> None:
    source = written(tmp_path / "conversations.json", HOMES[:1])
    memory.transfer.import_chats("chatgpt", source, user="mira")
    before = raw_files(memory.root)

    again = memory.transfer.import_chats("chatgpt", source, user="mira")
    assert (again.turns, again.known) == (0, 2)
    assert raw_files(memory.root) == before

    longer = chatgpt(
        "lisbon",
        LISBON,
        [("user", "I live in Lisbon."), ("assistant", "A fine town."), ("user", "It is.")],
    )
    later = memory.transfer.import_chats(
        "chatgpt", written(tmp_path / "later.json", [HOMES[1], longer]), user="mira"
    )
    assert (later.turns, later.known) == (3, 2)
    assert len(turns_of(memory.root)) == len({turn.id for turn in turns_of(memory.root)}) == 5


def test_another_time_zone_adds_no_turn_again(memory: VaultMemory, tmp_path: Path) -> None:
    late = datetime(2025, 6, 2, 23, 30, tzinfo=UTC)
    source = written(tmp_path / "conversations.json", [chatgpt("night", late, [("user", "Late.")])])
    memory.transfer.import_chats("chatgpt", source, user="mira")

    auckland = config.SleepCycle(zone="Pacific/Auckland")
    settings = config.Config(embedding=config.EmbeddingSettings(kind="off"), sleep_cycle=auckland)
    with opened(tmp_path, settings) as moved:
        assert moved.transfer.import_chats("chatgpt", source, user="mira").known == 1


def test_forgotten_and_deleted_words_do_not_come_back(memory: VaultMemory, tmp_path: Path) -> None:
    source = written(tmp_path / "conversations.json", HOMES)
    memory.transfer.import_chats("chatgpt", source, user="mira")
    memory.forget("I live in Porto.", scopes=["user:mira"])

    assert memory.transfer.import_chats("chatgpt", source, user="mira").turns == 0
    assert "I live in Porto." not in str(raw_files(memory.root))

    memory.sleep(scopes=["user:mira"], now=NOW)
    for file in memory.root.rglob("2024-*.jsonl"):
        file.unlink()
    assert memory.transfer.import_chats("chatgpt", source, user="mira").turns == 0


def test_an_import_that_is_killed_is_continued_by_the_next(tmp_path: Path) -> None:
    outside = Outside(tmp_path / "vault", tmp_path / "home")
    outside.home.mkdir()
    (outside.vault / "Users/mira").mkdir(parents=True)
    source = written(tmp_path / "conversations.json", many_messages(3000, LISBON))
    command = [sys.executable, "-m", "vault_memory", "import", "chatgpt", str(source)]
    with subprocess.Popen(
        [*command, "--user", "mira", "--vault", str(outside.vault)], env=outside.environment
    ) as process:
        while process.poll() is None and len(list(outside.vault.rglob("*.jsonl"))) < 2:
            pass
        process.send_signal(signal.SIGKILL)
    before = len(turns_of(outside.vault))

    done = outside.ok("import", "chatgpt", str(source), "--user", "mira")

    assert before > 0
    assert done["turns"] + done["known"] == 3000
    ids = [turn.id for turn in turns_of(outside.vault)]
    assert len(ids) == len(set(ids)) == 3000


def test_a_turn_of_which_half_was_written_is_imported_again(
    memory: VaultMemory, tmp_path: Path
) -> None:
    source = written(tmp_path / "conversations.json", HOMES)
    memory.transfer.import_chats("chatgpt", source, user="mira")
    (file,) = memory.root.rglob("2024-*.jsonl")
    torn = file.read_bytes()[:-30]
    file.write_bytes(torn)

    assert memory.transfer.import_chats("chatgpt", source, user="mira").turns == 1
    assert file.read_bytes().startswith(torn)
    assert len(turns_of(memory.root)) == 4


# ---- nights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("conversations", [HOMES, HOMES[::-1]], ids=["oldest", "newest"])
def test_nights_learn_from_the_oldest_first(
    memory: VaultMemory, tmp_path: Path, conversations: list[Any]
) -> None:
    # The first night would look back a day only.
    memory.sleep(scopes=["user:mira"], now=NOW - timedelta(days=1))
    source = written(tmp_path / "conversations.json", conversations)
    memory.transfer.import_chats("chatgpt", source, user="mira")

    memory.sleep(scopes=["user:mira"], now=NOW)

    page = next(memory.root.rglob("FACTS.md")).read_text()
    assert "~~lives_in: Lisbon" in page
    homes = memory.facts.timeline("mira", scopes=["user:mira"])
    found = [(f.object, f.valid_from, f.valid_until) for f in homes if f.predicate == "lives_in"]
    assert sorted(found) == [("Lisbon", found[0][1], PORTO.date()), ("Porto", PORTO.date(), None)]
    now = memory.facts(scopes=["user:mira"])
    assert [fact.object for fact in now if fact.predicate == "lives_in"] == ["Porto"]


def test_no_night_begins_in_the_middle_of_an_import(memory: VaultMemory, tmp_path: Path) -> None:
    source = written(tmp_path / "conversations.json", HOMES)
    with CheckpointStore(memory.vault.state.path).held():
        with pytest.raises(NightRuns):
            memory.transfer.import_chats("chatgpt", source, user="mira")
        memory.transfer.import_chats("chatgpt", source, user="mira", dry_run=True)
    assert not raw_files(memory.root)


# ---- what cannot be imported ---------------------------------------------------------------------


def test_a_dry_run_counts_what_the_import_then_adds(memory: VaultMemory, tmp_path: Path) -> None:
    # A copied conversation has the messages of the one that it was copied from.
    copy = {**HOMES[0], "conversation_id": "copy"}
    source = written(tmp_path / "conversations.json", [*HOMES, copy])

    would = memory.transfer.import_chats("chatgpt", source, user="mira", dry_run=True)
    assert not raw_files(memory.root)
    assert memory.transfer.import_chats("chatgpt", source, user="mira") == would
    assert (would.conversations, would.turns, would.known) == (3, 4, 2)


def test_a_list_that_breaks_off_is_imported_as_far_as_it_goes(
    memory: VaultMemory, tmp_path: Path
) -> None:
    whole = written(tmp_path / "conversations.json", HOMES).read_bytes()
    cut = tmp_path / "cut.json"
    cut.write_bytes(whole[: len(whole) - 200])

    report = memory.transfer.import_chats("chatgpt", cut, user="mira")

    assert report.turns == 2
    (skipped,) = report.skipped
    assert "breaks off after conversation 1" in skipped.reason
    assert memory.transfer.import_chats("chatgpt", tmp_path, user="mira").turns == 2


def test_a_damaged_conversation_keeps_no_other_out(
    memory: VaultMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_exports, "LARGEST_CONVERSATION", 20_000)
    large = chatgpt("large", LISBON, [("user", "x" * 30_000)])
    source = written(
        tmp_path / "conversations.json",
        [HOMES[0], large, {"mapping": [1]}, {"mapping": {}}, {}, [[{}]], HOMES[1]],
    )

    report = memory.transfer.import_chats("chatgpt", source, user="mira")

    assert report.turns == 4
    assert [skipped.path.rpartition(" ")[2] for skipped in report.skipped] == ["2", "3", "5", "6"]
    assert "more than 20,000 bytes" in report.skipped[0].reason


def test_a_day_without_room_for_more_is_named(
    memory: VaultMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = written(tmp_path / "conversations.json", HOMES)
    memory.transfer.import_chats("chatgpt", source, user="mira")
    monkeypatch.setattr(transcripts, "LARGEST", 2000)
    more = chatgpt("more", LISBON, [("user", "x" * 1900)])

    report = memory.transfer.import_chats(
        "chatgpt", written(tmp_path / "conversations.json", [more, HOMES[1]]), user="mira"
    )

    assert (report.turns, report.known) == (0, 2)
    (skipped,) = report.skipped
    assert skipped.path.endswith("2024-03-01.jsonl")


def broken_exports(folder: Path) -> dict[str, Path]:
    """Files that are no export, by what is said about them."""
    good = zipped(folder / "good.zip", {"conversations.json": HOMES})
    claude_list = [claude("a", PORTO, [("user", "Hello.")])]
    cut = folder / "cut.zip"
    cut.write_bytes(good.read_bytes()[:300])
    bomb = folder / "bomb.zip"
    with (
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w") as entry,
    ):
        for _ in range(300):
            entry.write(b" " * (1 << 20))
    encrypted = folder / "encrypted.zip"
    raw = bytearray(good.read_bytes())
    # The flag of encryption in the header of the file, and in the table of the zip.
    raw[6] |= 1
    raw[raw.rindex(b"PK\x01\x02") + 8] |= 1
    encrypted.write_bytes(raw)
    (folder / "text.json").write_text("Dear all,")
    (folder / "object.json").write_text('{"conversations": []}')
    (folder / "nothing.json").write_text("")
    (folder / "cut.json").write_text('[{"mapping": {')
    (folder / "empty").mkdir()
    return {
        "does not exist": folder / "absent.zip",
        "has no conversations.json": zipped(folder / "other.zip", {"users.json": []}),
        "has no conversations.json ": folder / "empty",
        "is an export of claude": written(folder / "claude.json", claude_list),
        "is no export of chatgpt": written(folder / "names.json", [{"name": "mira"}]),
        "is a zip without its end": cut,
        "is encrypted": encrypted,
        "no export does": bomb,
        "it is no list": folder / "text.json",
        "it is no list ": folder / "object.json",
        "it is no list  ": folder / "nothing.json",
        "it breaks off": folder / "cut.json",
    }


def test_what_is_no_export_is_refused_in_a_sentence(memory: VaultMemory, tmp_path: Path) -> None:
    for says, source in broken_exports(tmp_path).items():
        with pytest.raises(NoExport) as caught:
            memory.transfer.import_chats("chatgpt", source, user="mira")
        assert says.strip() in caught.value.message, says
        assert caught.value.hint
    assert not raw_files(memory.root)


def test_a_zip_with_a_fault_in_its_data_is_imported_as_far_as_it_goes(
    memory: VaultMemory, tmp_path: Path
) -> None:
    source = tmp_path / "faulty.zip"
    with zipfile.ZipFile(source, "w", zipfile.ZIP_STORED) as archive:
        between = chatgpt("between", LISBON, [("assistant", "x" * 600_000)])
        archive.writestr("conversations.json", json.dumps([*HOMES, between, HOMES[1]]))
    source.write_bytes(source.read_bytes()[::-1].replace(b"otroP ni", b"otrxP ni", 1)[::-1])

    report = memory.transfer.import_chats("chatgpt", source, user="mira")

    assert report.turns == 4
    assert "breaks off after conversation 2" in report.skipped[0].reason


def test_somebody_has_to_say_whose_the_conversations_are(tmp_path: Path) -> None:
    (tmp_path / "vault/Users/mira").mkdir(parents=True)
    source = written(tmp_path / "conversations.json", HOMES)
    with opened(tmp_path) as memory, pytest.raises(OwnerUnknown):
        memory.transfer.import_chats("chatgpt", source)


def test_the_command_says_what_it_does(tmp_path: Path) -> None:
    outside = Outside(tmp_path / "vault", tmp_path / "home")
    outside.home.mkdir()
    (outside.vault / "Users/mira").mkdir(parents=True)
    source = written(tmp_path / "conversations.json", HOMES)
    mira = ("--user", "mira")

    would = outside.ok("import", "chatgpt", str(source), *mira, "--dry-run")
    assert would == {
        "conversations": 2,
        "turns": 4,
        "known": 0,
        "first": "2024-03-01",
        "last": "2025-06-02",
        "left": {},
        "skipped": [],
    }
    said = outside.run("import", "chatgpt", str(source), *mira)
    assert said.out.startswith("imported 4 turns; 0 known already; 2 conversations, 2024-03-01 to")
    for wrong in (
        ("import", "chatgpt", *mira),
        ("import", "gemini", str(source), *mira),
        ("import", "chatgpt", str(source), *mira, "--group", "crew"),
        ("import", "chatgpt", str(source), *mira, "--user", "tomas", "--new"),
        ("import", "claude", str(source), *mira),
    ):
        assert outside.run(*wrong).code == 2, wrong


# ---- size ----------------------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=10,
)


class Chunks:
    """A stream that gives so many bytes at a time."""

    def __init__(self, raw: bytes, size: int) -> None:
        self._raw, self._size = raw, size

    def read(self, _: int) -> bytes:
        chunk, self._raw = self._raw[: self._size], self._raw[self._size :]
        return chunk


@given(st.lists(st.dictionaries(st.text(), values)), st.integers(1, 40), st.booleans())
@example([{'"': '\\"[{'}, {"a": "\\"}], 1, True)
@example([], 1, False)
def test_an_array_is_split_into_its_objects_however_it_is_read(
    array: list[Any], size: int, is_ascii: bool
) -> None:
    raw = b" \n" + json.dumps(array, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    stream: Any = Chunks(raw, size)

    assert [json.loads(part or b"") for part in json_array.objects(stream, 1 << 20)] == array


@given(st.lists(st.text(max_size=200), min_size=1), st.integers(1, 40))
def test_an_object_that_is_too_large_is_left_out_alone(texts: list[str], size: int) -> None:
    parts = [json.dumps({"text": text}).encode() for text in texts]
    stream: Any = Chunks(b"[" + b",".join(parts) + b"]", size)

    expected = [part if len(part) <= 100 else None for part in parts]
    assert list(json_array.objects(stream, 100)) == expected


PEAK = """
import resource, sys
from vault_memory import VaultMemory
with VaultMemory.open(sys.argv[1]) as memory:
    report = memory.transfer.import_chats("chatgpt", sys.argv[2], user="mira")
print(report.turns, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_of(folder: Path, count: int) -> int:
    """The largest memory, in kilobytes, of a process that imports so many messages."""
    (folder / "vault/Users/mira").mkdir(parents=True)
    source = written(folder / "conversations.json", many_messages(count, LISBON))
    environment = {
        **os.environ,
        "VAULT_MEMORY_STATE": str(folder / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
    }
    out = subprocess.run(
        [sys.executable, "-c", PEAK, str(folder / "vault"), str(source)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert int(out[0]) == count
    return int(out[1])


@pytest.mark.sampled
@pytest.mark.timeout(900)
def test_three_hundred_thousand_messages_need_no_more_memory_than_a_tenth(tmp_path: Path) -> None:
    tenth = peak_of(tmp_path / "tenth", 30_000)

    assert peak_of(tmp_path / "all", 300_000) <= 1.3 * tenth
