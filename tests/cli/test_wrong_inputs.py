"""What people type wrongly: each gets one sentence and the next step, and no answer is silently empty."""

import os
import re

import pytest

from tests.scenarios.outside import Outside

MIRA = ("--user", "mira")
NOT_FOUND = "no item of the section contains that; `vault-memory read NOTE` shows"
NO_SECTION = "the note has no such section; name one of these, or add one"
REFUSED_OPS = (NO_SECTION, NOT_FOUND, "unknown_op")
"""An op that is refused is an answer, with its reason"""
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
    (("undo",), "nothing was changed yet", 2),
    (("restore", "MEMORY.md"), "there is no earlier version of `MEMORY.md`", 2),
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
    # A name or a filter is empty, or can match nothing.
    (("search", "lamp", "--user", ""), "`--user` needs a name", 2),
    (("sleep", "--user", " "), "`--user` needs a name", 2),
    (("search", "lamp", "--topic", ""), "`--topic` needs a name", 2),
    (("search", "lamp", "--entity", ""), "`--entity` needs a name", 2),
    (("search", "lamp", "--path", ""), "`paths` needs a name", 2),
    (("search", "lamp", "--tag", "##"), "`tags` needs a name", 2),
    (("search", "lamp", "--where", "=x"), "names no field", 2),
    (("search", "lamp", "--where", "a=b=c"), "no note has the field `a=b=c`", 0),
    (("search", "lamp", "--path", "["), "no note is below the path `[`", 0),
    (("search", "lamp", "--since", "2031-01-01"), "left out by since: 2", 0),
    (
        ("search", "lamp", "--since", "2030-01-01", "--until", "2020-01-01"),
        "`since` (2030-01-01) is after `until` (2020-01-01)",
        2,
    ),
    (("search", "lamp", "--since", "-5 days"), "is not a date", 2),
    (("search", "lamp", "--now", "0001-01-01"), "is not a time", 2),
    (("search", "lamp", "--limit", "1e3"), "run `vault-memory search --help`", 2),
    (("append", "MEMORY.md"), "run `vault-memory append --help`", 2),
    (("facts", "--entity", "Nemo"), "no fact names `Nemo`", 0),
    (("entity", "Nemo"), "no fact names `Nemo`", 0),
    (("entity", ""), "the name is empty", 2),
    (("timeline", ""), "the name is empty", 2),
    (("about", "Nemo"), "`vault-memory facts` lists what is", 0),
    (("links", ""), "a part of it is empty", 2),
    (("links", "Nemo"), "there is no note `Nemo`", 1),
    (("inbox", "frob"), "run `vault-memory inbox --help`", 2),
    (("held", "drop", ""), "needs an id", 2),
    (("record", "--session", "", *NEW_TURN[3:], "x"), "belongs to a session", 2),
    (("index", "none.md"), "no note is at `none.md`", 0),
    (("index", "../x"), "is not a path in a vault", 2),
    (("config", "show", "recall.memory_budget"), "has the wrong number of arguments", 2),
    (("config", "set", "recall.memory_budget", "many"), "Expected `int`", 3),
    (("config", "set", "recall.memory_budget", "-4"), "write `--` before a text", 2),
    (("models", "install", "nemo"), "the models are minilm, multilingual", 2),
    (("completion", "tcsh"), "'bash', 'zsh', 'fish'", 2),
    # A path is wrong.
    (("read", ""), "a part of it is empty", 2),
    (("read", "a\nb"), "control character", 2),
    (("read", "huge.md"), "6,000,000 bytes", 1),
    (("read", "pipe.md"), "it is no plain file", 1),
    (("apply", "MEMORY.md", "--ops", ".."), "cannot be read: Is a directory", 2),
    (("apply", "MEMORY.md", "--ops", "fly.json"), "unknown_op", 1),
    (("init", "wrong.json"), "File exists", 1),
    (("init", "typo/x/y"), "does not exist, so no vault can be made in it", 4),
    (("init", "typo/x/y", "--empty"), "does not exist, so no vault can be made", 4),
    (("init", "wrong.json/x"), "does not exist, so no vault can be made in it", 4),
    (("export", "--to", "/dev/full"), "exists already", 2),
    (("--config", "binary.toml", "status"), "is not UTF-8", 3),
    (("--config", ".", "status"), "Is a directory", 3),
    (("read", "../outside.md"), "is not a path in a vault", 2),
    (("read", "/etc/passwd"), "it is absolute", 2),
    (("read", "Users"), "Users", 1),
    (("read", "link.md"), "link.md", 1),
    (("append", "image.md", "Lamps", "a red lamp"), "image.md", 2),
    (("append", "none.md", "Lamps", "a red lamp"), "none.md", 2),
    (("append", "MEMORY.md", "Moon", "a red lamp"), NO_SECTION, 1),
    (("remove", "MEMORY.md", "Lamps", "purple"), NOT_FOUND, 1),
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
    # Many vaults: a host, a fleet and a home in a bucket.
    (("host",), "Missing option '--vaults'", 2),
    (("host", "--vaults", "."), "leave `--vault` out", 2),
    (("fleet",), "Missing argument", 2),
    (("fleet", "frob"), "'frob' is not one of", 2),
    (("fleet", "add"), "`fleet add` needs a name", 2),
    (("fleet", "add", "", "--home", "s3://homes/ann"), "needs a name", 2),
    (("fleet", "add", "ann"), "needs the home of the vault", 2),
    (("fleet", "add", "ann", "--home", "s3://homes/ann"), "names no database", 3),
    (("fleet", "init", "ann"), "does not take so many arguments", 2),
    (("fleet", "drain"), "`fleet drain` needs a name", 2),
    (("fleet", "export", "ann"), "needs a new folder", 2),
    (("fleet", "forget", "ann"), "or a text to forget", 2),
    (("fleet", "host"), "names no database", 3),
    (("fleet", "status"), "names no database", 3),
    (("--config", "none.toml", "fleet", "status"), "none.toml", 3),
    (("--config", "password.toml", "fleet", "status"), "contains a password", 3),
    (("--config", "away.toml", "fleet", "status"), "does not answer", 1),
    (("remote", "add", "s3://"), "`s3://bucket/folder`", 3),
    (("remote", "add", "s3://homes/a?x=1"), "`s3://bucket/folder`", 3),
    (("remote", "add", "s3://id:key@homes/a"), "it contains keys", 3),
    (("remote", "add", "s3://homes/a", "--user", "ann"), "no user", 3),
    (("remote", "add", "s3://homes/a", "--endpoint", "127.0.0.1:9"), "not the URL of a store", 3),
    (("remote", "add", "s3://homes/a", "--credentials-file", "none"), "cannot be read", 3),
    (("remote", "add", "https://example.org", "--region", "eu"), "only for `s3://`", 3),
    (("mcp",), "does not know whose memory to serve", 2),
    (("service", "stop"), "stop", 2),
    (("service", "install", "--vaults", "people"), "exclude each other", 2),
    (("service", "install", "--vaults", ".", "--fleet"), "two kinds of host", 2),
    (("service", "install", "--port", "8377"), "--port is only for a host", 2),
    (("service", "install", "--web"), "--web is only for a host", 2),
]


