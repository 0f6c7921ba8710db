"""What the bot did to a note is told in one line, to a command; no edit waits for that, or fails."""

import json
import logging
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.edits.conftest import Desk
from tests.scenarios.outside import Outside, until
from vault_memory import config
from vault_memory.api.vault_memory import VaultMemory
from vault_memory.edits.notifier import Announcer

SECRET = "spare key under the red gull"
NOTE = "# Me\n\n## Tea\n\n- green\n"


class Channel:
    """A command that keeps the lines that it gets, and waits while the file `hold` exists."""

    def __init__(self, folder: Path) -> None:
        self.hold = folder / "hold"
        self._log = folder / "lines"
        program = 'while [ -e "$1" ]; do sleep 0.02; done; cat >> "$2"'
        self.command = ("/bin/sh", "-c", program, "sh", str(self.hold), str(self._log))

    @property
    def lines(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []


@pytest.fixture
def channel(tmp_path: Path) -> Channel:
    folder = tmp_path / "channel"
    folder.mkdir()
    return Channel(folder)


def announcing(
    desk: Desk, *, command: tuple[str, ...] = (), timeout: float = 5.0, most: int = 100
) -> Announcer:
    announcer = Announcer(command, timeout=timeout, most_waiting=most)
    desk.options["tell"] = announcer.tell
    return announcer


def python(program: str, *arguments: object) -> tuple[str, ...]:
    return (sys.executable, "-c", program, *map(str, arguments))


def test_a_command_gets_one_line_per_edit_without_text_of_the_note(desk: Desk, channel: Channel):
    announcer = announcing(desk, command=channel.command)

    desk.do(
        {"op": "append", "heading": "Tea", "line": SECRET},
        {"op": "append", "heading": "Tea", "line": "white"},
        {"op": "add_heading", "heading": "Secret plans", "lines": [SECRET]},
        source="tool",
    )
    desk.do({"op": "remove", "heading": "Tea", "match": SECRET}, source="nightly")
    desk.do({"op": "remove", "heading": "Tea", "match": "green"}, source="nightly")
    announcer.close()

    assert channel.lines == [
        "USER.md: added 3 lines",
        "USER.md: removed 1 line",
        "USER.md: proposed: 1 change",
    ]
    assert not any(
        word in str(channel.lines) for word in ("gull", "white", "green", "plans", "Tea")
    )


def test_a_command_gets_the_line_on_standard_input_without_a_shell(desk: Desk, tmp_path: Path):
    log = tmp_path / "log $(touch oops); x"
    program = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"
    announcer = announcing(desk, command=python(program, log))

    desk.append("white", source="tool")
    announcer.close()

    assert log.read_text() == "USER.md: added 1 line\n"


def test_edits_of_a_person_and_edits_without_effect_are_not_announced(desk: Desk, channel: Channel):
    announcer = announcing(desk, command=channel.command)

    edit = desk.append("white", source="cli")
    desk.undo(edit.audit_id)
    desk.append("green", source="tool")
    desk.append("# no line", source="tool")
    announcer.close()

    assert channel.lines == []


def test_a_waiting_write_is_announced_once_when_it_is_done(desk: Desk, channel: Channel):
    announcer = announcing(desk, command=channel.command)
    path = desk.vault / "USER.md"
    path.chmod(0o444)
    assert desk.append("white", source="tool").pending

    path.chmod(0o644)
    desk.curator.tend(desk.now)
    desk.curator.tend(desk.now)
    announcer.close()

    assert channel.lines == ["USER.md: added 1 line"]


def test_a_hanging_channel_delays_no_edit(desk: Desk, channel: Channel):
    channel.hold.touch()
    announcer = announcing(desk, command=channel.command, timeout=600)

    for number in range(3):
        desk.append(f"tea {number}", source="tool")
    assert channel.lines == [], "an edit waited for the channel"
    assert [line for line in desk.text().splitlines() if "tea " in line] == [
        "- tea 0",
        "- tea 1",
        "- tea 2",
    ]

    channel.hold.unlink()
    announcer.close()
    assert len(channel.lines) == 3


@pytest.mark.parametrize("program", ["/no/such/program", "/bin/false"])
def test_a_failing_command_is_logged_once_and_the_edits_are_kept(
    desk: Desk, caplog: pytest.LogCaptureFixture, program: str
):
    announcer = announcing(desk, command=(program, "s3cret"))

    with caplog.at_level(logging.WARNING):
        for line in ("white", "black"):
            desk.append(line, source="tool")
        announcer.close()

    assert len(desk.records()) == 2
    [said] = [
        record.getMessage() for record in caplog.records if "cannot send" in record.getMessage()
    ]
    assert "s3cret" not in said


def test_a_failure_after_a_success_is_logged_again(
    desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    broken = tmp_path / "broken"
    announcer = announcing(
        desk, command=("/bin/sh", "-c", 'cat; test ! -e "$1"', "sh", str(broken))
    )

    with caplog.at_level(logging.WARNING):
        for number in range(4):
            broken.touch() if number % 2 else broken.unlink(missing_ok=True)
            desk.append(f"tea {number}", source="tool")
            announcer.close()

    said = [record for record in caplog.records if "cannot send" in record.getMessage()]
    assert len(said) == 2


def test_a_command_that_takes_too_long_is_killed_with_its_children(desk: Desk, tmp_path: Path):
    alive = tmp_path / "alive"
    child = f"import time; time.sleep(1.0); open({str(alive)!r}, 'w')"
    program = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    announcer = announcing(desk, command=python(program), timeout=0.5)

    desk.append("white", source="tool")
    announcer.close()

    time.sleep(1.2)
    assert not alive.exists()


def test_the_queue_of_announcements_is_bounded(desk: Desk, channel: Channel):
    channel.hold.touch()
    announcer = announcing(desk, command=channel.command, most=2)

    for number in range(6):
        desk.append(f"tea {number}", source="tool")
    channel.hold.unlink()
    announcer.close()

    assert 2 <= len(channel.lines) <= 4
    assert len(desk.records()) == 6


@pytest.mark.parametrize("told", [True, False])
def test_the_configuration_sets_the_channel_or_disables_it(
    outside: Outside, channel: Channel, tmp_path: Path, told: bool
):
    outside.write("USER.md", NOTE)
    file = tmp_path / "vault-memory.toml"
    file.write_text(
        f'[embedding]\nkind = "off"\n[curation]\nsummary_command = {json.dumps(channel.command)}\n'
        f"[sleep_cycle]\ncuration_log_summary = {str(told).lower()}\n"
    )
    outside.settings = {"VAULT_MEMORY_CONFIG": str(file)}

    assert outside.run("append", "USER.md", "Tea", "white", "--source", "tool").code == 0

    assert channel.lines == (["USER.md: added 1 line"] if told else [])


def test_a_daemon_announces_the_waiting_edits_it_applies(
    outside: Outside, channel: Channel, tmp_path: Path
):
    path = outside.write("USER.md", NOTE)
    file = tmp_path / "vault-memory.toml"
    file.write_text(f"[curation]\nsummary_command = {json.dumps(channel.command)}\n")
    with outside.daemon(CONFIG=str(file)):
        path.chmod(0o444)
        assert outside.run("append", "USER.md", "Tea", "white", "--source", "tool").code == 75
        path.chmod(0o644)
        until(lambda: channel.lines == ["USER.md: added 1 line"])


def test_without_a_channel_no_thread_is_started(desk: Desk):
    before = threading.active_count()
    announcer = announcing(desk)

    desk.append("white", source="tool")

    assert threading.active_count() == before
    announcer.close()


def test_the_summary_command_is_configured_as_a_list(tmp_path: Path):
    file = tmp_path / "vault-memory.toml"
    file.write_text('[curation]\nsummary_command = ["notify", "--quiet"]\n')

    assert config.load(file, {}).curation.summary_command == ("notify", "--quiet")


def test_the_vault_announces_edits_to_the_configured_channel(outside: Outside, channel: Channel):
    outside.write("USER.md", NOTE)
    asked = config.Config(
        embedding=config.EmbeddingSettings(kind="off"),
        curation=config.Curation(summary_command=channel.command),
    )
    with VaultMemory.open(outside.vault, asked, environment=outside.environment) as memory:
        memory.apply("USER.md", [{"op": "append", "heading": "Tea", "line": "white"}])

    assert channel.lines == ["USER.md: added 1 line"]
