"""`context`: the memory block on stdout, its contract, and the same answer from the daemon."""

import pytest

from tests.cli.test_contract import has
from tests.scenarios.outside import Outside
from vault_memory.rules.context.quoting import CLOSING, INTRO, NAME

NOTES = {
    "Users/ann/bot/config/USER.md": "# Ann\n\n- Keeps bees\n",
    "Users/ann/memories/hives.md": "# Hives\n\n- The white hive stands by the brook\n",
    "Users/ben/bot/config/USER.md": "# Ben\n\n- The safe opens with 1234\n",
    "Channels/quay/CHANNEL.md": "# quay\n\n- Boats leave at noon\n",
}


@pytest.fixture
def vault(outside: Outside) -> Outside:
    for path, text in NOTES.items():
        outside.write(path, text)
    outside.quick = True
    return outside


def test_the_json_of_context_follows_the_contract(vault: Outside):
    found = vault.ok("context", "which hive stands by the brook?", "--user", "ann")

    has(found, text=str, parts=list, cut=list, freshness=dict)
    for part in found["parts"]:
        has(part, kind=str, note=str, chars=int)
    has(found["freshness"], stale_files=list, semantic=str, reason=str)
    assert [part["kind"] for part in found["parts"]] == ["user", "recalled"]
    assert found["freshness"]["reason"] == "switched off in the configuration"


def test_the_plain_output_shows_the_block_and_what_was_left_out(vault: Outside):
    done = vault.run("context", "--user", "ann", "--budget", "1", "--confirmation", "Sell it?")

    user = f'<{NAME} kind="user" note="Users/ann/bot/config/USER.md">\n# Ann\n\n- Keeps bees\n{CLOSING}'
    assert done.out == f"{INTRO}\n\n{user}\n"
    assert (
        "left out (confirmation): all of `what was given`: the block has room for 1 characters"
        in done.err
    )


def test_context_without_a_name_in_a_vault_of_several_people_is_refused(vault: Outside):
    done = vault.run("context")

    assert (done.code, done.out) == (2, "")
    assert "it is not clear whose memory to give: this vault has channel:quay, user:ann" in done.err
    assert "`--all` gives the notes of everybody" in done.err
    assert vault.run("context", "--json").error["code"] == "context_needs_name"
    assert vault.run("context", "--purpose", "briefing", "--json").code == 2


def test_all_of_the_vault_is_included_on_request(vault: Outside):
    found = vault.ok("context", "--all")

    assert [part["note"].split("/")[1] for part in found["parts"]] == ["ann", "ben", "quay"]
    assert vault.run("context", "--all", "--user", "ann", "--json").error["code"] == "usage_error"


def test_a_vault_of_one_person_and_no_channel_needs_no_name(outside: Outside):
    outside.quick = True
    outside.write("USER.md", "# Ann\n\n- Keeps bees\n")
    outside.write("MEMORY.md", "# We\n\n- The workshop closes at six\n")

    assert [part["note"] for part in outside.ok("context")["parts"]] == ["USER.md", "MEMORY.md"]
    with outside.daemon():
        assert "Keeps bees" in outside.ok("context")["text"]
        outside.write("Channels/quay/CHANNEL.md", "# quay\n\n- Boats leave at noon\n")
        assert outside.run("context", "--json").error["code"] == "context_needs_name"


def test_a_remark_names_the_notes_left_out_in_a_channel(vault: Outside):
    found = vault.ok("context", "--user", "ann", "--channel", "quay")

    reason = "what is ann's own: others read the answer in a channel; `private` includes it"
    assert found["cut"] == [{"kind": "user", "reason": reason}]
    assert vault.ok("context", "--user", "ann", "--channel", "quay", "--private")["cut"] == []
    assert (
        "left out: the notes of ann"
        in vault.run("search", "bees", "--user", "ann", "--channel", "quay").err
    )


def test_a_briefing_for_a_channel_contains_only_channel_notes(vault: Outside):
    found = vault.ok(
        "context", "--user", "ann", "--channel", "quay", "--purpose", "briefing", "the white hive"
    )

    assert [part["kind"] for part in found["parts"]] == ["channel"]
    assert vault.run("context", "--purpose", "party", "--json").code == 2
    assert vault.run("context", "--budget", "-3", "--json").code == 2


def test_the_daemon_gives_the_same_block_and_includes_the_latest_save(vault: Outside):
    # The reason that search by meaning is off tells who answers.
    vault.settings["VAULT_MEMORY_EMBEDDING_KIND"] = "api"
    more = [
        (),
        ("--private",),
        ("--purpose", "briefing"),
        ("--budget", "300"),
        ("--confirmation", "Sell?"),
        ("--session", "a"),
    ]
    where = ("--user", "ann", "--channel", "quay", "--now", "2090-01-01")
    prompts = [("context", "the white hive by the brook", *where, *options) for options in more]
    alone = [vault.ok(*prompt) for prompt in prompts]
    with vault.daemon():
        for prompt, before in zip(prompts, alone, strict=True):
            asked = vault.ok(*prompt)
            assert asked["freshness"].pop("reason") != before["freshness"]["reason"]
            assert {**asked, "freshness": None} == {**before, "freshness": None}
        vault.write("Users/ann/bot/config/USER.md", "# Ann\n\n- Keeps goats\n")

        assert "Keeps goats" in vault.ok("context", "--user", "ann")["text"]


def test_the_block_of_a_past_day_is_made_of_the_notes_of_that_day(outside: Outside):
    outside.quick = True
    outside.write("Users/ann/bot/config/USER.md", "# Ann\n")
    for day, home in (("2026-05-10", "Oslo"), ("2026-05-15", "Bergen")):
        fact = ("add-fact", "ann", "lives_in", home, "--user", "ann")
        outside.ok(*fact, "--from", day, "--now", day)

    def block(*options: str) -> str:
        now = ("--now", "2026-05-20")
        return str(outside.ok("context", "--user", "ann", *now, *options)["text"])

    assert "Bergen" in block()
    assert "Oslo" in block("--as-of", "2026-05-12")
    assert "Bergen" not in block("--as-of", "2026-05-12")
    assert outside.run("context", "--as-of", "2026-06-20", "--now", "2026-05-20").code == 2
