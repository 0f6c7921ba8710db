"""The sessions: which commands are given, about which vault."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.goldens.rich_vault import build
from tests.goldens.sandbox import Sandbox

PAYLOADS = Path(__file__).resolve().parents[1] / "addons" / "hosts" / "payloads"
MIRA = "Users/mira/lantern/config/USER.md"
TOMAS = "Users/tomas/lantern/config/USER.md"
RULES = "Users/mira/lantern/config/RULES.md"


@dataclass(frozen=True)
class Command:
    """One command line. `{last}` and its like stand for ids that the session made."""

    line: str
    stdin: str = ""
    bare: bool = False
    """without `--vault` and `--now`"""
    process: bool = False
    """as a process of its own, for what reads and writes without Python's streams"""
    json: bool = True
    """whether `--json` is added where JSON is asked for"""


@dataclass(frozen=True)
class Save:
    """Somebody saves a file of the vault with an editor."""

    path: str
    text: str


@dataclass(frozen=True)
class Session:
    """Command lines about one vault."""

    name: str
    prepare: Callable[[Sandbox], None]
    steps: tuple[Command | Save, ...]
    changes: bool = False
    """whether the stored file ends with the files of the vault that changed"""
    json: bool = True
    """whether it is told a second time, as JSON"""


def lines(text: str) -> tuple[Command, ...]:
    """One command a line."""
    return tuple(Command(line.strip()) for line in text.strip().splitlines())


def ops(*given: object) -> str:
    """Ops as the standard input of `apply`."""
    return json.dumps({"ops": given})


def event(host: str, name: str, **changes: object) -> str:
    """What a host says, as the standard input of `hook`."""
    stored = json.loads((PAYLOADS / f"{host}-{name}.json").read_text(encoding="utf-8"))["payload"]
    return json.dumps({**stored, **changes})


def nothing(sandbox: Sandbox) -> None:
    """An empty folder."""


def messages(*calls: tuple[str, dict[str, object]]) -> str:
    """Requests of an MCP client, one a line."""
    requests = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(calls, 1)
    ]
    return "".join(f"{json.dumps(request)}\n" for request in requests)


def tool(name: str, /, **arguments: object) -> tuple[str, dict[str, object]]:
    """One call of a tool."""
    return "tools/call", {"name": name, "arguments": arguments}


CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "x", "version": "1"},
}
MCP = messages(
    ("initialize", CLIENT),
    ("resources/list", {}),
    ("resources/read", {"uri": "vault:///Users/mira/memories/chinese-lessons.md"}),
    tool("memory_search", query="where is the spare key?", limit=3),
    tool("memory_context", prompt="the spare key"),
    tool("memory_get", note=MIRA, first_line=1),
    tool("memory_entity", name="petrel"),
    tool("memory_remember", text="The lamp oil comes in May"),
    tool("memory_nothing"),
    tool("memory_search"),
    ("nothing", {}),
)

READING_SAMPLE = lines(f"""
    index
    index Users/mira
    index --rebuild --no-embed
    status
    stats
    doctor
    notes
    notes --user tomas
    notes --channel harbour --group main
    read {MIRA}
    read SOUL.md
    read memory/slipway-board.md
    search where is the spare key of the lighthouse?
    search key --limit 3 --why
    search boat --user mira --since 2026-05-01 --until 2026-05-31
    search boat --channel harbour
    search boat --channel harbour --user mira --private --limit 4
    search chess --user tomas --mode keyword
    search chess --user tomas --mode semantic
    search storm --kind dated --limit 2
    search tea --topic drinks
    search "what did Mei Lin bring last week?" --entity "Mei Lin" --limit 3
    search zzzzqqqq
    context --all "where is the spare key?"
    context --user mira "where is the spare key?"
    context --user tomas --purpose briefing
    context --channel harbour --user mira
    context --channel harbour --user mira --private "chess"
    context --user mira --budget 800
    context --user mira --confirmation "the order of lamp oil"
    facts
    facts --user mira
    facts --entity petrel --on 2026-05-01
    timeline petrel
    timeline mira --user mira
    entity "Mei Lin"
    entity petrel
    log
    log --limit 1
    history {MIRA}
    inbox
    conflicts
    trash
    remote status
    sleep --dry-run
    export --to <BASE>/out
    export --to <BASE>/out.jsonl --user mira
    export --to <BASE>/out.jsonl
""")

