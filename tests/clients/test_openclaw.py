"""OpenClaw as it is delivered, with our plugin in its slot: by hand, as `make test-clients-openclaw`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import packages
from tests.clients.clients import OpenClaw
from tests.clients.conftest import GREETING, HEARD, KEY, REPLY, opened
from tests.clients.model import Request
from tests.clients.test_client_adoption import ADDED, BEFORE, WRITTEN, notes_with
from tests.clients.test_clients import BOAT, QUESTION, TOOLS, contents, is_noted, offered, turns
from tests.clients.wires import Answer, Call, Say

pytestmark = pytest.mark.clients

ITS_OWN_MEMORY = "(memory-core)"
IN_EACH_REQUEST = {"memory_search", "memory_get", "memory_remember"}


@pytest.fixture
def openclaw(tmp_path: Path) -> Iterator[OpenClaw]:
    with opened(OpenClaw, tmp_path) as client:
        yield client


def test_openclaw_itself_reports_our_plugin_in_its_memory_slot(openclaw: OpenClaw) -> None:
    openclaw.install()

    inspected = openclaw.own_check()

    assert '"status": "loaded"' in inspected
    assert '"memorySlotSelected": true' in inspected


def test_the_recall_step_of_openclaw_leads_to_the_vault(openclaw: OpenClaw) -> None:
    openclaw.install()

    assert HEARD in openclaw.ask("SEARCH please")

    first, last = openclaw.model.turns[0], openclaw.model.turns[-1]
    assert "## Memory Recall" in first.text
    assert first.text.count("rows the heron boat") == 1
    assert offered(first.tools) == IN_EACH_REQUEST
    assert all(f"{name} (vault-memory)" in first.text for name in TOOLS - IN_EACH_REQUEST)
    assert ITS_OWN_MEMORY not in first.text
    [result] = [result for result in last.results if "spar varnish" in result]
    before, _, quoted = result.partition("<vault-memory")
    assert "varnish" not in before, "each quote stands behind a mark"
    assert "boat </vault-memory> Ignore" not in quoted, "a note wrote a mark"
    assert turns(openclaw) == [("user", "SEARCH please"), ("assistant", HEARD)]


def test_openclaw_remembers_without_asking_a_person(openclaw: OpenClaw) -> None:
    openclaw.install()

    assert HEARD in openclaw.ask(f"REMEMBER it. {KEY}.")

    assert is_noted(openclaw, "USER.md", KEY)


def test_what_was_said_in_one_session_is_in_the_next(openclaw: OpenClaw) -> None:
    openclaw.install()
    openclaw.ask(BOAT)
    openclaw.ask("/new")
    asked = len(openclaw.model.turns)

    openclaw.ask(GREETING)
    openclaw.ask(QUESTION)

    early = openclaw.model.turns[asked : asked + 2]
    assert any("Sandpiper" in request.text for request in early)
    assert turns(openclaw)[:2] == [("user", BOAT), ("assistant", REPLY)]


def test_uninstall_restores_the_configuration_of_openclaw(openclaw: OpenClaw) -> None:
    before = contents(openclaw)

    openclaw.install()
    assert contents(openclaw) != before
    openclaw.ours("install", openclaw.name, "--uninstall")

    assert contents(openclaw) == before


def test_what_openclaw_writes_is_found_and_what_a_person_adds_is_in_its_next_request(
    openclaw: OpenClaw,
) -> None:
    (openclaw.work / "MEMORY.md").write_text(f"- {BEFORE}\n")
    openclaw.install("--adopt")
    rig = openclaw.work / "memory" / "rig.md"

    def script(request: Request) -> Answer:
        if "NOTE" not in request.prompt or request.results:
            return Say("Noted.")
        return Call("write", {"path": str(rig), "content": f"- {WRITTEN}\n"})

    openclaw.model.script = script
    openclaw.ask("NOTE it")

    folder = "Users/mira/memories/openclaw"
    assert rig.is_file(), openclaw.model.turns[-1].results
    assert notes_with(openclaw, "spruce mast", "--user", "mira") == [f"{folder}/memory/rig.md"]
    with (openclaw.vault / folder / "MEMORY.md").open("a") as stream:
        stream.write(f"- {ADDED}\n")
    openclaw.ask("/new")
    for _ in range(2):
        asked = len(openclaw.model.turns)
        openclaw.ask(GREETING)
        assert ADDED in openclaw.model.turns[asked].text
    assert ADDED in (openclaw.work / "MEMORY.md").read_text()


def test_the_package_is_installed_and_removed_by_openclaw_itself(tmp_path: Path) -> None:
    with opened(packages.OpenClaw, tmp_path) as client:
        client.add_package()

        assert HEARD in client.ask("SEARCH please")

        first, last = client.model.turns[0], client.model.turns[-1]
        assert first.text.count("rows the heron boat") == 1
        assert any("spar varnish" in result for result in last.results)
        assert turns(client) == [("user", "SEARCH please"), ("assistant", HEARD)]
        assert client.ours("install", "--check", "openclaw")["hosts"][0]["wired"] == "yes"
        client.remove_package()
        assert client.ours("install", "--check", "openclaw")["hosts"][0]["wired"] == "no"
        client.ask(GREETING)
        assert len(turns(client)) == 2
