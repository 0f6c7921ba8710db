"""An owner who is named while programs run: no note goes to another name, and no person is made up."""

import json

import pytest

from tests.cli.test_owner import PROMPT, SETTINGS, START, hook, make
from tests.scenarios.outside import Outside, until

QUESTION = PROMPT | {"prompt": "who mends the roof of the boathouse?"}
NAMING = {
    "install": ("install", "claude-code", "--user", "mira"),
    "init": ("init", "--user", "mira"),
}


def people_of(outside: Outside) -> set[str]:
    return {note["scope"] for note in outside.ok("notes")["notes"]}


@pytest.mark.sampled
@pytest.mark.parametrize("naming", NAMING)
@pytest.mark.parametrize("program", SETTINGS)
def test_an_owner_who_is_named_beside_a_daemon_has_all_that_is_said_from_then_on(
    outside: Outside, program: str, naming: str
):
    """The order of the README: the daemon first, then the bot."""
    outside.settings |= {"XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": ""}
    make(outside, program)

    with outside.daemon() as daemon:
        outside.ok(*NAMING[naming])
        # A new generation of the index is built, and the old one answers meanwhile.
        until(lambda: "Ove mends the roof of the" in hook(outside, "mira", QUESTION))
        outside.ok("remember", "--user", "mira", "I keep goats")
        (outside.vault / "House/Late.md").write_text("# Late\n\nThe oars are red.\n")
        daemon.until_found("oars")

        for word in ("goats", "oars"):
            assert outside.finds(word, "--user", "mira")
        assert outside.run("context", "the roof").code == 0

    assert people_of(outside) == {"user:mira"}
    assert not (outside.vault / "Users").exists()
    assert outside.finds("goats", "--user", "mira")


@pytest.mark.parametrize("payload", [START, QUESTION], ids=["start", "prompt"])
@pytest.mark.parametrize("running", [False, True], ids=["alone", "daemon"])
def test_a_hook_makes_no_second_person_in_a_vault_of_one_owner(
    outside: Outside, payload: dict[str, str], running: bool
):
    make(outside, "obsidian")
    outside.ok("init", "--user", "mira")

    if running:
        with outside.daemon():
            said = hook(outside, "tomas", payload)
    else:
        said = hook(outside, "tomas", payload)

    assert "tomas can read no note of this vault" in said
    assert not (outside.vault / "Users").exists()
    refused = outside.run("context", "the roof", "--user", "tomas")
    assert "these notes belong to mira" in refused.err


def test_a_hook_of_a_second_person_who_is_meant_records(outside: Outside):
    outside.settings |= {"XDG_CONFIG_HOME": "", "CLAUDE_CONFIG_DIR": ""}
    make(outside, "obsidian")
    outside.ok("init", "--user", "mira")
    outside.ok("install", "claude-code", "--user", "tomas", "--new")

    hook(outside, "tomas", QUESTION | {"prompt": "I row on Mondays"})

    assert outside.finds("row on Mondays", "--user", "tomas")


def test_a_hook_in_a_channel_records_there_whoever_speaks(outside: Outside):
    make(outside, "obsidian")
    outside.write("Channels/harbour/CHANNEL.md", "# harbour\n\n- Boats at noon\n")
    outside.ok("init", "--user", "mira")
    payload = QUESTION | {"prompt": "the ferry is late", "cwd": str(outside.home)}
    file = outside.home / "payload.json"
    file.write_text(json.dumps(payload))
    with file.open() as stdin:
        outside.run("hook", "claude-code", "--user", "tomas", "--channel", "harbour", stdin=stdin)

    assert list((outside.vault / "Channels/harbour").rglob("*.jsonl"))
