"""Vaults of a fleet: no answer, error, log or status has a word of another vault."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.addons.fleet.running import OperatedFleet, RunningHost, running_host
from vault_memory.vault.marker import ensure_marker

NAMES = ("north", "south", "harbour")
NOTE = "Users/ann/bot/config/USER.md"
ASKED = (
    ("/v1/search", {"query": "I like tea"}),
    ("/v1/search", {"query": "I like tea", "mode": "keyword", "why": True}),
    ("/v1/context", {"prompt": "what tea do I like?"}),
    ("/v1/remember", {"text": ""}),
    ("/v1/turns", {"session": "s1"}),
    ("/v1/sessions/end", {"session": "unknown"}),
    ("/v1/feedback", {"verdict": "good"}),
)
READ = (
    "/v1/notes",
    f"/v1/notes/{NOTE}",
    "/v1/notes/missing.md",
    "/v1/facts",
    "/v1/held",
    f"/v1/source?ref={NOTE}:5",
    "/healthz",
    "/openapi.json",
    "/metrics",
    "/nothing",
)


class Member(NamedTuple):
    """One vault: all of them have the same person and the same note."""

    name: str
    token: str

    @property
    def word(self) -> str:
        return f"canary{self.name}"

    @property
    def kept_word(self) -> str:
        return f"kept{self.name}"

    def foreign(self) -> list[str]:
        others = [name for name in NAMES if name != self.name]
        return [*(f"canary{name}" for name in others), *(f"kept{name}" for name in others)]


@pytest.fixture
def members(fleet_of_hosts: OperatedFleet, tmp_path: Path) -> list[Member]:
    members = []
    for name in NAMES:
        note = tmp_path / name / NOTE
        note.parent.mkdir(parents=True)
        note.write_text(f"# Ann\n\n## Likes\n\n- I like canary{name} tea\n")
        ensure_marker(tmp_path / name)
        home = fleet_of_hosts.store.new_url()
        arguments = ("--home", home, "--from", str(tmp_path / name), "--user", "ann")
        added = fleet_of_hosts.ask("fleet", "add", name, *arguments)
        members.append(Member(name, added["token"]))
    return members


@pytest.fixture
def hosts(fleet_of_hosts: OperatedFleet) -> Iterator[list[RunningHost]]:
    with ExitStack() as stack:
        yield [stack.enter_context(running_host(fleet_of_hosts, name)) for name in ("east", "west")]


def _answers(host: RunningHost, member: Member) -> Iterator[httpx.Response]:
    headers = {"authorization": f"Bearer {member.token}"}
    with httpx.Client(base_url=host.address, headers=headers, timeout=60) as client:
        for path, body in ASKED:
            yield client.post(path, json=body)
        for path in READ:
            yield client.get(path)
        for method, parameters in (
            ("tools/list", {}),
            ("tools/call", _called("memory_search", query="I like tea")),
            ("tools/call", _called("memory_get", note=NOTE)),
            ("resources/list", {}),
        ):
            yield client.post(
                "/mcp",
                json={"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters},
                headers={"accept": "application/json, text/event-stream"},
            )


def _called(name: str, **arguments: str) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


@pytest.mark.sampled
def test_no_answer_error_log_or_status_has_words_of_another_vault(
    fleet_of_hosts: OperatedFleet, members: list[Member], hosts: list[RunningHost]
) -> None:
    for member in members:
        text = f"I like {member.kept_word} tea"
        answer = hosts[0].remember(member.token, text)
        assert answer.status_code == 200, answer.text

    for host in hosts:
        for member in members:
            shown = ""
            for answer in _answers(host, member):
                seen = f"{answer.request.url} {answer.headers} {answer.text}"
                assert answer.status_code != 500, seen
                assert not [word for word in member.foreign() if word in seen], seen
                shown += answer.text
            # A test that saw nothing would find no foreign word either.
            assert member.word in shown
            assert member.kept_word in shown

    public = fleet_of_hosts.command("fleet", "status").stdout
    for host in hosts:
        public += (fleet_of_hosts.folder / f"{host.name}.log").read_text()
        public += Path(f"/proc/{host.pid}/cmdline").read_text()
    words = [word for name in NAMES for word in (f"canary{name}", f"kept{name}")]
    assert not [word for word in words if word in public]
    assert not [member.token for member in members if member.token in public]
