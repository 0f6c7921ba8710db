"""The sections of the configuration: each key with its meaning and default."""

from collections import Counter
from typing import Literal, NamedTuple

from vault_memory.config.server_sections import (
    FleetSettings,
    HostSettings,
    Serve,
    TalkSettings,
    Web,
)
from vault_memory.contract import SearchMode


class LayoutPattern(NamedTuple):
    """One more kind of path that is memory, e.g. ``journal/{date}.md``."""

    path: str
    """Relative to the vault, with captures: ``{user} {bot} {channel} {group} {date} {name}`` are one
    part each, ``{path}`` is one or more, ``{date:YYYY/MM/YYYY-MM-DD}`` is a date of that form. ``*``
    is any text in one part, ``**`` any parts"""
    kind: str
    """Kind of the note: user, channel, memory, note, dated, facts, rules or reflection"""
    scope: str
    """Scope of the note, e.g. ``user:{user}`` or ``group:journal``"""


class LayoutSettings(NamedTuple):
    """Which files are memory, and to which scope they belong."""

    name: Literal["", "shared", "workspace", "obsidian", "logseq", "plain"] = ""
    """The layout; empty: the program chooses one when it first reads the vault. `vault-memory layout`
    sets it"""
    user: str = ""
    """The person who owns the notes at the root of the vault; empty: the owner that `init` asked for,
    else `main`"""
    bot: str = ""
    """Read only the folder of this bot in `Users/{user}/{bot}/config`; empty: of any bot"""
    patterns: tuple[LayoutPattern, ...] = ()
    """More paths that are memory, tried before the built-in layouts"""
    exclude: tuple[str, ...] = ()
    """Globs of files and folders that are no memory, such as `Templates` or `Archive/**/*.md`; they
    override every pattern; at most 16, each of 200 letters and 8 stars"""
    daily: str = ""
    """Pattern of the daily notes, such as `Daily/{date:YYYY/MM/YYYY-MM-DD}.md`: the bot adds to
    them what it learned on a day; empty: dated notes are in the folder `memory` or `memories`"""
    bot_folder: str = ""
    """Folder of the files that the bot writes about the owner, such as `Bot`; `.` is the top of the
    vault; empty: `Bot` in the layouts obsidian, logseq and plain, else the top"""


LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine, for which http:// is as safe as https://"""
SWITCHED_OFF = "switched off in the configuration"
"""The reason why there is no search by meaning, with `kind = "off"`"""


class EmbeddingSettings(NamedTuple):
    """How text becomes vectors. Without an embedder, search uses keywords and reports that."""

    kind: Literal["auto", "onnx", "sentence", "api", "off"] = "auto"
    """auto uses an installed embedder and never downloads"""
    model: str = "minilm"
    """minilm, multilingual, a folder, or the name of a repository on the model hub"""
    base_url: str = ""
    """For `api`: the address of an OpenAI-compatible server, up to and without `/embeddings`"""
    dimensions: int = 0
    """For `api`: the length of the vectors; 0 lets the server choose"""
    api_key_file: str = ""
    """For `api`: the file with the key, outside the vault and readable only by its owner"""


class BrainSettings(NamedTuple):
    """The model that finds memories in conversations. Without one, phrase rules find them."""

    kind: Literal["openai", "command", "rules"] = "rules"
    """openai is any server with OpenAI's protocol, local or hosted; command is your own program;
    rules needs neither, and quotes only what the user said"""
    base_url: str = ""
    """For `openai`: the address of the server, up to and without `/chat/completions`"""
    model: str = ""
    """For `openai`: the default model"""
    extraction_model: str = ""
    """For `openai`: the model that finds memories and facts"""
    curation_model: str = ""
    """For `openai`: the model that suggests edits of USER.md"""
    api_key_file: str = ""
    """For `openai`: the file with the key, outside the vault and readable only by its owner"""
    command: tuple[str, ...] = ()
    """For `command`: the program and its arguments, run without a shell; reads and writes JSON"""
    environment: tuple[str, ...] = ()
    """For `command`: environment variables to pass on, in addition to PATH and the language"""
    mode: Literal["auto", "full", "labels"] = "auto"
    """full: the model answers with JSON; labels: with one word for each turn, for models below
    about 2 billion parameters; auto: a test on a few fixed turns decides"""
    timeout_seconds: float = 120.0
    """How long to wait for a response"""
    monthly_tokens: int = 0
    """Tokens that this device may spend in a month; then phrase rules answer; 0: no limit"""
    prompts: str = ""
    """A folder with `extraction.md`, `facts.md`, `channel.md`, `curation.md` or `reflection.md` that
    replace the built-in prompts; empty: the folder `prompts` in the state folder of the vault"""


class MemorySearch(NamedTuple):
    """Whether notes and conversations are searched for a prompt."""

    enabled: bool = True
    """Add recalled lines to prompts; `search` works either way"""
    auto_recall: bool = True
    """Search for each prompt without being asked: for hooks. `context` with a question always
    searches"""
    auto_recall_limit: int = 5
    """Maximum number of recalled lines for a prompt that is searched without being asked"""