WRITING_SAMPLE = (
    *lines(f"""
        index
        append {MIRA} Preferences "likes figs"
        append {MIRA} Preferences "likes figs"
        append {MIRA} "No such heading" "likes figs"
        append {MIRA} Preferences "drinks mint tea" --dry-run
        add-heading {MIRA} Winter "the stove needs wood" "the gutter freezes"
        remove {MIRA} Winter "the gutter freezes"
        replace {MIRA} Winter "the stove needs wood" "the stove needs birch wood"
        replace {MIRA} Preferences "no such item" "x"
        log
        log {MIRA} --limit 2
        undo {{last}} --dry-run
        undo {{last}}
        undo {{last}}
        history {MIRA}
        restore {MIRA} --revision {{oldest {MIRA}}}
        restore {MIRA} --revision ffffffff
        read {MIRA} --revision {{oldest {MIRA}}}
    """),
    Command(
        f"apply {TOMAS} --ops -",
        ops(
            {"op": "append", "heading": "Preferences", "line": "plays the Dutch defence"},
            {"op": "append", "heading": "Nowhere", "line": "x"},
            {"op": "fly"},
        ),
    ),
    Command(
        f"apply {TOMAS} --ops - --source tool",
        ops({"op": "remove", "heading": "Preferences", "match": "Sleeps late"}),
    ),
    Command(f"apply {TOMAS} --ops - --expected 0000", ops()),
    Command(f"apply {TOMAS} --ops -", "not json"),
    Save(
        MIRA,
        "# Mira\n\n## About\n\n- keeps the light\n- keeps a cat\n\n## Preferences\n\n- likes figs\n",
    ),
    *lines(f"""
        append {MIRA} Preferences "likes pears"
        log {MIRA} --limit 1
        remember "The lamp oil is stored in the cellar" --user mira
        remember "Always answer in short sentences" --user mira
        remember "Never mention the storm" --user mira --source tool
        remember "The harbour master is on leave" --channel harbour --dry-run
        add-fact mira owns "a small boat" --user mira --from 2026-01-01
        add-fact mira lives_in Ostervik --user mira --from 2026-05-20
        add-fact mira lives_in Ostervik --user mira --dry-run
        facts --user mira --entity mira
        confirm "{{fact owns a small boat}}"
        correct "{{fact owns a small boat}}" "a small sailing boat"
        invalidate "{{fact a small sailing boat}}"
        delete-fact 0000000000
        delete-fact "{{fact learns Chinese}}" --source tool
        delete-fact "{{fact learns Chinese}}"
        timeline mira --user mira
        inbox
        inbox approve {{proposal}}
        inbox
        inbox reject nothing
        forget "lamp oil is stored" --dry-run
        forget "lamp oil is stored" --yes
        forget "lamp oil is stored" --yes
        forget a --yes
        search "lamp oil cellar"
        log
        status
        stats
        doctor
    """),
)

TALKING = lines("""
    record "My sister Anneke comes on the 12th of June" --session s1 --role user --user mira
    record "Noted: Anneke comes on the 12th of June." --session s1 --role assistant --user mira
    record "I prefer rye bread to white bread" --session s1 --role user --user mira
    record "Remember that the boat shed key is under the blue stone" --session s1 --role user --user mira
    record "I work as a boat builder now" --session t1 --role user --user tomas
    record "The harbour is shut on Mondays" --session c1 --role user --user tomas --channel harbour
    record "Secret" --session s2 --role user --user mira --mode incognito
    record "Backup done" --session s3 --role user --user mira --automated
    record "x" --session s3 --role nobody --user mira
    record "x" --session unknown --role user
    search "blue stone" --user mira
    search "blue stone" --user mira --session s1
    context "where is the shed key?" --user mira --session s9
    end-session s1 --user mira
    end-session s1 --user mira
    end-session none
    sleep --user mira --dry-run
    sleep
    sleep
    sleep --due
    search "rye bread" --user mira
    facts --user tomas
    inbox
    log
    status
    forget "blue stone" --yes
    search "blue stone" --user mira
""")

