"""A client listens, and hears which notes changed: over a pipe, in the version that has it."""

from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.client.subscriptions import ListenNotSupportedError, Subscription
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from tests.addons.dialogue.doors import over_http, over_stdio
from tests.mcp.pipes import Pipe, piped
from tests.mcp.vaults import PLAN
from tests.scenarios.outside import PATIENCE_SECONDS, Outside
from vault_memory.addons.dialogue.change_notices import MOST_LISTENING

pytestmark = pytest.mark.anyio


async def next_of(listening: Subscription) -> Any:
    """The next event."""
    with anyio.fail_after(PATIENCE_SECONDS):
        return await anext(aiter(listening))


URI = f"vault:///{PLAN}"
BOBS = "Users/bob/memories/plan.md"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def changed(place: Outside, note: str, line: str) -> None:
    """A person saves a note with one more line."""
    file = place.vault / note
    before = file.read_text("utf-8") if file.exists() else "# New\n"
    place.write(note, f"{before}- {line}\n")


def listen(id_: object, *uris: str, **meta: Any) -> dict[str, Any]:
    """The request of a client that listens."""
    params = {"notifications": {"resourceSubscriptions": list(uris)}, "_meta": {**MODERN, **meta}}
    return {"jsonrpc": "2.0", "id": id_, "method": "subscriptions/listen", "params": params}


@pytest.mark.smoke
async def test_a_client_hears_of_a_saved_note_and_of_a_new_one(place: Outside) -> None:
    with place.daemon():
        async with (
            over_stdio(place)("alice") as client,
            client.listen(resources_list_changed=True, resource_subscriptions=[URI]) as listening,
        ):
            changed(place, PLAN, "Buy a lantern")
            assert await next_of(listening) == ResourceUpdated(URI)

            changed(place, "Users/alice/memories/harbour.md", "The harbour is calm")
            assert await next_of(listening) == ResourcesListChanged()
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            assert "vault:///Users/alice/memories/harbour.md" in uris


async def test_nobody_hears_of_the_notes_of_another_person(place: Outside) -> None:
    own = f"vault:///{BOBS}"
    changed(place, BOBS, "mend the net")
    with place.daemon():
        async with (
            over_stdio(place)("bob") as client,
            client.listen(
                resources_list_changed=True, resource_subscriptions=[URI, own]
            ) as listening,
        ):
            changed(place, PLAN, "Buy a lantern")
            changed(place, "Users/alice/memories/secret.md", "a secret")
            place.ok("index")
            changed(place, BOBS, "buy rope")

            assert await next_of(listening) == ResourceUpdated(own)


async def test_a_client_hears_what_happened_before_a_daemon_ran(place: Outside) -> None:
    async with (
        over_stdio(place)("alice") as client,
        client.listen(resource_subscriptions=[URI]) as listening,
    ):
        changed(place, PLAN, "Buy a lantern")
        with place.daemon():
            assert await next_of(listening) == ResourceUpdated(URI)


async def test_over_http_nothing_is_promised(place: Outside) -> None:
    with over_http(place) as connect:
        async with connect("alice") as client:
            with pytest.raises(MCPError):
                async with client.listen(resource_subscriptions=[URI]):
                    pass


async def test_an_earlier_version_has_no_such_request(place: Outside) -> None:
    async with over_stdio(place)("alice", mode="legacy") as client:
        with pytest.raises(ListenNotSupportedError):
            async with client.listen(resource_subscriptions=[URI]):
                pass


def test_a_request_that_names_no_version_is_refused(place: Outside) -> None:
    with piped(place) as pipe:
        answer = pipe.ask("subscriptions/listen", notifications={})

    assert answer["error"]["code"] == -32601


@pytest.mark.parametrize(
    "wishes", [None, 5, {"resourceSubscriptions": "x"}, {"resourceSubscriptions": [1]}]
)
def test_wrong_wishes_are_refused(place: Outside, wishes: Any) -> None:
    with piped(place) as pipe:
        answer = pipe.ask("subscriptions/listen", notifications=wishes, _meta=MODERN)

    assert answer["error"]["code"] == -32602


def test_few_listen_at_once_and_calls_are_answered_meanwhile(place: Outside) -> None:
    with piped(place) as pipe:
        for number in range(MOST_LISTENING):
            pipe.send(listen(f"l{number}", URI))
            assert pipe.next()["method"] == "notifications/subscriptions/acknowledged"
        pipe.send(listen("one more", URI))
        assert pipe.next()["error"]["code"] == -32000
        assert pipe.call("memory_search", query="rope")["isError"] is False

        cancelled = {"requestId": "l0", "reason": "enough"}
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        while "error" in (answer := heard(pipe)):
            pass
        assert answer["method"] == "notifications/subscriptions/acknowledged"


def heard(pipe: Pipe) -> dict[str, Any]:
    """The answer to one more request to listen."""
    pipe.send(listen("one more", URI))
    answer: dict[str, Any] = pipe.next()
    return answer


def test_a_server_ends_with_its_input_although_somebody_listens(place: Outside) -> None:
    with piped(place) as pipe:
        pipe.send(listen("l", URI))
        acknowledged = pipe.next()["params"]
        code, rest, errors = pipe.end()

    assert acknowledged["notifications"] == {"resourceSubscriptions": [URI]}
    assert acknowledged["_meta"] == {"io.modelcontextprotocol/subscriptionId": "l"}
    assert (code, rest) == (0, []), errors


def test_the_server_says_that_it_tells_of_changes(place: Outside) -> None:
    with piped(place) as pipe:
        found = pipe.ask("server/discover", _meta=MODERN)["result"]["capabilities"]
        begun = pipe.ask("initialize", 2, protocolVersion="2025-11-25")["result"]["capabilities"]

    assert found["resources"] == {"subscribe": True, "listChanged": True}
    assert begun["resources"] == {"subscribe": False, "listChanged": False}