class Recall(NamedTuple):
    """How search ranks, and how much of the result goes into a prompt."""

    enabled: bool = True
    """Give memory to prompts; false: `context` and hooks return nothing"""
    memory_budget: int = 6_000
    """Maximum number of characters of all MEMORY.md notes in a prompt together; of longer ones a
    prompt gets the lines that answer it, and an empty prompt the beginning; 0: always complete"""
    mode: SearchMode = "balanced"
    """Default mode of a search"""


class Curation(NamedTuple):
    """What the bot may change in notes that people also edit."""

    human_items: Literal["propose", "edit"] = "propose"
    """The bot's edits of items that a person wrote or changed: proposed for approval, or made at
    once"""
    summary_command: tuple[str, ...] = ()
    """A command and its arguments, run without a shell, that reads one line about each edit of the
    bot from its standard input, such as `USER.md: added 2 lines`; without text of the note"""


ConflictMode = Literal["temporal", "keep_existing", "use_new", "merge", "ask"]
"""Which of two contradicting statements wins"""

ONE_VALUE = ("born_on", "married_to", "dating", "reports_to")
"""Predicates with one value at a time, whatever `single_valued` is"""


class PredicateSettings(NamedTuple):
    """How many values a predicate has at a time, and which of two wins."""

    name: str
    """Predicate, e.g. `married_to`"""
    values: Literal["one", "many"] = "one"
    """Values that hold at a time"""
    mode: Literal["", "temporal", "keep_existing", "use_new", "merge", "ask"] = ""
    """Which of two contradicting statements wins, as in `conflicts`; empty: as `conflicts` says"""


class Facts(NamedTuple):
    """Facts about people and things, in `FACTS.md`."""

    single_valued: tuple[str, ...] = ("works_at", "lives_in", "has_role", "has_status")
    """Predicates with one value at a time: a new value ends the old one"""
    conflicts: ConflictMode = "temporal"
    """Which of two values of such a predicate wins: the newer by its day, the existing one, the
    one said last, both in one line, or both until you decide in INBOX.md"""
    predicates: tuple[PredicateSettings, ...] = ()
    """Predicates with settings of their own. Without any, `born_on`, `married_to`, `dating` and
    `reports_to` have one value, and two values of `born_on` wait for you"""
    max_knowledge_facts: int = 0
    """Maximum number of facts in a prompt; 0: all facts about the user and about entities that
    the prompt names"""

    @property
    def single(self) -> frozenset[str]:
        """The predicates with one value at a time, in snake case."""
        names = {_snake_case(name) for name in (*self.single_valued, *ONE_VALUE)}
        for predicate in self.predicates:
            name = _snake_case(predicate.name)
            if predicate.values == "one":
                names.add(name)
            else:
                names.discard(name)
        return frozenset(names)

    @property
    def modes(self) -> dict[str, ConflictMode]:
        """The mode of each predicate that has one of its own, in snake case."""
        modes: dict[str, ConflictMode] = {"born_on": "ask"}
        for predicate in self.predicates:
            if predicate.mode:
                modes[_snake_case(predicate.name)] = predicate.mode
        return modes


def _snake_case(name: str) -> str:
    return "_".join(name.casefold().split())


class PersonZone(NamedTuple):
    """Time zone of a user, for the start of their night."""

    user: str
    zone: str
    """Name in the time zone database, such as `Europe/Lisbon`"""


class SleepCycle(NamedTuple):
    """What the bot does at night for each user."""

    enabled: bool = True
    """Whether `run` and `sleep --due` run nights"""
    cron: str = "0 2 * * *"
    """Start of the night, as `MINUTE HOUR * * *`"""
    zone: str = ""
    """Time zone of `cron`, such as `Europe/Lisbon`; empty: the zone of the machine"""
    zones: tuple[PersonZone, ...] = ()
    """Users in other time zones"""
    lookback_hours: int = 24
    """How far back the first night looks; each later night begins where the previous one ended"""
    memory_retention_days: int = 0
    """Dated notes older than this go to the trash; 0: never"""
    auto_load_dated_days: int = 3
    """Number of days whose dated notes go into each prompt; 0: none"""
    curate_user_memory: bool = False
    """Let the brain edit USER.md, within the limits of `[curation]`"""
    curation_log_summary: bool = True
    """Report edits of notes to `summary_command` of `[curation]`"""


class ChannelSleepCycle(NamedTuple):
    """What the bot does at night for each channel with new turns."""

    enabled: bool = True
    """Whether `run` and `sleep --due` run nights"""
    cron: str = "0 3 * * *"
    """Start of the night, as `MINUTE HOUR * * *`"""
    zone: str = "UTC"
    """Time zone of `cron`"""
    lookback_hours: int = 24
    """How far back the first night looks"""
    memory_retention_days: int = 0
    """Dated notes older than this go to the trash; 0: never"""


