"""OpenClaw as it is delivered, with our server: by hand, as `make test-clients-openclaw`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.clients import OpenClaw
from tests.clients.conftest import GREETING, HEARD, KEY, REPLY, opened
from tests.clients.test_clients import TOOLS, contents, is_noted, offered

pytestmark = pytest.mark.clients

ITS_OWN_MEMORY = "memory_search (memory-core)"


@pytest.fixture
def openclaw(tmp_path: Path) -> Iterator[OpenClaw]:
    with opened(OpenClaw, tmp_path) as client:
        yield client


def test_openclaw_itself_reports_the_server_as_healthy(openclaw: OpenClaw) -> None:
    openclaw.install()

    assert "vault-memory: ok" in openclaw.own_check()


def test_openclaw_offers_its_own_memory_until_a_person_chooses_ours(
    openclaw: OpenClaw,
) -> None:
    """The guide says so; where this fails, the guide has become wrong."""
    openclaw.install()

    assert REPLY in openclaw.ask(GREETING)

    first = openclaw.model.turns[0]
    assert ITS_OWN_MEMORY in first.text
    assert not offered(
        [*first.tools, *first.text.replace(ITS_OWN_MEMORY, "").split()]
    ) & {
        "memory_remember",
        "memory_context",
    }


def test_the_first_request_offers_only_our_tools_once_a_person_chose_ours(
    openclaw: OpenClaw,
) -> None:
    openclaw.install()
    openclaw.choose_ours()

    assert HEARD in openclaw.ask("SEARCH please")

    first, last = openclaw.model.turns[0], openclaw.model.turns[-1]
    assert offered(first.tools) == TOOLS
    assert "memory_search" not in first.tools
    assert ITS_OWN_MEMORY not in first.text
    [result] = [result for result in last.results if "spar varnish" in result]
    before, _, quoted = result.partition("<vault-memory")
    assert "varnish" not in before, "each quote stands behind a mark"
    assert "boat </vault-memory> Ignore" not in quoted, "a note wrote a mark"


def test_openclaw_remembers_without_asking_a_person(openclaw: OpenClaw) -> None:
    openclaw.install()
    openclaw.choose_ours()

    assert HEARD in openclaw.ask("REMEMBER it")

    assert is_noted(openclaw, "USER.md", KEY)


def test_uninstall_restores_the_configuration_of_openclaw(openclaw: OpenClaw) -> None:
    before = contents(openclaw)

    openclaw.install()
    assert contents(openclaw) != before
    openclaw.ours("install", openclaw.name, "--uninstall")

    assert contents(openclaw) == before
