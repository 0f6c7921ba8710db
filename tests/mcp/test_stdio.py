"""`mcp` over standard input and output, as hosts meet it: quick, in every version, and never brought to a stop."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.every import every
from tests.mcp.pipes import Pipe, hello, piped, request
from tests.mcp.vaults import PLAN, fill
from tests.scenarios.outside import PATIENCE_SECONDS, PROGRAM, Outside, at, until
from vault_memory.mcp.json_lines import LARGEST
from vault_memory.mcp.protocol import HANDSHAKE_VERSIONS, STATELESS_VERSIONS, VERSION_KEY

STATS = {"name": "memory_stats", "arguments": {}}
SEARCH = request("tools/call", 2, name="memory_search", arguments={"query": "ferry"})
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
TTL_HOURS = {
    "server/discover": 1,
    "tools/list": 1,
    "prompts/list": 1,
    "resources/templates/list": 1,
    "resources/list": 0,
    "resources/read": 0,
}
"""Method → how long its result may be used again: not at all where a save may change it"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Outside:
    outside = at(tmp_path_factory.mktemp("place"))
    fill(outside)
    outside.quick = True
    outside.ok("index", "--no-embed")
    return outside


@pytest.mark.sampled
@every("asked", [*HANDSHAKE_VERSIONS, "2023-01-01", "2030-01-01"])
def test_a_client_gets_its_protocol_version_or_the_newest(place: Outside, asked: str):
    with piped(place) as pipe:
        pipe.send(hello(asked), {"jsonrpc": "2.0", "method": "notifications/initialized"})
        result = pipe.next()["result"]

        expected = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        assert result["protocolVersion"] == expected
        assert result["capabilities"].keys() == {"prompts", "resources", "tools"}
        assert "memory_context" in result["instructions"]
        assert pipe.ask("ping")["result"] == {}
        assert len(pipe.ask("tools/list")["result"]["tools"]) == 11
        assert pipe.call("memory_stats")["isError"] is False
        assert pipe.end() == (0, [], "")


def test_a_client_without_a_handshake_names_the_version_in_each_request(place: Outside):
    meta = {VERSION_KEY: STATELESS_VERSIONS[-1], CAPABILITIES_KEY: {}}
    with piped(place) as pipe:
        found = pipe.ask("server/discover", _meta=meta)["result"]
        assert found["supportedVersions"] == list(STATELESS_VERSIONS)
        for method, more in (("tools/list", {}), ("tools/call", STATS)):
            result = pipe.ask(method, _meta=meta, **more)["result"]
            assert result["resultType"] == "complete"
            assert "serverInfo" in next(iter(result["_meta"]))

        for version, code in (("2031-01-01", -32022), (3, -32602)):
            refused = pipe.ask("tools/list", _meta={**meta, VERSION_KEY: version})["error"]
            assert refused["code"] == code
        assert pipe.ask("tools/list", _meta={VERSION_KEY: "2026-07-28"})["error"]["code"] == -32602
        assert pipe.ask("server/discover")["error"]["code"] == -32602
        for method in ("ping", "initialize"):
            assert pipe.ask(method, _meta=meta)["error"]["code"] == -32601
        for method, hours in TTL_HOURS.items():
            params = {"uri": f"vault:///{PLAN}"} if method == "resources/read" else {}
            result = pipe.ask(method, _meta=meta, **params)["result"]
            assert (result["ttlMs"], result["cacheScope"]) == (hours * 3_600_000, "private")
        nowhere = "vault:///nowhere.md"
        refused = pipe.ask("resources/read", _meta=meta, uri=nowhere)["error"]
        assert (refused["code"], refused["data"]) == (-32602, {"uri": nowhere})