READING_RICH = lines("""
    index
    status
    stats
    doctor
    notes
    notes --user zoë
    notes --group club
    read Users/zoë/bot/config/USER.md
    read "Users/li wei/memories/long.md"
    read "notes/Crème brûlée.md"
    search lantern
    search 茶
    search "crème brûlée"
    search "who breeds quokkas?" --user zoë --why
    search alder --user "li wei" --limit 5
    search alder --channel kitchen
    search alder --channel kitchen --user zoë --private
    search "table" --limit 2
    search "yesterday" --limit 3
    context --user zoë "quokkas"
    context --user "li wei" "table of boats"
    context --channel kitchen --user zoë
    context --channel kitchen --user zoë --private --group club "soup"
    facts
    facts --entity zoë
    facts --on 2025-06-01
    timeline zoë
    entity zoë
    entity zo
    entity alder
    conflicts
    conflicts --diff
    inbox
    trash
    log
    export --to <BASE>/out
""")

WRITING_RICH = (
    *lines("""
        index
        conflicts
        conflicts merge {copy} --dry-run
        conflicts merge --all
        conflicts merge --all --both
        conflicts
        trash
        trash restore {trash}
        trash restore nothing
        conflicts discard {copy}
        append Users/zoë/bot/config/USER.md Food "no nuts"
        append "notes/Crème brûlée.md" Steps "serve at once"
        append notes/windows.md Two "a line of unix"
        append notes/frontmatter.md Body "below the front matter"
        append notes/new.md Body "a note that is not there"
        append groups/club/MEMORY.md Meetings "bring cups"
        append ../outside.md x y
        append SOUL.md Voice "be brief"
    """),
    Command(
        "apply Users/zoë/bot/config/USER.md --ops - --source tool",
        ops(
            {"op": "append", "heading": "Food", "line": "likes soup"},
            {"op": "replace", "heading": "Food", "match": "no nuts", "line": "nuts are fine"},
            {"op": "remove", "heading": "About", "match": "breeds quokkas"},
        ),
    ),
    *lines("""
        inbox
        inbox approve {proposal}
        inbox reject {proposal}
        inbox
        add-fact zoë lives_in Bergen --user zoë --from 2026-04-01 --temporary
        add-fact zoë lives_in Oslo --user zoë --from 2026-05-01
        add-fact zoë has_friend "Li Wei" --user zoë --source tool --confidence 0.4 --ref talk:1
        timeline zoë --user zoë
        correct "{fact zoë lives_in Oslo}" Tromsø --from 2026-05-02
        correct "{fact zoë lives_in Tromsø}" --subject "li wei" --source tool
        remember "Zoë is allergic to hazelnuts" --user zoë
        remember "Always put soup first" --channel kitchen
        forget quokkas --yes --user zoë
        undo {last}
        import <BASE>/claude/CLAUDE.md
        import <BASE>/claude/CLAUDE.md
        import <BASE>/openclaw --dry-run
        import <BASE>/openclaw --user zoë
        import <BASE>/nothing
        log
        status
        doctor
    """),
)

