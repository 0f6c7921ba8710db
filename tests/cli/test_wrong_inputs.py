"""What people type wrongly: each gets one sentence and the next step, and no answer is silently empty."""

import os

import pytest

from tests.scenarios.outside import Outside

MIRA = ("--user", "mira")
NEW_TURN = ("record", "--session", "s", "--role", "user", *MIRA)
# Command → a part of the sentence, and the exit code.
WRONG: list[tuple[tuple[str, ...], str, int]] = [
    # What is named does not exist.
    (("serch", "lamp"), "Did you mean `search`?", 2),
    (("frobnicate",), "There is no command `frobnicate`", 2),
    (("search", "lamp", "--limt", "3"), "'--limit'", 2),
    (("search", "lamp", "--user", "mrai"), "did you mean `mira`?", 2),
    (("search", "lamp", "--user", "zoe"), "no note belongs to user:zoe", 0),
    (("search", "lamp", "--channel", "zoo"), "no note belongs to channel:zoo", 0),
    (("context", "lamp", "--user", "zoe"), "no note belongs to user:zoe", 0),
    (("notes", "--user", "zoe"), "no note belongs to user:zoe", 0),
    (("held", "--user", "zoe"), "no note belongs to user:zoe", 0),
    (("sleep", "--user", "zoe"), "no note belongs to user:zoe", 0),
    (("search", "lamp", "--kind", "fact"), "the kinds are", 2),
    (("search", "lamp", "--mode", "fuzzy"), "balanced", 2),
    (("read", "Hoem.md"), "there is no note `Hoem.md`", 1),
    (("history", "none.md"), "there is no note `none.md`", 1),
    (("restore", "MEMORY.md", "--revision", "0000"), "0000", 2),
    (("undo", "zzzz"), "zzzz", 2),
    (("inbox", "approve", "zzzz"), "zzzz", 2),
    (("held", "promote", "zzzz"), "zzzz", 2),
    (("held", "promote"), "needs an id", 2),
    (("held", "maybe", "zzzz"), "'maybe' is not one of", 2),
    (("correct", "zzzz", "wasps"), "zzzz", 2),
    (("invalidate", "zzzz"), "zzzz", 2),
    (("conflicts", "take", "zzzz"), "zzzz", 2),
    (("trash", "restore", "zzzz"), "zzzz", 2),
    (("source", "zzzz"), "zzzz", 2),
    (("end-session", "none"), "none", 0),
    (("compact", "none"), "there is no conversation 'none'", 2),
    (("entity", "Nemo"), "Nemo", 0),
    (("timeline", "Nemo"), "Nemo", 0),
    (("install", "claude-cod"), "claude-code", 2),
    (("install",), "needs the name of a host", 2),
    (("layout", "obsidan"), "obsidian", 2),
    # A value is wrong.
    (("search", ""), "query", 2),
    (("search", "   "), "query", 2),
    (("search", "?!…"), "the query has no words", 0),
    (("search", "lamp " * 5000), "lamp", 0),
    (("search",), "Missing argument 'QUERY...'", 2),
    (("search", "lamp", "--limit", "0"), "1<=x<=1000", 2),
    (("search", "lamp", "--limit", "ten"), "'ten' is not a valid integer range", 2),
    (("search", "lamp", "--since", "2026-13-01"), "2026-13-01", 2),
    (("search", "lamp", "--until", "sometime"), "sometime", 2),
    (("search", "lamp", "--now", "noonish"), "is not a time", 2),
    (("context", "lamp", "--budget", "-5", *MIRA), "-5", 2),
    (("context", "lamp", "--purpose", "chatting", *MIRA), "'chat', 'briefing'", 2),
    (("context", "lamp", "--as-of", "monday", *MIRA), "is not a date", 2),
    (("add-fact", "mira", "likes", "tea", "--from", "May", *MIRA), "not a date", 2),
    (("add-fact", "mira", "likes", "tea", "--confidence", "7", *MIRA), "0<=x<=1", 2),
    ((*NEW_TURN, ""), "text", 2),
    ((*NEW_TURN[:4], "robot", *MIRA, "I row"), "robot", 2),
    ((*NEW_TURN, "--mode", "secret", "I row"), "secret", 2),
    ((*NEW_TURN, "--origin", "nobody", "I row"), "nobody", 2),
    (("record", "--session", "new", "--role", "user", "I row"), "name the person", 2),
    (("remember", "I row"), "needs exactly one person", 2),
    (("remember", "", *MIRA), "text", 2),
    (("feedback", "good", "--about", "zzzz", *MIRA), "zzzz", 2),
    (("sleep", "--again", "2026-02-30"), "is not a date", 2),
    (("forget", "x", "--yes"), "too short", 2),
    (("forget", "lamp"), "no terminal to ask on", 2),
    # A path is wrong.
    (("read", "../outside.md"), "is not a path in a vault", 2),
    (("read", "/etc/passwd"), "it is absolute", 2),
    (("read", "Users"), "Users", 1),
    (("read", "link.md"), "link.md", 1),
    (("append", "image.md", "Lamps", "a red lamp"), "image.md", 2),
    (("append", "none.md", "Lamps", "a red lamp"), "none.md", 2),
    (("append", "MEMORY.md", "Moon", "a red lamp"), "heading_missing", 1),
    (("remove", "MEMORY.md", "Lamps", "purple"), "noop_no_match", 0),
    (("apply", "MEMORY.md", "--ops", "none.json"), "none.json", 2),
    (("apply", "MEMORY.md", "--ops", "wrong.json"), "the ops are not JSON", 2),
    (("import", "none.db"), "none.db", 2),
    (("export", "--to", "../vault/copy"), "vault", 2),
    (("--config", "none.toml", "status"), "none.toml", 3),
    (("--config", "wrong.toml", "status"), "banana", 3),
    (("--config", "zone.toml", "status"), "Mars/Olympus", 3),
    (("--vault", "none", "status"), "does not exist", 4),
    (("--vault", "wrong.json", "status"), "is not a folder", 4),
    (("remote", "add", "htp://x"), "is not the URL of a WebDAV folder", 3),
    (("remote", "add", "not a url"), "is not the URL of a WebDAV folder", 3),
    (("sync",), "remote add", 3),
    (("serve", "--port", "99999"), "0<=x<=65535", 2),
    (("serve", "--new-token", "token"), "needs the person", 2),
    (("mcp",), "does not know whose memory to serve", 2),
    (("service", "stop"), "stop", 2),
]


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write("MEMORY.md", "# M\n\n## Lamps\n\n- the lamp is green\n")
    outside.write("Users/mira/memories/a.md", "# A\n\n- the lamp is red\n")
    outside.write("image.md", b"\xff\xfe\x00\x01" * 40)
    (outside.home / "secret.md").write_text("# Secret\n")
    os.symlink(outside.home / "secret.md", outside.vault / "link.md")
    (outside.home / "wrong.json").write_text('{"ops": ')
    (outside.home / "wrong.toml").write_text("banana = 1\n")
    (outside.home / "zone.toml").write_text('[sleep_cycle]\nzone = "Mars/Olympus"\n')
    outside.quick = True
    return outside


