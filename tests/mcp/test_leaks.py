"""No tool and no resource gives anything of another scope: whatever is said to it, and whichever tools there will be.

The tools are taken from the server's own list, and called with every argument they list: a new one is in here at once.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import Tool

from tests.every import every
from tests.mcp.vaults import ALICE, BOB, WORDS, answer, contents, pages, refusal, talk, words
from tests.scenarios.outside import Outside
from vault_memory import VaultMemory
from vault_memory.errors import VaultUnreachable
from vault_memory.mcp.http_session import Serving
from vault_memory.mcp.protocol_results import ON_A_PAGE, uri_of
from vault_memory.rules.paths.scopes import Caller

CALLERS = {
    "alice": ALICE,
    "bob": BOB,
    "nobody": Caller("nobody"),
    "main": Caller("main"),
    "ali": Caller("ali", "har"),
}
NAMES = ("alice", "bob", "harbour", "kitchen", "crew")
MEANT = {"integer": 3, "boolean": True}


def open_to(memory: VaultMemory, caller: Caller) -> set[str]:
    return {WORDS[scope] for scope in caller.scopes(memory.layout) if scope in WORDS}


def probes(memory: VaultMemory, caller: Caller) -> list[str]:
    """What somebody may say who wants what is not theirs: words that all say, paths, scopes, ids, and odd spellings."""
    strange = [scope for scope in WORDS if scope not in caller.scopes(memory.layout)]
    paths = list(pages(strange[0], WORDS[strange[0]]))
    facts = [fact.id for fact in memory.facts(scopes=strange[:1], entity="ferry")]
    spellings = [
        "*",
        "",
        "user:*",
        "ferry OR scope:user",
        '" OR 1 --',
        "ferry\nuser: bob",
        "../Users",
        "bob' ferry",
    ]
    return [
        "the ferry's secret",
        "ferry",
        "boat",
        *spellings,
        *strange,
        *NAMES,
        *paths,
        *facts,
        facts[0][:4],
    ]


def calls(tool: Tool, probe: str) -> Iterator[dict[str, Any]]:
    """The tool with this probe in the place of each text that it takes."""
    properties = tool.input_schema["properties"]
    base = {
        name: MEANT.get(properties[name]["type"], "ferry") for name in tool.input_schema["required"]
    }
    texts = [
        name
        for name, one in properties.items()
        if one.get("type") == "string" and not {"pattern", "format"} & set(one)
    ]
    yield from ({**base, name: probe} for name in texts)
    if not texts:
        yield base


def all_answers(
    memory: VaultMemory, caller: Caller, *, changing: bool
) -> Iterator[tuple[str, str, str]]:
    """What each call says: the tool, the probe, and the answer."""
    asked = probes(memory, caller)

    async def chat(client: Client) -> list[tuple[str, str, str]]:
        found = []
        for tool in (await client.list_tools()).tools:
            if tool.annotations.read_only_hint == changing:
                continue
            for probe in asked:
                for arguments in calls(tool, probe):
                    result = await client.call_tool(tool.name, arguments)
                    whole = words(result) + json.dumps(
                        result.structured_content, ensure_ascii=False
                    )
                    found.append((tool.name, probe, whole))
        return found

    yield from talk(memory, chat, caller)


@pytest.mark.sampled
@every("who", CALLERS)
def test_no_reading_tool_reveals_text_or_names_of_others(shelf: VaultMemory, who: str):
    caller = CALLERS[who]
    own, scopes = open_to(shelf, caller), set(caller.scopes(shelf.layout))
    others = {name for name in NAMES if not any(name in scope for scope in scopes)}
    seen: set[str] = set()

    for tool, probe, said in all_answers(shelf, caller, changing=False):
        shown = {word for word in WORDS.values() if word in said and word not in probe}
        assert shown <= own, (tool, probe)
        assert not {name for name in others if name in said and name not in probe}, (tool, probe)
        seen |= shown

    assert seen == own, "what is theirs is shown, so the words could be seen"


@pytest.mark.sampled
@pytest.mark.parametrize("who", ["alice"])
def test_no_writing_tool_reveals_or_changes_anything_of_others(
    memory: VaultMemory, filled: Outside, who: str
):
    caller = CALLERS[who]
    own = open_to(memory, caller)
    strange = [scope for scope in WORDS if scope not in caller.scopes(memory.layout)]
    before = contents(filled, strange)
    several = all_answers(memory, caller, changing=True)

    for tool, probe, said in several:
        assert {word for word in WORDS.values() if word in said and word not in probe} <= own, (
            tool,
            probe,
        )

    assert contents(filled, strange) == before
    touched = {memory.layout.place(record.note).scope for record in memory.log()}
    assert touched, "something was changed"
    assert touched <= set(caller.scopes(memory.layout))


@pytest.mark.sampled
@every("who", CALLERS)
def test_a_caller_gets_only_their_own_resources(shelf: VaultMemory, who: str):
    caller = CALLERS[who]
    mine = caller.scopes(shelf.layout)
    every = [note for scope, word in WORDS.items() for note in pages(scope, word)]
    readable = {note.note for note in shelf.notes(mine)}

    refused: set[str] = set()

    async def chat(client: Client) -> tuple[set[str], dict[str, str]]:
        listed = {one.name for one in (await client.list_resources()).resources}
        given = {}
        for note in every:
            for uri in (
                uri_of(note),
                f"vault://{note}",
                uri_of(note).replace("/alice/", "/alice/../bob/"),
            ):
                try:
                    given[uri] = (await client.read_resource(uri)).contents[0].text
                except MCPError as error:
                    refused.add(error.message[:20])
        return listed, given

    listed, given = talk(shelf, chat, caller)

    assert refused == {"there is no resource"}
    assert len(every) < ON_A_PAGE
    assert listed == readable
    assert {uri.removeprefix("vault://").removeprefix("/") for uri in given} == readable
    assert {word for word in WORDS.values() if word in "".join(given.values())} == open_to(
        shelf, caller
    )


@every(
    "uri",
    [
        "vault:///Users/alice/memories/..%2f..%2fbob/memories/plan.md",
        "vault:///Users/alice/memories/%252e%252e/plan.md",
        "vault:////Users/bob/memories/plan.md",
        "vault://Users%2Fbob%2Fmemories%2Fplan.md",
        "vault:///Users/alice/lantern/config/INBOX.md",
        "vault:///.vault-memory",
        "vault:///",
        "file:///Users/alice/memories/plan.md",
        "VAULT:///Users/alice/memories/plan.md",
        "",
    ],
)
def test_no_spelling_of_a_uri_reaches_outside(shelf: VaultMemory, uri: str):
    async def chat(client: Client) -> None:
        with pytest.raises(MCPError, match="there is no resource"):
            await client.read_resource(uri)

    talk(shelf, chat)


def test_a_link_to_another_persons_note_is_not_followed(memory: VaultMemory, filled: Outside):
    (filled.vault / "Users/alice/memories/link.md").symlink_to(
        filled.vault / "Users/bob/memories/plan.md"
    )

    assert "bittern" not in refusal(memory, "memory_get", note="Users/alice/memories/link.md")
    assert "bittern" not in json.dumps(answer(memory, "memory_search", query="bittern"))


def test_stale_notes_of_others_are_not_named(shelf: VaultMemory):
    shelf.searcher.unread_notes = lambda: [
        "Users/bob/memories/plan.md",
        "Users/alice/memories/plan.md",
        "elsewhere.md",
    ]
    try:
        for tool, about in (("memory_search", "query"), ("memory_context", "prompt")):
            found = answer(shelf, tool, **{about: "ferry"})
            assert found["freshness"]["stale_files"] == ["Users/alice/memories/plan.md"]
            assert "bob" not in json.dumps(found)
    finally:
        shelf.searcher.unread_notes = tuple


def test_no_error_names_a_local_folder(shelf: VaultMemory, filled: Outside):
    serving = Serving(shelf, ALICE)
    errors = [
        VaultUnreachable(
            f"there is no folder `{shelf.root}`", hint=f"look into {shelf.vault.state.path}"
        ),
        VaultUnreachable("`/srv/data/notes` cannot be opened", hint="mount it"),
    ]

    told = [serving.explain(error) for error in errors]

    assert told == [
        "there is no folder `…`\n\nhint: look into …",
        "`…` cannot be opened\n\nhint: mount it",
    ]


def test_an_unreachable_vault_is_an_error_without_its_path(memory: VaultMemory, filled: Outside):
    filled.vault.rename(filled.vault.with_name("elsewhere"))

    for tool, arguments in (
        ("memory_search", {"query": "ferry"}),
        ("memory_remember", {"text": "Sails on Sunday"}),
    ):
        said = refusal(memory, tool, **arguments)
        assert said.startswith(("error: there is no folder `…`\n", "error: `…` cannot be reached"))
        assert str(filled.vault.parent) not in said


def test_an_unexpected_failure_reveals_no_details(
    memory: VaultMemory, caplog: pytest.LogCaptureFixture
):
    def fails() -> tuple[str, ...]:
        raise RuntimeError("nobody thought of this")

    memory.searcher.unread_notes = fails

    said = refusal(memory, "memory_search", query="ferry")

    assert said.startswith("error: the memory cannot do this now")
    assert "nobody thought" not in said
    assert [record.message for record in caplog.records] == ["memory_search failed: RuntimeError"]
