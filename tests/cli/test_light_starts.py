"""What a command that lives shortly loads: each module costs it time. The times themselves are the benchmarks'."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

from tests.scenarios.outside import Outside

HAS_CODE = """
import sys
def has_code(name):
    # A package of ours that holds nothing but its modules costs next to nothing.
    module = sys.modules[name]
    own = name.startswith("vault_memory") and hasattr(module, "__path__")
    return not own or any(getattr(v, "__module__", "") == name for v in vars(module).values())
"""
"""For a script: a function that tells whether a module that is loaded holds code"""
RUN_COMMAND = """
from vault_memory import command_line
# A hook on a busy computer would give up before it has loaded what it needs.
command_line.HOOK_SECONDS = 60.0
from vault_memory.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
"""
"""For a script: runs the command of its arguments to its end"""
SCRIPT = f"""
{HAS_CODE}
{RUN_COMMAND}
print(*filter(has_code, list(sys.modules)), file=sys.stderr)
"""
PATIENT = """
from vault_memory import command_line
from vault_memory.api import exchange
command_line.DAEMON_SECONDS = exchange.SIGN_SECONDS = 60.0
"""
"""A busy computer needs longer than a command waits for a daemon. Each has loaded these two when it has asked one."""
HEAVY = {
    "rich",
    "msgspec",
    "requests",
    "urllib3",
    "numpy",
    "watchdog",
    "markdown_it",
    "asyncio",
    "filelock",
}
WRITING = {
    "vault_memory.vault.write.writer",
    "vault_memory.vault.write.journal",
    "vault_memory.edits.editor",
}
NIGHTS = {
    "vault_memory.learning.cycle",
    "vault_memory.models.base",
    "vault_memory.sync.engine",
    "vault_memory.remote.webdav",
}
ASKING = {
    "vault_memory.search.query",
    "vault_memory.context.gather",
    "vault_memory.context.blocks",
    "vault_memory.index.fts_search",
    "vault_memory.search.freshness",
    "vault_memory.ingest.scan",
}
FACTS = {"vault_memory.rules.facts.fact", "vault_memory.markdown.note_items"}
NEVER = HEAVY | WRITING | NIGHTS
NO_HOOK = {"click", "dataclasses", "inspect", "logging"}
"""They cost a hook a fifth of its time: `dataclasses` loads `inspect`, and compiles the methods of each class"""
SAID = {"session_id": "s", "prompt": "who trimmed the lamp?"}


def loaded_modules(
    outside: Outside,
    *arguments: str,
    said: object = None,
    text: str | None = None,
    beside: bool = False,
    **environment: str,
) -> set[str]:
    """The modules that a command has loaded when it is done; `beside` a daemon, which answers it."""
    given = json.dumps(said) if text is None else text
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            PATIENT * beside + SCRIPT,
            "--vault",
            str(outside.vault),
            *arguments,
        ],
        input=given,
        text=True,
        capture_output=True,
        env=outside.environment | environment,
        cwd=outside.home,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.fixture
def vault_with_lamp(outside: Outside) -> Iterator[Outside]:
    outside.write("memory/a.md", "- the lamp is trimmed at nine\n")
    # A socket whose name is too long for the system needs one more module.
    with tempfile.TemporaryDirectory(prefix="light-", dir="/tmp") as state:
        outside.settings["VAULT_MEMORY_STATE"] = state
        for arguments in (
            ["index", "--no-embed"],
            ["record", "--session", "s", "--role", "user", "--user", "ann", "hello"],
        ):
            assert outside.here(*arguments).code == 0
        yield outside


def test_recording_a_turn_loads_no_search_code(vault_with_lamp: Outside):
    modules = loaded_modules(
        vault_with_lamp,
        "record",
        "--session",
        "s",
        "--role",
        "user",
        "--user",
        "ann",
        "the lamp is out",
    )

    assert not modules & (NEVER | ASKING | FACTS)


def test_recording_a_turn_beside_a_daemon_loads_no_vault(vault_with_lamp: Outside):
    words = ("--session", "s", "--role", "user", "--user", "ann", "the lamp is lit")

    with vault_with_lamp.daemon():
        modules = loaded_modules(vault_with_lamp, "record", *words, beside=True)

    assert not modules & (NEVER | ASKING | FACTS | NO_HOOK)
    assert "vault_memory.api.vault_memory" not in modules


def test_a_search_loads_no_writing_code(vault_with_lamp: Outside):
    modules = loaded_modules(vault_with_lamp, "search", "lamp")

    assert not modules & (
        NEVER | FACTS | {"vault_memory.conversations.transcripts", "vault_memory.index.vectors"}
    )


def test_recording_a_hosts_prompt_loads_no_search_code(vault_with_lamp: Outside):
    said = {**SAID, "hook_event_name": "UserPromptSubmit"}
    modules = loaded_modules(
        vault_with_lamp,
        "hook",
        "claude-code",
        "--user",
        "ann",
        said=said,
        VAULT_MEMORY_MEMORY_SEARCH_AUTO_RECALL="false",
    )

    assert not modules & (NEVER | ASKING | FACTS | NO_HOOK)


def test_recalling_for_a_hosts_prompt_loads_no_code_that_writes_or_learns(vault_with_lamp: Outside):
    said = {**SAID, "hook_event_name": "UserPromptSubmit"}
    modules = loaded_modules(vault_with_lamp, "hook", "claude-code", "--user", "ann", said=said)

    assert "vault_memory.search.query" in modules
    # The results of a search are dataclasses.
    unneeded = NEVER | FACTS | {"click", "logging", "vault_memory.index.vectors"}
    assert modules & unneeded == set()


def test_starting_a_conversation_loads_no_search_code(vault_with_lamp: Outside):
    said = {**SAID, "hook_event_name": "SessionStart"}
    start = ("hook", "claude-code", "--user", "ann")
    # The first start judges what was said before, which takes more.
    loaded_modules(vault_with_lamp, *start, said={**said, "session_id": "before"})

    modules = loaded_modules(vault_with_lamp, *start, said=said)

    assert "vault_memory.context.gather" in modules
    assert not modules & (
        NEVER | FACTS | NO_HOOK | {"vault_memory.search.query", "vault_memory.index.fts_search"}
    )


def test_a_hook_with_a_running_daemon_loads_almost_nothing(vault_with_lamp: Outside):
    said = {**SAID, "hook_event_name": "UserPromptSubmit"}
    with vault_with_lamp.daemon():
        modules = loaded_modules(
            vault_with_lamp, "hook", "claude-code", "--user", "ann", said=said, beside=True
        )

    assert {name for name in modules if name.startswith("vault_memory.")} == {
        "vault_memory.cli",
        "vault_memory.cli.quick_start",
        "vault_memory.api.exchange",
        "vault_memory.command_line",
        "vault_memory.lazy",
        "vault_memory.places",
    }
    assert not modules & {
        "typing",
        "contextlib",
        "dataclasses",
        "pathlib",
        "inspect",
        "logging",
        "threading",
    }


def test_an_op_with_a_running_daemon_loads_almost_nothing(vault_with_lamp: Outside):
    vault_with_lamp.write("memory/b.md", "# B\n\n## Lamps\n\n- one\n")
    with vault_with_lamp.daemon():
        modules = loaded_modules(
            vault_with_lamp,
            "append",
            "memory/b.md",
            "Lamps",
            "the wick is in the tin",
            "--quiet",
            beside=True,
        )

    assert {name for name in modules if name.startswith("vault_memory.")} == {
        "vault_memory.cli",
        "vault_memory.cli.edit_rendering",
        "vault_memory.cli.quick_start",
        "vault_memory.cli.terminal",
        "vault_memory.api.exchange",
        "vault_memory.command_line",
        "vault_memory.lazy",
        "vault_memory.places",
        "vault_memory.rules.edits.op_words",
    }
    assert not modules & {
        "click",
        "typing",
        "contextlib",
        "dataclasses",
        "pathlib",
        "inspect",
        "logging",
        "threading",
    }


OF_QUESTIONS = {
    "vault_memory.cli",
    "vault_memory.cli.quick_start",
    "vault_memory.cli.terminal",
    "vault_memory.command_line",
    "vault_memory.api.exchange",
    "vault_memory.lazy",
    "vault_memory.places",
}
OF_OPS = OF_QUESTIONS | {"vault_memory.cli.edit_rendering", "vault_memory.rules.edits.op_words"}


@pytest.mark.parametrize(
    ("command", "rooms"),
    [
        (["search", "who trimmed the lamp?", "--why"], OF_QUESTIONS),
        (["context", "lamp", "--user", "ann", "--json"], OF_QUESTIONS),
        (["read", "memory/a.md"], OF_QUESTIONS),
        (["notes", "--user=ann"], OF_QUESTIONS),
        (["links", "memory/a.md"], OF_QUESTIONS),
        (["about", "ann"], OF_QUESTIONS),
        (["facts", "--json"], OF_QUESTIONS),
        (["timeline", "ann"], OF_QUESTIONS),
        (["entity", "ann"], OF_QUESTIONS),
        (["source", "memory/a.md:1"], OF_QUESTIONS),
        (["log", "--limit", "1"], OF_QUESTIONS),
        (["stats"], OF_QUESTIONS),
        (["apply", "memory/a.md", "--ops", "-", "--quiet"], OF_OPS),
    ],
)
def test_queries_and_ops_with_a_running_daemon_load_almost_nothing(
    vault_with_lamp: Outside, command: list[str], rooms: set[str]
):
    with vault_with_lamp.daemon():
        modules = loaded_modules(
            vault_with_lamp,
            *command,
            text='[{"op": "add_heading", "heading": "Wicks", "lines": ["in the tin"]}]',
            beside=True,
        )

    assert {name for name in modules if name.startswith("vault_memory.")} == rooms
    assert not modules & {
        "click",
        "typing",
        "contextlib",
        "dataclasses",
        "pathlib",
        "inspect",
        "logging",
        "threading",
    }


def test_a_host_gets_the_tool_list_before_anything_heavy_is_loaded(vault_with_lamp: Outside):
    requests = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in requests)
    modules = loaded_modules(vault_with_lamp, "mcp", "--user", "ann", text=lines)

    assert {"vault_memory.mcp.stdio", "msgspec"} <= modules
    assert not modules & (
        NEVER - {"msgspec"} | FACTS | {"click", "mcp", "pydantic", "anyio", "logging", "json"}
    )
    assert not {
        name for name in modules if name.startswith(("vault_memory.api", "vault_memory.index"))
    }


def test_settings_from_the_environment_load_no_converter(vault_with_lamp: Outside):
    said = {**SAID, "hook_event_name": "UserPromptSubmit"}
    settings = {"VAULT_MEMORY_MEMORY_SEARCH_AUTO_RECALL": "true"}
    modules = loaded_modules(
        vault_with_lamp, "hook", "claude-code", "--user", "ann", said=said, **settings
    )

    assert "vault_memory.search.query" in modules
    assert not modules & (NEVER | FACTS | {"click"})


def test_the_help_loads_no_other_package(vault_with_lamp: Outside):
    modules = loaded_modules(vault_with_lamp, "--help")

    assert {name for name in modules if name.startswith("vault_memory.")} == {
        "vault_memory.addons.table",
        "vault_memory.command_line",
        "vault_memory.cli",
        "vault_memory.cli.quick_start",
        "vault_memory.cli.options",
        "vault_memory.cli.root",
        "vault_memory.cli.terminal",
        "vault_memory.errors",
        "vault_memory.lazy",
    }