def test_the_list_has_60_inputs_and_none_twice():
    assert len({arguments for arguments, _, _ in WRONG}) == len(WRONG) >= 60


@pytest.mark.parametrize(
    ("arguments", "sentence", "code"),
    WRONG,
    ids=[" ".join(arguments)[:50] for arguments, _, _ in WRONG],
)
def test_a_wrong_input_gets_a_sentence_and_the_next_step(
    vault: Outside, arguments: tuple[str, ...], sentence: str, code: int
):
    done = vault.run(*arguments)

    told = done.out + done.err
    assert sentence in told, done
    assert done.code == code, done
    assert "Traceback" not in told
    assert "this is a bug" not in told
    # An op that is refused is an answer with its reason.
    if code and "heading_missing" not in told:
        message, hint = done.err.split("\n\nhint: ")
        assert message.startswith("error: ")
        assert hint.strip()
        assert done.out == ""


@pytest.mark.parametrize(
    "arguments",
    [case[0] for case in WRONG if case[2] and case[1] != "heading_missing"],
    ids=str,
)
def test_a_program_gets_the_same_error_as_json(
    vault: Outside, arguments: tuple[str, ...]
):
    done = vault.run(*arguments, "--json")

    assert done.code
    assert {"code", "message", "hint"} <= set(done.error)
    assert done.error["hint"], done
    assert done.err == ""
