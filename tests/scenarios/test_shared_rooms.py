"""Who gets whose words through which face: the table of the guide, checked cell by cell."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.conftest import PROJECT
from tests.every import every
from tests.http.served import serving
from tests.mcp.vaults import connected
from tests.scenarios.outside import PROGRAM, Outside
from vault_memory import Caller, UsageError, VaultMemory

GUIDE = PROJECT / "docs/guides/privacy-and-scopes.md"
WORDS = {
    "ann": "albatross",
    "bo": "bittern",
    "quay": "cormorant",
    "crew": "egret",
    "global": "fulmar",
}
"""What each of them alone has written down"""
QUERY = "what is the secret of the ferry?"
TOKEN = "room-" + "r" * 40
NOBODY = "–"
REFUSED = "refused"
FACES = {
    "`context`": "context",
    "`search`": "search",
    "Python `context`": "python",
    "Python with `Caller`": "caller",
    "hook": "hook",
    "MCP tools": "tools",
    "MCP resources": "resources",
    "HTTP": "http",
    "memory tool": "memory_tool",
}


def pages(name: str, word: str) -> dict[str, str]:
    """Notes of every kind, all of which say the word."""
    top, notes = {
        "ann": ("Users/ann/bot/config/", "Users/ann/memories/"),
        "bo": ("Users/bo/bot/config/", "Users/bo/memories/"),
        "quay": ("Channels/quay/", "Channels/quay/memories/"),
        "crew": ("groups/crew/", "groups/crew/memory/"),
        "global": ("groups/global/", "groups/global/memory/"),
    }[name]
    profile = {"ann": "USER.md", "bo": "USER.md", "quay": "CHANNEL.md"}.get(name, "MEMORY.md")
    turn = {
        "id": word,
        "ts": "2026-03-01T10:00:00+00:00",
        "session": "s",
        "role": "assistant",
        "text": word,
    }
    found = {
        top + profile: f"# Ferry\n\n- The secret of the ferry is a {word}\n",
        top + "FACTS.md": f"## ferry\n\n- carries: {word}\n",
        notes + "2026-03-01.md": f"# Ferry\n\n- The ferry brought a {word}\n",
    }
    if name in ("ann", "bo"):
        found[top + "RULES.md"] = f"- Always greet the ferry with a {word}\n"
        found[notes + "plan.md"] = f"# Plan\n\n- Paint the ferry like a {word}\n"
    if name not in ("crew", "global"):
        found[notes.replace("memories", "transcripts") + "2026-03-01.jsonl"] = (
            json.dumps(turn) + "\n"
        )
    return found


@pytest.fixture(scope="module")
def shared_vault(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    """A vault of two persons, a channel, a group, and the group that everybody reads."""
    folder = tmp_path_factory.mktemp("rooms")
    outside = Outside(folder / "vault", folder / "home", quick=True)
    outside.home.mkdir()
    for name, word in WORDS.items():
        for note, text in pages(name, word).items():
            outside.write(note, text)
    outside.ok("index")
    return outside


@dataclass(frozen=True)
class Asker:
    """Who asks, and where: the first column of the table."""

    user: str = ""
    channel: str = ""
    group: str = ""
    private: bool = False
    all: bool = False

    def options(self) -> list[str]:
        named = {"user": self.user, "channel": self.channel, "group": self.group}
        words = [word for name, value in named.items() if value for word in (f"--{name}", value)]
        return words + ["--private"] * self.private + ["--all"] * self.all

    def scopes(self) -> list[str]:
        named = {"user": self.user, "channel": self.channel, "group": self.group}
        return [f"{kind}:{name}" for kind, name in named.items() if name]

    def caller(self) -> Caller:
        return Caller(self.user, self.channel, tuple(filter(None, [self.group])), self.private)


ASKERS = {
    "ann, alone": Asker("ann"),
    "ann, with the group crew": Asker("ann", group="crew"),
    "ann, in the channel quay": Asker("ann", "quay"),
    "bo, in the channel quay": Asker("bo", "quay"),
    "ann, in the channel quay, private": Asker("ann", "quay", private=True),
    "nobody, in the channel quay": Asker(channel="quay"),
    "nobody, in the group crew": Asker(group="crew"),
    "everybody (`--all`)": Asker(all=True),
    "nobody is named": Asker(),
}


# ---- what comes out of each face: all that it says -------------------------------------------------------------------


def from_context(room: Outside, asker: Asker) -> str:
    done = room.run("context", QUERY, *asker.options(), "--now", "2026-03-02")
    return REFUSED if done.code == 2 else done.out + done.err


def from_search(room: Outside, asker: Asker) -> str:
    if asker.all:
        return NOBODY
    done = room.run("search", QUERY, *asker.options(), "--limit", "100")
    assert done.code == 0, done
    return done.out + done.err


def opened(room: Outside) -> VaultMemory:
    return VaultMemory.open(room.vault, environment=room.environment)


def from_python(room: Outside, asker: Asker) -> str:
    with opened(room) as memory:
        if asker.all:
            return str(memory.context(QUERY, scopes=memory.scopes(), private=True))
        return str(memory.context(QUERY, scopes=asker.scopes(), private=asker.private))


def from_caller(room: Outside, asker: Asker) -> str:
    with opened(room) as memory:
        scopes = asker.caller().reads(memory.layout)
        found = memory.search(QUERY, scopes=scopes, limit=100)
        about = (
            memory.facts(scopes=scopes),
            memory.facts.entity("ferry", scopes=scopes),
            memory.notes(scopes),
        )
        return f"{found}{about}{memory.context(QUERY, scopes=scopes, private=asker.private)}"


def from_hook(room: Outside, asker: Asker) -> str:
    asker.caller()
    said = [
        {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"},
        {"hook_event_name": "Recall", "session_id": "s1", "prompt": QUERY},
    ]
    environment = room.environment | {"VAULT_MEMORY_MEMORY_SEARCH_AUTO_RECALL": "true"}
    answers = [
        subprocess.run(
            [*PROGRAM, "hook", "hermes", "--vault", str(room.vault), *asker.options()],
            input=json.dumps(event),
            env=environment,
            text=True,
            capture_output=True,
            timeout=60,
            check=True,
        ).stdout
        for event in said
    ]
    return "".join(answers)


def from_tools(room: Outside, asker: Asker) -> str:
    caller = asker.caller()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_context", {"prompt": QUERY}),
        ("memory_search", {"query": QUERY, "limit": 50}),
        ("memory_entity", {"name": "ferry", "past": True}),
        ("memory_stats", {}),
        *(("memory_get", {"note": note}) for note in every_note()),
        *(("memory_source", {"ref": f"{note}:3"}) for note in every_note()),
        *(("memory_correct", {"fact": id_, "object": "x"}) for id_ in ("carries", "ferry")),
    ]

    async def chat() -> str:
        async with connected(memory, caller) as client:
            return "".join(
                [str(await client.call_tool(name, arguments)) for name, arguments in calls]
            )

    with opened(room) as memory:
        return anyio.run(chat)


def from_resources(room: Outside, asker: Asker) -> str:
    caller = asker.caller()

    async def chat() -> str:
        async with connected(memory, caller) as client:
            said = [str(await client.list_resources())]
            for note in every_note():
                try:
                    said.append(str(await client.read_resource(f"vault:///{note}")))
                except MCPError as error:
                    said.append(str(error))
            return "".join(said)

    with opened(room) as memory:
        return anyio.run(chat)


def from_http(room: Outside, asker: Asker) -> str:
    with opened(room) as memory, serving(memory, {TOKEN: asker.caller()}) as served:
        client = served.client(TOKEN)
        answers = [
            client.post("/v1/context", json={"prompt": QUERY}),
            client.post("/v1/search", json={"query": QUERY, "limit": 50}),
            client.get("/v1/facts"),
            client.get("/v1/source", params={"ref": "ferry"}),
            *(client.get("/v1/source", params={"ref": f"{note}:3"}) for note in every_note()),
            client.get("/v1/facts", params={"entity": "ferry"}),
            *(client.get(f"/v1/notes/{note}") for note in every_note()),
        ]
        return "".join(answer.text for answer in answers) + client.get("/v1/notes").text


def from_memory_tool(room: Outside, asker: Asker) -> str:
    with opened(room) as memory:
        tool = memory.memory_tool(user=asker.user, channel=asker.channel, private=asker.private)
        names = [
            "",
            *(f"/{name}" for name in ("2026-03-01.md", "plan.md", "../bot/config/USER.md")),
        ]
        return "".join(
            tool.execute({"command": "view", "path": f"/memories{name}"}) for name in names
        )


ANSWERS: dict[str, Callable[[Outside, Asker], str]] = {
    "context": from_context,
    "search": from_search,
    "python": from_python,
    "caller": from_caller,
    "hook": from_hook,
    "tools": from_tools,
    "resources": from_resources,
    "http": from_http,
    "memory_tool": from_memory_tool,
}


def every_note() -> list[str]:
    return [note for name, word in WORDS.items() for note in pages(name, word)]


def owners_of_words(said: str) -> str:
    """The names of those whose words are there, as a cell of the table says it."""
    if said in (REFUSED, NOBODY):
        return said
    return ", ".join(name for name, word in WORDS.items() if word in said) or NOBODY


@cache
def table() -> dict[str, dict[str, str]]:
    """The table in the guide: for each asker, what each face gives."""
    _, _, rest = GUIDE.read_text(encoding="utf-8").partition("## Who gets whose words\n")
    lines = [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("|")]
    head, _, *rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
    ]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_the_table_of_the_guide_covers_every_interface_and_caller():
    assert set(table()) == set(ASKERS)
    assert all(set(row) == set(FACES) for row in table().values())


@pytest.mark.sampled
@every("face", FACES)
@every("asker", ASKERS)
def test_an_interface_returns_only_words_the_guide_allows_for_the_caller(shared_vault, asker, face):
    try:
        said = ANSWERS[FACES[face]](shared_vault, ASKERS[asker])
    except UsageError:
        said = REFUSED

    assert owners_of_words(said) == table()[asker][face]


# ---- what a bot changes in a shared room -----------------------------------------------------------------------------


@pytest.fixture
def written(outside: Outside) -> Outside:
    """A vault of its own, for what is written into it."""
    outside.quick = True
    for name, word in WORDS.items():
        for note, text in pages(name, word).items():
            outside.write(note, text)
    return outside


def call_tool(room: Outside, caller: Caller, name: str, **arguments: Any) -> tuple[bool, str]:
    """Whether a tool call ended well, and what it said."""

    async def chat() -> tuple[bool, str]:
        async with connected(memory, caller) as client:
            result = await client.call_tool(name, arguments)
            return not result.is_error, str(result)

    with opened(room) as memory:
        return anyio.run(chat)


def persons_notes(room: Outside) -> dict[str, bytes]:
    return {
        note: (room.vault / note).read_bytes()
        for name in ("ann", "bo")
        for note in pages(name, WORDS[name])
    }


def test_text_remembered_in_a_channel_goes_to_the_channel_and_can_be_found_there(written: Outside):
    before = persons_notes(written)
    turn = ("--session", "s", "--role", "user", "--user", "ann", "--channel", "quay")
    words = "The ferry leaves at seven. The ferry is painted green."
    written.ok("record", *turn, words)

    done, said = call_tool(
        written, Caller("ann", "quay"), "memory_remember", text="The ferry leaves at seven"
    )
    with opened(written) as memory, serving(memory, {TOKEN: Caller("bo", "quay")}) as served:
        answer = (
            served.client(TOKEN)
            .post("/v1/remember", json={"text": "The ferry is painted green"})
            .json()
        )

    assert done, said
    assert answer["note"] == "Channels/quay/CHANNEL.md"
    assert persons_notes(written) == before
    text = written.ok("context", "--channel", "quay")["text"]
    assert "The ferry leaves at seven" in text
    assert "The ferry is painted green" in text


def test_a_caller_in_a_channel_cannot_make_the_bot_forget_personal_notes(written: Outside):
    before = persons_notes(written)
    with opened(written) as memory:
        [fact] = [one for one in memory.facts(scopes=["user:ann"]) if one.object == WORDS["ann"]]

    told = [
        call_tool(written, Caller("ann", "quay"), "memory_forget", text="Paint the ferry"),
        call_tool(written, Caller("ann", "quay"), "memory_forget", fact=fact.id),
        call_tool(written, Caller("ann", "quay"), "memory_correct", fact=fact.id, object="x"),
        call_tool(written, Caller("ann", "quay"), "memory_confirm", fact=fact.id),
    ]

    assert persons_notes(written) == before
    assert owners_of_words("".join(said for _, said in told)) in (NOBODY, "quay")


def test_a_turn_in_a_channel_is_also_found_by_its_speaker_and_nobody_else(written: Outside):
    said = "The pier has a loose plank called osprey"
    written.ok(
        "record", "--session", "q", "--role", "user", "--user", "ann", "--channel", "quay", said
    )

    assert written.finds("osprey", "--user", "ann")
    assert written.finds("osprey", "--channel", "quay")
    assert not written.finds("osprey", "--user", "bo")


def test_the_memory_tool_in_a_channel_stores_dated_notes(written: Outside):
    with opened(written) as memory:
        tool = memory.memory_tool(user="ann", channel="quay")
        kept = tool.execute(
            {"command": "create", "path": "/memories/2026-03-02-paint.md", "file_text": "- green\n"}
        )
        other = tool.execute(
            {"command": "create", "path": "/memories/paint.md", "file_text": "- green\n"}
        )

    assert not kept.is_error
    assert (written.vault / "Channels/quay/memories/2026-03-02-paint.md").exists()
    assert other.is_error
    assert "named by a day" in other