ERRORS = (
    *lines("""
        status
        read none.md
        read ../outside.md
        read /etc/hostname
        read README.txt
        history none.md
        restore none.md --revision 00
        undo zzzz
        search
        search key --mode clever
        search key --limit 0
        search key --since tomorrow
        search key --user nobody
        search key --kind nothing
        context
        context --user nobody
        context --purpose party
        append a.md
        append a.md b c --source king
        forget
        forget ""
        forget key
        facts --on someday
        entity nobody
        timeline nobody
        correct 00
        confirm 00
        inbox approve
        inbox approve 00
        conflicts merge
        conflicts merge 00
        trash restore
        import nothing.db
        install nothing
        install claude-code
        service install --for nothing
        sync --once
        sync
        remote test
        remote add
        remote add ftp://example.invalid/x
        remote add http://example.invalid/x --user mira
        sleep --user nobody
        serach key
        --nothing
        --now never status
        status --nothing
        status extra
        export --to <VAULT>/SOUL.md
        init <VAULT>
        init <VAULT> --copied --moved
    """),
    Command("status", bare=True),
    Command("status --vault <BASE>/missing", bare=True),
    Command("status --vault <BASE>/broken.toml", bare=True),
    Command("status --vault <VAULT> --config <BASE>/missing.toml", bare=True),
    Command("status --vault <VAULT> --config <BASE>/broken.toml", bare=True),
    Command("status --vault <VAULT> --config <BASE>/wrong.toml", bare=True),
    Command("serve --vault <VAULT> --config <BASE>/wrong.toml", bare=True),
    Command("serve --vault <VAULT>", bare=True),
    Command("init <BASE>/made", bare=True),
    Command("init <BASE>/made --empty", bare=True),
    Command("init <BASE>/empty --empty", bare=True),
    Command("status --vault <BASE>/made", bare=True),
)

HOSTS = (
    *lines("""
        install claude-code --user mira --dry-run
        install claude-code --user mira
        install claude-code --user mira --allow
        install claude-code --user mira --uninstall
        install codex --user mira --dry-run
        install gemini-cli --user mira --dry-run
        install opencode --user mira --dry-run
        install cursor --user mira --dry-run
        install vscode --user mira --dry-run
        install windsurf --user mira --dry-run
        install zed --user mira --dry-run
        install zed --project . --user mira --dry-run
        install windsurf --project . --user mira
        install --check
        install claude-desktop --user mira --dry-run
        install openclaw --user mira --dry-run
        install hermes --user mira --dry-run
        service install --dry-run --for systemd --user
        service install --dry-run --for launchd --user
        service uninstall --dry-run --for systemd --user --name wren
    """),
)

HOOKS = (
    *(
        Command(f"hook {host} --user mira", event(host, name), process=True)
        for host in ("claude-code", "codex")
        for name in ("session-start", "user-prompt-submit", "stop", "session-end")
    ),
    Command("hook claude-code --user mira", "not json", process=True),
    Command("hook", process=True),
    Command("hook nothing", process=True),
    Command("mcp --user mira", MCP, process=True),
    Command("mcp", process=True),
    *lines("""
        search notes --user mira --limit 3
        log
    """),
)


def sample(sandbox: Sandbox) -> None:
    """The sample vault."""
    sandbox.take_sample()


def trouble(sandbox: Sandbox) -> None:
    """The sample vault, and configurations that are wrong."""
    sandbox.take_sample()
    (sandbox.base / "broken.toml").write_text("[recall\nmode = ")
    (sandbox.base / "wrong.toml").write_text(
        '[recall]\nmode = "clever"\nmemory_budget = "much"\n[nothing]\nx = 1\n[sleep_cycle]\nhour = "late"\n'
    )


SESSIONS = (
    Session("sample-reading", sample, READING_SAMPLE),
    Session("sample-writing", sample, WRITING_SAMPLE, changes=True),
    Session("talking", sample, TALKING, changes=True),
    Session("rich-reading", build, READING_RICH),
    Session("rich-writing", build, WRITING_RICH, changes=True),
    Session("errors", trouble, ERRORS),
    Session("hosts", sample, HOSTS, changes=True),
    Session("hooks", sample, HOOKS, changes=True, json=False),
)