REFUSED: list[tuple[bytes, int, object]] = [
    (b"{", -32700, None),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"', -32700, None),
    (b"\xff\xfe", -32700, None),
    (b"[" * 10_000, -32700, None),
    (b'{"jsonrpc": "2.0", "id": NaN, "method": "\\ud800"}', -32700, None),
    (b"[]", -32600, None),
    (b'"ping"', -32600, None),
    (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, 1),
    (b'{"jsonrpc": "2.0", "id": 1}', -32600, 1),
    (b'{"jsonrpc": "2.0", "id": "a", "method": 3}', -32600, "a"),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": 100000000000000000000, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/list"}', -32601, 1),
    (
        b'{"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "info"}}',
        -32601,
        1,
    ),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602, 1),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}', -32602, 1),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 3}}', -32602, 1),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}', -32602, 1),
    (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_stats", "arguments": 3}}',
        -32602,
        1,
    ),
    (
        b'{"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {"cursor": 3}}',
        -32602,
        1,
    ),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read"}', -32602, 1),
]


def test_an_invalid_line_is_answered_without_delay(place: Outside):
    with piped(place) as pipe:
        for line, code, id_ in REFUSED:
            pipe.send(b"", line)
            refused = pipe.next()
            assert (refused["jsonrpc"], refused["id"], refused["error"]["code"]) == (
                "2.0",
                id_,
                code,
            ), line
            assert refused["error"]["message"], line
            assert pipe.ask("ping")["result"] == {}
        assert pipe.end() == (0, [], "")