@pytest.fixture
def vault(outside: Outside) -> Outside:
    outside.write("MEMORY.md", "# M\n\n## Lamps\n\n- the lamp is green\n")
    outside.write("Users/mira/memories/a.md", "# A\n\n- the lamp is red\n")
    outside.write("image.md", b"\xff\xfe\x00\x01" * 40)
    (outside.home / "secret.md").write_text("# Secret\n")
    os.symlink(outside.home / "secret.md", outside.vault / "link.md")
    (outside.home / "wrong.json").write_text('{"ops": ')
    (outside.home / "fly.json").write_text('{"ops": [{"op": "fly"}]}')
    (outside.home / "binary.toml").write_bytes(b"\xff\xfe")
    outside.write("huge.md", b"words " * 1_000_000)
    os.mkfifo(outside.vault / "pipe.md")
    (outside.home / "wrong.toml").write_text("banana = 1\n")
    (outside.home / "zone.toml").write_text('[sleep_cycle]\nzone = "Mars/Olympus"\n')
    database = "127.0.0.1:1/fleet"
    for name, account in (("password", "ann:lamp"), ("away", "ann")):
        text = f'[fleet]\ndatabase = "postgresql://{account}@{database}"\n'
        (outside.home / f"{name}.toml").write_text(text)
    outside.quick = True
    return outside


def test_the_list_has_100_inputs_and_none_twice():
    assert len({arguments for arguments, _, _ in WRONG}) == len(WRONG) >= 100


@pytest.mark.sampled
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
    if code and sentence not in REFUSED_OPS:
        message, hint = done.err.split("\n\nhint: ")
        assert message.startswith("error: ")
        assert hint.strip()
        assert done.out == ""


@pytest.mark.sampled
@pytest.mark.parametrize(
    "arguments", [case[0] for case in WRONG if case[2] and case[1] not in REFUSED_OPS], ids=str
)
def test_a_program_gets_the_same_error_as_json(vault: Outside, arguments: tuple[str, ...]):
    done = vault.run(*arguments, "--json")

    assert done.code
    assert {"code", "message", "hint"} <= set(done.error)
    assert done.error["hint"], done
    assert done.err == ""


def test_a_wrong_variable_is_named_and_not_the_file(vault: Outside):
    vault.settings["VAULT_MEMORY_RECALL_MEMORY_BUDGET"] = "many"

    done = vault.run("search", "lamp")

    assert "environment: VAULT_MEMORY_RECALL_MEMORY_BUDGET = 'many': Expected `int`" in done.err
    assert "vault-memory.toml" not in done.err
    assert done.code == 3


def test_an_editor_that_fails_is_named(vault: Outside):
    vault.settings["VISUAL"] = "false"

    done = vault.run("open", "MEMORY.md")

    assert done.err == "`false` ended with exit code 1\n"
    assert done.code == 1


def test_the_reason_stays_visible_after_a_very_long_line(vault: Outside):
    done = vault.run("append", "MEMORY.md", "Lamps", "a" * 50_000)
    log = vault.run("log")

    assert len(done.out) < 1_000
    assert done.out.startswith("rejected: append to Lamps: aaa")
    assert re.search(r"a…: too_long \(the text is too long .*\)\n$", done.out)
    assert len(log.out) < 1_000
