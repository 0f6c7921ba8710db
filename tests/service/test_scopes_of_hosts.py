"""Four vaults with three people each, on a real host: each reads its own words and no others.

Every note has a word of its own in its text, and notes of people another one in their names. A request may contain the
name of a note of somebody else; the answer never has the word in its text.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.every import every
from tests.http.test_scopes import CHANGING, ROUTES, requests_with
from tests.service.many import NOTE, Vaults, token_of
from tests.service.running_host import RunningHost, run, running_host, until
from vault_memory.mcp.tools import TOOLS
from vault_memory.vault.marker import ensure_marker

VAULTS = {"north": "bax", "south": "cev", "east": "dif", "west": "gol"}
PEOPLE = {"mira": "umbrel", "tomas": "ortal", "harbour": "inkary"}
"""Two people, and a channel that a third one speaks in"""
METRICS_TOKEN = "m" * 40
JSON = {"accept": "application/json, text/event-stream"}
VIEWS = (
    "/",
    "/search?q=marigold",
    "/log",
    "/nights",
    "/people",
    "/people/mira",
    "/about?name=marigold",
    "/facts",
    "/inbox",
    "/conflicts",
    "/trash",
    "/notes",
    "/prompt",
    "/sync",
    "/doctor",
    "/setup",
)


@dataclass(frozen=True)
class Person:
    """A token of a vault, and the words that only this token may read."""

    vault: str
    name: str

    @property
    def token(self) -> str:
        return f"{self.vault}-{self.name}-" + "t" * 32

    @property
    def word(self) -> str:
        return VAULTS[self.vault] + PEOPLE[self.name]

    @property
    def name_word(self) -> str:
        return PEOPLE[self.name] + VAULTS[self.vault]

    @property
    def words(self) -> set[str]:
        return {self.word, self.name_word}

    @property
    def note(self) -> str:
        if self.name == "harbour":
            return "Channels/harbour/CHANNEL.md"
        return f"Users/{self.name}/memories/{self.name_word}.md"

    def write(self, vaults: Vaults) -> str:
        """Writes the notes and the token, and returns its row of the configuration."""
        root = vaults.path / self.vault
        text = f"# Garden\n\n## Beds\n\n- The marigold is a {self.word}\n"
        texts = {self.note: text}
        if self.name != "harbour":
            config = f"Users/{self.name}/lantern/config"
            texts[f"{config}/FACTS.md"] = f"## marigold\n\n- is_a: {self.word}\n"
        for note, text in texts.items():
            file = root / note
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        secret = vaults.folder / f"{self.vault}-{self.name}.token"
        secret.touch(0o600)
        secret.write_text(self.token)
        is_channel = self.name == "harbour"
        user = "ann" if is_channel else self.name
        row = f'[[serve.tokens]]\nuser = "{user}"\ntoken_file = "{secret}"\n'
        return row + ('channel = "harbour"\n' if is_channel else "")


EVERYONE = [Person(vault, name) for vault in VAULTS for name in PEOPLE]
TORN = Person("torn", "ann")
"""Whose vault cannot be opened"""
ALL_WORDS = {word for person in EVERYONE for word in person.words}
IDS = [f"{person.vault}-{person.name}" for person in EVERYONE]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """A host whose people have all written something through it."""
    folder = tmp_path_factory.mktemp("hosts")
    (folder / "tmp").mkdir()
    vaults = Vaults(folder)
    for name in VAULTS:
        rows = [person.write(vaults) for person in EVERYONE if person.vault == name]
        ensure_marker(vaults.path / name)
        vaults.configure(name, "".join(rows))
    _add_torn(vaults)
    secret = folder / "metrics.token"
    secret.touch(0o600)
    secret.write_text(METRICS_TOKEN)
    settings = folder / "host.toml"
    settings.write_text(f'[serve]\nmetrics_token_file = "{secret}"\n')
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("TMPDIR", str(folder / "tmp"))
        host = stack.enter_context(
            running_host(vaults, "--web", "--config", str(settings), fresh=True)
        )
        for person in EVERYONE:
            client = host.client(person.token)
            turn = {"session": "s", "role": "user"}
            text = f"My marigold is a {person.word}"
            said = client.post("/v1/turns", json={**turn, "text": text})
            assert said.status_code == 200, said.text
            kept = client.post("/v1/remember", json={"text": text})
            assert kept.status_code == 200, kept.text
        yield host


def _add_torn(vaults: Vaults) -> None:
    vaults.add("torn")
    vaults.set_token("torn", TORN.token)
    (vaults.config_file("torn").parent / "index").write_text("no folder")


def requests_of(person: Person, name: str) -> Iterator[dict[str, Any]]:
    """Requests of a route, with each note of other people where a name fits."""
    yield from requests_with(name, "marigold")
    yield from requests_with(name, "user:mira")
    # What a person writes is in their own vault: only calls that read get foreign names.
    for other in EVERYONE if name not in CHANGING else ():
        if name in ("read_note", "source") or other.name == person.name:
            yield from requests_with(name, other.note)
        if name == "source":
            yield from requests_with(name, f"{other.note}:5")


def check(person: Person, answer: httpx.Response, folder: Path) -> None:
    """The answer has only words of this person, or of the request."""
    request = answer.request
    asked = str(request.url) + request.content.decode()
    shown = f"{answer.text}\n{answer.headers}"
    foreign = {word for word in ALL_WORDS - person.words if word in shown}
    assert not {word for word in foreign if word not in asked}, (asked, shown)
    assert str(folder) not in shown, (asked, shown)
    assert answer.status_code in (200, 400, 404, 405, 409), (asked, shown)


@pytest.mark.sampled
@every("person", EVERYONE, ids=IDS)
def test_no_route_shows_words_of_others(host: RunningHost, person: Person) -> None:
    client = host.client(person.token)
    for name in ROUTES:
        answers = []
        for request in requests_of(person, name):
            answers.append(client.request(**request))
            check(person, answers[-1], host.vaults.folder)
        # The note of a channel has no name of its own, and nobody waits for a turn.
        without_words = {"list_held", "list_facts"}
        if person.name == "harbour":
            without_words.add("list_notes")
        if name not in CHANGING | without_words:
            assert any(person.words & words_in(answer.text) for answer in answers), name


def words_in(text: str) -> set[str]:
    return {word for word in ALL_WORDS if word in text}


def call(client: httpx.Client, method: str, **params: Any) -> httpx.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post("/mcp", json=message, headers=JSON)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "memory_search": {"query": "marigold"},
    "memory_get": {},
    "memory_context": {"prompt": "what is the marigold"},
    "memory_remember": {"text": "The marigold grows in a pot"},
    "memory_compact": {"text": "- the marigold", "session": "s"},
    "memory_correct": {"fact": "a", "object": "b"},
    "memory_confirm": {"fact": "a"},
    "memory_forget": {},
    "memory_entity": {"name": "marigold"},
    "memory_source": {},
    "memory_stats": {},
}


@pytest.mark.sampled
@every("person", EVERYONE, ids=IDS)
def test_no_tool_of_mcp_shows_words_of_others(host: RunningHost, person: Person) -> None:
    client = host.client(person.token)
    assert set(ARGUMENTS) == set(TOOLS)
    answers = [call(client, "tools/list"), call(client, "resources/list")]
    for tool, arguments in ARGUMENTS.items():
        answers.append(call(client, "tools/call", name=tool, arguments=arguments))
    for other in EVERYONE:
        for tool, arguments in (
            ("memory_get", {"note": other.note}),
            ("memory_source", {"target": f"{other.note}:5"}),
            ("memory_entity", {"name": other.name_word}),
            ("memory_forget", {"note": other.note, "text": "The marigold is a"}),
        ):
            if other is not person:
                answers.append(call(client, "tools/call", name=tool, arguments=arguments))
        answers.append(call(client, "resources/read", uri=f"vault:///{other.note}"))
    for answer in answers:
        check(person, answer, host.vaults.folder)
    assert any(person.word in answer.text for answer in answers)
    for other in EVERYONE:
        text = (host.vaults.path / other.vault / other.note).read_text()
        assert other.word in text


@pytest.mark.sampled
@every("vault", VAULTS)
def test_no_page_shows_words_of_other_vaults(host: RunningHost, vault: str) -> None:
    root = host.vaults.path / vault
    printed = run(host.vaults, "web", "--link", "--vault", str(root))
    link = re.search(r"http://([^/\s]+)(/open/\S+)", printed.stdout)
    assert link, printed.stdout + printed.stderr
    name, path = link.groups()
    headers = {"host": name, "origin": f"http://{name}"}
    own = {word for person in EVERYONE if person.vault == vault for word in person.words}
    shown = ""
    with httpx.Client(base_url=host.url, headers=headers, timeout=60) as client:
        signed = client.post(path)
        assert signed.status_code == 303, signed.text
        cookie = signed.headers["set-cookie"].partition(";")[0]
        strange = [person.note for person in EVERYONE if person.vault != vault]
        for view in (*VIEWS, *(f"/note/{note}" for note in strange)):
            answer = client.get(view, headers={"cookie": cookie})
            asked = words_in(view)
            assert not words_in(f"{answer.text}{answer.headers}") - own - asked, view
            shown += answer.text
    assert own & words_in(shown)


def test_status_metrics_log_and_process_show_no_words(host: RunningHost) -> None:
    folder = str(host.vaults.path)
    status = run(host.vaults, "host", "--vaults", folder, "--status", "--json")
    metrics = host.client(METRICS_TOKEN).get("/metrics").text
    process = Path(f"/proc/{host.process.pid}")
    titles = [(process / "cmdline").read_text(), (process / "environ").read_text()]
    titles += [file.read_text() for file in process.glob("task/*/comm")]
    logs = [file.read_text() for file in host.vaults.folder.glob("host-*.log")]
    assert json.loads(status.stdout)["running"]
    assert "host_vaults" in metrics
    assert logs
    for text in (status.stdout, status.stderr, metrics, *titles, *logs):
        assert not words_in(text), text
        assert "t" * 32 not in text
    assert not any(name in metrics for name in (*VAULTS, *PEOPLE))


def test_files_of_a_vault_have_words_of_no_other(host: RunningHost) -> None:
    seen: set[str] = set()
    for file in host.vaults.folder.rglob("*"):
        if not file.is_file() or file.is_symlink():
            continue
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            continue
        words = {word for word in ALL_WORDS if word.encode() in content}
        owners = {
            name
            for name in VAULTS
            if (host.vaults.path / name) in file.parents
            or host.vaults.config_file(name).parent in file.parents
        }
        own = {word for person in EVERYONE if person.vault in owners for word in person.words}
        assert not words - own, file
        seen |= words
    assert len(owners) <= 1
    assert {person.word for person in EVERYONE} <= seen


def test_a_broken_vault_names_no_folder_and_no_other_vault(host: RunningHost) -> None:
    vaults = host.vaults
    client = host.client(TORN.token)
    answers = [
        client.get("/v1/notes"),
        client.post("/v1/search", json={"query": "marigold"}),
        call(client, "tools/list"),
    ]
    for answer in answers:
        shown = f"{answer.text}{answer.headers}"
        assert answer.status_code == 503, shown
        assert str(vaults.folder) not in shown
        assert not any(name in shown for name in (*VAULTS, "torn", TORN.token))
        assert not words_in(shown)


@pytest.mark.sampled
def test_a_vault_that_is_gone_names_no_folder(vaults: Vaults) -> None:
    vaults.add_three()
    with running_host(vaults) as host:
        assert host.search("north", "ferry")
        (vaults.path / "north").rename(vaults.folder / "away")
        client = host.client(token_of("north"))
        answers = [
            client.post("/v1/search", json={"query": "ferry"}),
            client.post("/v1/remember", json={"text": "I own a skiff"}),
            client.get("/v1/notes"),
            client.get("/v1/notes/" + NOTE),
            call(client, "tools/list"),
            call(client, "resources/list"),
        ]
        for answer in answers:
            shown = f"{answer.text}{answer.headers}"
            assert str(vaults.folder) not in shown
            assert "bittern" not in shown
            assert "south" not in shown
        assert answers[1].status_code >= 400
        assert host.search("south", "ferry")
        (vaults.folder / "away").rename(vaults.path / "north")
        assert until(lambda: client.post("/v1/search", json={"query": "ferry"}).status_code == 200)