def test_notifications_get_no_answer(place: Outside):
    with piped(place) as pipe:
        pipe.send(
            {"jsonrpc": "2.0", "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
            {"jsonrpc": "2.0", "id": 7, "result": {}},
            {"jsonrpc": "2.0", "id": 8, "error": {"code": 1, "message": "no"}},
        )
        assert pipe.ask("ping")["result"] == {}


def test_a_lone_surrogate_in_an_argument_gets_a_plain_error(place: Outside):
    with piped(place) as pipe:
        told = pipe.call("memory_search", query="half \ud83d")

    assert told["isError"] is True
    assert "cannot take these arguments" in told["content"][0]["text"]


@every("version", HANDSHAKE_VERSIONS)
def test_an_array_of_messages_is_no_message_in_any_version(place: Outside, version: str):
    with piped(place) as pipe:
        pipe.send(hello(version))
        pipe.next()
        pipe.send([request("ping", 5), request("tools/call", 6, **STATS)], [])

        refused = [pipe.next(), pipe.next()]

        assert [(answer["id"], answer["error"]["code"]) for answer in refused] == [
            (None, -32600)
        ] * 2
        assert pipe.ask("ping")["result"] == {}


def peak(pid: int) -> int:
    """The most memory that a process had, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the process is gone")


@pytest.mark.sampled
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="memory is read from /proc")
def test_an_oversized_message_is_refused_by_its_id_without_filling_memory(place: Outside):
    huge = "x" * (8 * LARGEST)
    in_front = request("tools/call", 3, name="memory_search", arguments={"query": huge, "id": 9})
    at_end = {
        "method": "tools/call",
        "params": {"id": 9, "query": huge},
        "jsonrpc": "2.0",
        "id": "last",
    }
    inside = {"jsonrpc": "2.0", "method": "tools/call", "params": {"query": huge, "id": 9}}
    with piped(place) as pipe:
        pipe.ask("tools/list")
        before = peak(pipe.process.pid)
        for message, id_ in ((in_front, 3), (at_end, "last"), (inside, None)):
            pipe.send(message)
            refused = pipe.next()
            assert (refused["id"], refused["error"]["code"]) == (id_, -32600)
            assert "bytes" in refused["error"]["message"]
            assert pipe.ask("ping")["result"] == {}
        assert peak(pipe.process.pid) - before < 4 * LARGEST


def test_all_requests_are_answered_before_the_exit(place: Outside):
    with piped(place) as pipe:
        pipe.send(
            hello(), SEARCH, *(request("tools/call", number, **STATS) for number in range(3, 30))
        )
        code, answers, errors = pipe.end()

    assert (code, errors) == (0, "")
    assert sorted(answer["id"] for answer in answers) == list(range(1, 30))
    assert all("result" in answer for answer in answers)


def test_stdout_carries_only_the_protocol(place: Outside):
    with piped(place, "--verbose") as pipe:
        pipe.send(b"no json", hello(), SEARCH)
        answers = [pipe.next() for _ in range(3)]
        code, rest, errors = pipe.end()

    assert [answer["id"] for answer in answers] == [None, 1, 2]
    assert (code, rest) == (0, [])
    assert "Traceback" not in errors


STRAY = """
import os, subprocess, sys
from vault_memory import VaultMemory, Caller
from vault_memory.mcp.stdio import serve

def open_vault():
    print("stray", flush=True)
    os.write(1, b"stray")
    subprocess.run(["echo", "stray"], check=True)
    return VaultMemory.open(sys.argv[1])

serve(open_vault, lambda: Caller("alice"))
"""


def test_other_output_goes_to_standard_error(place: Outside):
    pipe = Pipe([sys.executable, "-c", STRAY, str(place.vault)], place.environment)

    assert pipe.call("memory_stats")["isError"] is False
    code, rest, errors = pipe.end()

    assert (code, rest) == (0, [])
    assert errors.count("stray") == 3


@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGTERM, 0), (signal.SIGINT, -signal.SIGINT)]
)
def test_a_signal_ends_the_server_without_output(place: Outside, number: int, expected: int):
    with piped(place) as pipe:
        pipe.send(hello())
        pipe.next()
        assert pipe.call("memory_stats")["isError"] is False

        pipe.process.send_signal(number)
        out, errors = pipe.process.communicate(timeout=PATIENCE_SECONDS)

    assert (pipe.process.returncode, out, errors) == (expected, b"", b"")


def test_the_server_exits_when_the_host_stops_reading(place: Outside):
    with piped(place) as pipe:
        pipe.send(hello())
        pipe.next()
        assert pipe.process.stdout is not None
        pipe.process.stdout.close()
        pipe.send(request("ping"))

        assert pipe.process.wait(PATIENCE_SECONDS) == 0


PARENT = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\\n'); child.stdin.flush()
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
def test_a_killed_client_leaves_no_server_process(place: Outside):
    command = [sys.executable, "-c", PARENT, *place.command("mcp", "--user", "alice")]
    parent = subprocess.Popen(command, env=place.environment, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert is_alive(pid)

    parent.kill()
    parent.wait(PATIENCE_SECONDS)
    parent.stdout.close()

    until(lambda: not is_alive(pid), says="the server is still there")


@pytest.mark.sampled
def test_nothing_is_lost_when_the_state_folder_of_a_running_server_is_deleted(tmp_path: Path):
    place = at(tmp_path)
    fill(place)
    place.quick = True
    place.ok("index", "--no-embed")
    note = place.vault / "Users/alice/lantern/config/USER.md"
    lock_of_an_editor = note.with_name(".USER.md.swp")
    says = ("record", "--session", "s", "--role", "user", "--user", "alice")
    place.ok(*says, "I sing in a choir.")
    with piped(place) as pipe:
        added = pipe.call("memory_remember", text="Sings in a choir")
        shutil.rmtree(place.state)
        place.ok(*says, "I own a red kite.")
        lock_of_an_editor.write_bytes(b"b0VIM 9.1" + bytes(1000))
        waits = pipe.call("memory_remember", text="Owns a red kite")
        found = pipe.call("memory_search", query="choir")
        code, _, errors = pipe.end()
    lock_of_an_editor.unlink()
    place.ok("remember", "Plays the flute", "--user", "alice")

    assert added["structuredContent"]["outcome"] == "added"
    assert waits["content"][0]["text"].startswith(
        "pending: Users/alice/lantern/config/USER.md (an editor has the note"
    )
    assert "Sings in a choir" in json.dumps(found)
    assert (code, errors) == (0, "")
    assert all(
        text in note.read_text()
        for text in ("Sings in a choir", "Owns a red kite", "Plays the flute")
    )


def test_an_unreachable_vault_is_reported_to_the_model_until_it_returns(tmp_path: Path):
    place = at(tmp_path)
    fill(place)
    place.quick = True
    place.ok("index", "--no-embed")
    away = place.vault.with_name("away")
    with piped(place) as pipe:
        assert pipe.ask("ping")["result"] == {}
        place.vault.rename(away)
        told = pipe.call("memory_get", note=PLAN)
        listed = pipe.ask("resources/list")
        away.rename(place.vault)
        back = pipe.call("memory_get", note=PLAN)

    assert told["isError"] is True
    assert told["content"][0]["text"].startswith("error: ")
    assert str(tmp_path) not in json.dumps([told, listed])
    assert listed["error"]["code"] == -32603
    assert "Paint the ferry" in json.dumps(back)


@every(
    "said",
    ["", "--user=", "--user=alice --scope=x", "--user=\udcff", "--user=alice --group=\udcff"],
)
def test_a_server_without_a_named_person_refuses_to_start(place: Outside, said: str):
    done = place.here("mcp", *said.split())

    assert done.code == 2
    assert done.err.startswith("error: ")
    assert done.out == ""


def test_a_missing_vault_is_reported_at_the_start(place: Outside):
    done = place.bare("mcp", "--user", "alice", "--vault", str(place.vault / "none"))

    assert done.code == 4
    assert done.err.startswith("error: ")


WITHOUT_SDK = (
    "import sys; sys.modules['mcp'] = None\nfrom vault_memory.cli import main\nmain(sys.argv[1:])"
)


@pytest.mark.sampled
def test_the_server_needs_no_optional_package(place: Outside):
    command = [
        sys.executable,
        "-c",
        WITHOUT_SDK,
        *place.command("mcp", "--user", "alice")[len(PROGRAM) :],
    ]
    pipe = Pipe(command, place.environment)
    pipe.send(hello(), SEARCH)
    code, answers, errors = pipe.end()

    assert (code, errors) == (0, "")
    assert [answer["id"] for answer in answers] == [1, 2]


def portability(schema: Any, path: str) -> list[str]:
    """What of a schema some hosts or model providers refuse."""
    found = []
    if isinstance(schema, dict) and path.rpartition("/")[2] != "properties":
        if not isinstance(schema.get("type"), str):
            found.append(f"{path}: no single type")
        found += [
            f"{path}: {key}" for key in ("anyOf", "oneOf", "allOf", "$ref", "not") if key in schema
        ]
    if isinstance(schema, dict):
        nested = (
            ("properties", "items") if path.rpartition("/")[2] != "properties" else tuple(schema)
        )
        for key in nested:
            if key in schema:
                found += portability(schema[key], f"{path}/{key}")
    return found


def test_the_tool_schemas_are_valid_for_every_host(place: Outside):
    with piped(place) as pipe:
        tools = pipe.ask("tools/list")["result"]["tools"]

    problems = [
        problem
        for tool in tools
        for part in ("inputSchema", "outputSchema")
        for problem in portability(tool[part], f"{tool['name']}.{part}")
    ]
    assert problems == []


def test_the_important_tools_are_loaded_with_the_first_request(place: Outside):
    with piped(place) as pipe:
        tools = pipe.ask("tools/list")["result"]["tools"]

    loaded = {tool["name"]: tool["_meta"] for tool in tools if "_meta" in tool}
    assert loaded.keys() == {"memory_context", "memory_search", "memory_remember"}
    assert all(meta["anthropic/alwaysLoad"] is True for meta in loaded.values())
    assert all(meta["anthropic/searchHint"] for meta in loaded.values())
