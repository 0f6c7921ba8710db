"""What stands in a name or a note never moves the cursor of a person's terminal, hides text or turns it round."""

import json
import os
import pty
import re
import subprocess
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.scenarios.cloud import running_cloud
from tests.scenarios.outside import Outside
from vault_memory.cli.terminal import escaped, escaped_json, shown, styled

UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CLEAR, HIDDEN, TURNED = "\x1b[2J\x1b[H", "\x1b[8m", "\u202e"
NASTY = f"lamp {CLEAR}{HIDDEN}{TURNED}\x9b31m\x07\x7fend"


@given(st.text())
@example(NASTY)
@example("two\r\nlines\rover")
def test_displayed_text_contains_no_control_characters(text: str) -> None:
    assert not UNSAFE.search(escaped(text))
    assert not UNSAFE.search(shown(text))
    assert not UNSAFE.search(COLOUR.sub("", shown(styled(text, bold=True) + text)))


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc", "Cf", "Zl", "Zp"))))
def test_text_without_control_characters_is_displayed_unchanged(text: str) -> None:
    assert shown(text) == text
    assert shown(f"{text}\n\t{text}\r\n") == f"{text}\n\t{text}\r\n"


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
@example({NASTY: [NASTY]})
def test_escaped_json_has_the_same_value_without_control_characters(value: object) -> None:
    text = escaped_json(json.dumps(value, ensure_ascii=False))

    assert json.loads(text) == value
    assert not UNSAFE.search(text)


def on_terminal(outside: Outside, *arguments: str) -> str:
    """What a terminal gets from a command."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        outside.command(*arguments),
        env={**outside.environment, "NO_COLOR": "", "TERM": "xterm"},
        cwd=outside.home,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    got = bytearray()

    def drain() -> None:
        try:
            while piece := os.read(leader, 65536):
                got.extend(piece)
        except OSError:
            return

    thread = threading.Thread(target=drain)
    thread.start()
    process.wait(120)
    thread.join(10)
    os.close(leader)
    return got.decode().replace("\r\n", "\n")


@pytest.fixture
def hostile_vault(outside: Outside) -> Outside:
    """A vault whose notes hold such characters, in a name and in the text."""
    outside.write(f"memory/a{TURNED}dm.exe.md", f"# {NASTY}\n\n- {NASTY}\n")
    outside.write("memory/b.md", f"- {NASTY} and more\n")
    outside.write(f"memory/c{HIDDEN}.md", "- not taken in\n")
    outside.write("memory/b (conflicted copy 2026-01-01 101010).md", f"- {NASTY} or less\n")
    assert outside.here("index", "--no-embed").code == 0
    assert outside.here("append", "memory/b.md", "- one more").code in (0, 1, 2, 75)
    return outside


@pytest.mark.parametrize(
    "command",
    [
        ("notes",),
        ("search", "lamp", "--why"),
        ("read", "memory/b.md"),
        ("context", "lamp"),
        ("conflicts", "--diff"),
        ("log",),
        ("history", "memory/b.md"),
        ("status", "--verbose"),
        ("doctor",),
        ("read", f"memory/{CLEAR}.md"),
        (f"{CLEAR}",),
        ("notes", "--json"),
        ("search", "lamp", "--json"),
    ],
    ids=lambda command: command[0] if command[0].isalpha() else "no such command",
)
def test_no_command_lets_a_note_control_the_terminal(
    hostile_vault: Outside, command: tuple[str, ...]
) -> None:
    got = on_terminal(hostile_vault, *command)

    assert got
    assert not UNSAFE.search(COLOUR.sub("", got))
    assert HIDDEN not in got


def test_a_note_redirected_to_a_file_is_byte_for_byte_the_same(hostile_vault: Outside) -> None:
    done = subprocess.run(
        hostile_vault.command("read", "memory/b.md"),
        env=hostile_vault.environment,
        capture_output=True,
    )

    assert done.stdout == (hostile_vault.vault / "memory/b.md").read_bytes()


def test_a_file_name_on_the_server_cannot_control_the_terminal(tmp_path, outside: Outside) -> None:
    with running_cloud() as cloud:
        vault = cloud.vault(tmp_path / "other")
        vault.ok("sync", "--once")
        cloud.server.other_client_put(f"Notes/x{TURNED}dm.exe.md", b"- lamp\n")
        cloud.server.other_client_put(f"Notes/y{CLEAR}.md", b"- lamp\n")

        done = vault.run("sync", "--once")
        got = on_terminal(vault, "sync", "--once", "--quiet")

    assert r"y\x1b[2J\x1b[H.md" in done.out
    assert not UNSAFE.search(done.out + done.err)
    assert not UNSAFE.search(COLOUR.sub("", got))