class Learning(NamedTuple):
    """What the bot keeps of what is said, and when."""

    episodes: bool = True
    """Whether each longer conversation is summed up in `memories/sessions`"""


class Retention(NamedTuple):
    """What expires, in addition to dated notes."""

    transcript_days: int = 0
    """Transcripts older than this go to the trash after a night has learned from them; 0: never"""
    audit_days: int = 0
    """Audit records of this device that are older than this are folded at night: they keep who
    wrote what, what was deleted, repeated and proposed, and can no longer be undone; 0: never"""


class LifecycleSettings(NamedTuple):
    """How the bot's own unconfirmed items fade. What a person wrote or confirmed never does, nor do
    USER.md, CHANNEL.md, MEMORY.md and RULES.md."""

    enabled: bool = True
    """Rank fading items lower, and leave out faded ones"""
    purge_days: int = 0
    """Days after which a deleted item is removed from its note; 0: never"""


class TranscriptSettings(NamedTuple):
    """What transcripts keep of what was said."""

    mask_secrets: bool = True
    """Whether passwords, keys and numbers of cards are left out of new turns"""


REMOTE_SCHEMES = {"https": True, "http": False}
"""Schemes of `remote.url`, and whether they are encrypted"""


class RemoteSettings(NamedTuple):
    """The folder that is synced with the vault: on a Nextcloud, another WebDAV server, or in S3."""

    url: str = ""
    """URL of the folder, without user and password, such as `s3://bucket/folder`; empty: no sync"""
    user: str = ""
    """Name of the account on the server"""
    password_file: str = ""
    """The file with the app password, outside the vault and readable only by its owner"""
    poll_seconds: float = 15.0
    """Seconds between requests for changes; 60 after an hour without changes"""
    mode: Literal["two-way", "pull", "push"] = "two-way"
    """pull only downloads changes of the server, push only uploads changes of the vault"""
    include: tuple[str, ...] = ()
    """Patterns of paths to sync, such as `Users/mira`; empty: all paths"""
    exclude: tuple[str, ...] = ()
    """Patterns of paths not to sync, such as `*.mp4`; they override `include`; at most 16, each of
    200 letters and 8 stars"""
    insist: bool = False
    """Sync both ways although the server ignores preconditions; safe if only this device writes"""
    allow_http: bool = False
    """Send the password over http:// to another machine; everyone on the way can read it"""
    ca_file: str = ""
    """File with the certificates to verify the server against; empty: those of the system"""
    proxy: str = ""
    """Proxy to the server; proxies of the environment are ignored"""
    endpoint: str = ""
    """For `s3://`: the URL of the store; empty: Amazon"""
    region: str = ""
    """For `s3://`: the region of the bucket"""
    credentials_file: str = ""
    """For `s3://`: the file with the AWS keys, in the form of `~/.aws/credentials`, outside the vault
    and readable only by its owner; empty: the AWS variables, or where boto3 looks"""


class Watch(NamedTuple):
    """How `run` detects changes."""

    poll_seconds: float = 5.0
    """Seconds between scans of a folder without events, such as a network mount"""
    sweep_seconds: float = 60.0
    """Seconds between scans of the complete vault, in addition to events"""


class Config(NamedTuple):
    """The complete configuration."""

    max_memory_chars: int = 0
    """Maximum length of the memory block of a prompt, in characters; omits recalled lines first,
    then facts, then dated notes, and never USER.md and CHANNEL.md; 0: no limit"""
    layout: LayoutSettings = LayoutSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    brain: BrainSettings = BrainSettings()
    recall: Recall = Recall()
    memory_search: MemorySearch = MemorySearch()
    curation: Curation = Curation()
    facts: Facts = Facts()
    sleep_cycle: SleepCycle = SleepCycle()
    channel_sleep_cycle: ChannelSleepCycle = ChannelSleepCycle()
    learning: Learning = Learning()
    retention: Retention = Retention()
    lifecycle: LifecycleSettings = LifecycleSettings()
    transcripts: TranscriptSettings = TranscriptSettings()
    remote: RemoteSettings = RemoteSettings()
    watch: Watch = Watch()
    serve: Serve = Serve()
    host: HostSettings = HostSettings()
    web: Web = Web()
    talk: TalkSettings = TalkSettings()
    fleet: FleetSettings = FleetSettings()


def is_table(kind: object) -> bool:
    """Return whether a type is a section of the configuration, not the type of a single value."""
    return hasattr(kind, "_field_defaults")


def facts_problems(facts: Facts) -> list[str]:
    """Return what is wrong with the settings of facts; empty when they are valid."""
    counts = Counter("_".join(row.name.casefold().split()) for row in facts.predicates)
    problems = [
        f"`predicates` names `{name}` {count} times" for name, count in counts.items() if count > 1
    ]
    if "" in counts:
        problems.append("a predicate of `predicates` has no name")
    return problems
