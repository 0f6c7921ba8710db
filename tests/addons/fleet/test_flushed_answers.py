"""A host is killed right after an answer, and its disk is lost: what the answer said is in the home."""

import shutil
from pathlib import Path

import pytest

from tests.addons.fleet.running import OperatedFleet, RunningHost, running_host, until
from vault_memory.addons.fleet.ledger.contract import LEASE_SECONDS
from vault_memory.vault.marker import ensure_marker

NOTE = "Users/ann/bot/config/USER.md"
TEXT = "# Ann\n\n## Likes\n\n- tea from the harbour\n"
TURN = {"session": "tuesday", "role": "user", "text": "I hate myself."}
SUMMARY = "The sail of the Marigold is repaired"


@pytest.fixture
def ann(fleet_of_hosts: OperatedFleet, tmp_path: Path) -> tuple[str, str]:
    """A vault of the fleet: its token and its home."""
    root = tmp_path / "notes"
    note = root / NOTE
    note.parent.mkdir(parents=True)
    note.write_text(TEXT)
    ensure_marker(root)
    home = fleet_of_hosts.store.new_url()
    added = fleet_of_hosts.ask("fleet", "add", "ann", "--home", home, "--from", str(root))
    return added["token"], home


def _lose(fleet: OperatedFleet, host: RunningHost) -> None:
    host.kill()
    shutil.rmtree(fleet.folder / "scratch" / host.name)


def test_a_summary_of_a_conversation_is_in_the_home_before_its_answer(
    fleet_of_hosts: OperatedFleet, ann: tuple[str, str]
) -> None:
    token, home = ann
    with running_host(fleet_of_hosts, "east") as east:
        assert east.ask(token, "/v1/turns", **TURN).status_code == 200
        answer = east.ask(token, "/v1/sessions/compact", session="tuesday", text=SUMMARY)
        _lose(fleet_of_hosts, east)

    assert answer.status_code == 200, answer.text
    notes = {path: raw for path, raw in fleet_of_hosts.texts(home).items() if path.endswith(".md")}
    assert SUMMARY.encode() in b"".join(notes.values())


def test_feedback_is_in_the_home_before_its_answer(
    fleet_of_hosts: OperatedFleet, ann: tuple[str, str]
) -> None:
    token, home = ann
    with running_host(fleet_of_hosts, "east") as east:
        answer = east.ask(token, "/v1/feedback", verdict="bad", text="too many questions")
        _lose(fleet_of_hosts, east)

    assert answer.status_code == 200, answer.text
    logs = [
        raw
        for path, raw in fleet_of_hosts.texts(home).items()
        if path.startswith("Users/ann/learning/feedback/")
    ]
    assert b"too many questions" in b"".join(logs)


def test_what_the_end_of_a_session_decided_is_known_to_the_next_host(
    fleet_of_hosts: OperatedFleet, ann: tuple[str, str]
) -> None:
    token, _ = ann
    with running_host(fleet_of_hosts, "east") as east:
        assert east.ask(token, "/v1/turns", **TURN).status_code == 200
        ended = east.ask(token, "/v1/sessions/end", session="tuesday")
        _lose(fleet_of_hosts, east)
    assert ended.status_code == 200, ended.text
    assert ended.json()["held"]

    with running_host(fleet_of_hosts, "west") as west:

        def is_taken() -> bool:
            answer = west.ask(token, "/v1/search", query="harbour")
            return answer.status_code == 200

        until(is_taken, seconds=2 * LEASE_SECONDS)
        held = west.get(token, "/v1/held").json()["held"]
        again = west.ask(token, "/v1/sessions/end", session="tuesday")

    assert [row["reason"] for row in held] == ["self_belief"]
    assert again.json() == {"committed": [], "held": [], "dropped": [], "waiting": []}
