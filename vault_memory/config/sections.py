"""The sections of the configuration: what can be set, what it means, and what it is unless it is set."""

from typing import Literal, NamedTuple


class LayoutPattern(NamedTuple):
    """One more kind of path that is memory, e.g. ``journal/{date}.md``."""

    path: str
    """Relative to the vault; ``{user} {bot} {channel} {group} {date} {name}`` are captures"""
    kind: str
    """What the note is: user, channel, memory, note, dated, facts, rules or reflection"""
    scope: str
    """Whose it is, e.g. ``user:{user}`` or ``group:journal``"""


class Layout(NamedTuple):
    """Which files are memory, and whose."""

    user: str = "main"
    """The person whom USER.md at the root of the vault is about"""
    bot: str = ""
    """Of `Users/{user}/{bot}/config` only this bot's folder is read; empty: any"""
    patterns: tuple[LayoutPattern, ...] = ()
    """More paths that are memory, tried before the known layouts"""


class Embedding(NamedTuple):
    """How text becomes vectors. Without an embedder, search works by keywords and says so."""

    kind: Literal["auto", "onnx", "sentence", "api", "off"] = "auto"
    """auto takes what is installed, and never downloads"""
    model: str = "minilm"
    """minilm, multilingual, a folder, or the name of a repository on the model hub"""
    base_url: str = ""
    """For `api`: the address of an OpenAI-compatible server, up to and without `/embeddings`"""
    dimensions: int = 0
    """For `api`: the length of vector to ask for; 0 leaves it to the server"""
    api_key_file: str = ""
    """For `api`: a file outside the vault that only its owner can read, with the key in it"""
    timeout_seconds: float = 30.0
    """For `api`: how long to wait for one answer"""
    threads: int = 1
    """For `onnx` and `sentence`: processor threads for one text"""
    retry_seconds: float = 60.0
    """How often an embedder that is missing or failed is tried again"""


class Brain(NamedTuple):
    """Who finds what is worth remembering in what was said. Without a language model, phrases are looked for."""

    kind: Literal["openai", "command", "rules"] = "rules"
    """openai is any server that speaks OpenAI's protocol, in the house or hosted; command is a program of yours; rules
    needs neither, and quotes only what the person said"""
    base_url: str = ""
    """For `openai`: the address of the server, up to and without `/chat/completions`"""
    model: str = ""
    """For `openai`: the model that is asked where no other is named"""
    extraction_model: str = ""
    """For `openai`: the model that finds memories and facts"""
    curation_model: str = ""
    """For `openai`: the model that suggests edits of USER.md"""
    api_key_file: str = ""
    """For `openai`: a file outside the vault that only its owner can read, with the key in it"""
    command: tuple[str, ...] = ()
    """For `command`: the program and its arguments, run without a shell; it gets JSON and answers JSON"""
    environment: tuple[str, ...] = ()
    """For `command`: names of variables that it may see, beside PATH and the language"""
    timeout_seconds: float = 120.0
    """How long to wait for one answer"""
    prompts: str = ""
    """A folder with `extraction.md`, `curation.md` or `reflection.md` that are used in the place of the prompts that
    come with the program; else `prompts` in the state folder of the vault is looked into"""


class MemorySearch(NamedTuple):
    """Whether what notes and conversations say is looked up for a prompt."""

    enabled: bool = True
    """Whether prompts are given recalled lines at all; `search` works either way"""
    auto_recall: bool = False
    """Look up each prompt by itself: for hooks, which nobody asks. A question put to `context` is always looked up"""
    auto_recall_limit: int = 5
    """How many recalled lines a prompt gets at most that is looked up by itself"""


class Recall(NamedTuple):
    """How search ranks, and how much of it goes into a prompt."""

    enabled: bool = True
    """Whether prompts are given anything of the memory; false: `context` and hooks give nothing"""
    budget: int = 4_000
    """How many characters the recalled lines of a prompt have at most"""
    top_k: int = 16
    """How many recalled lines that is at most; for a prompt that is looked up by itself see `[memory_search]`"""
    whole_memory_chars: int = 6_000
    """How many characters of a MEMORY.md go into a prompt whole; of a longer one a prompt gets the lines that
    answer it, and an empty prompt its beginning; 0: always whole"""
    mode: Literal["balanced", "keyword", "semantic", "rrf"] = "balanced"
    """The mode of a search that names none"""
    limit: int = 10
    """How many hits a search that names no number gives"""
    dialogue_cues: bool = True
    """Use the cues of conversations: who speaks, questions, time words, numbers"""


class Curation(NamedTuple):
    """What the bot may do to notes that people write, too."""

    human_items: Literal["propose", "edit"] = "propose"
    """Items that a person wrote or changed: the bot's edits of them are proposed, or made at once"""
    summary_url: str = ""
    """Where to post one line about each edit of the bot, as `{"text": "USER.md curated: +2 appended"}`; no note's text
    is in it"""
    summary_command: tuple[str, ...] = ()
    """A command and its arguments, run without a shell, that gets the same line on its standard input"""
    summary_timeout_seconds: float = 10.0
    """How long either may take; no edit waits for it"""


class Facts(NamedTuple):
    """What is known of people and things, in `FACTS.md`."""

    single_valued: tuple[str, ...] = ("works_at", "lives_in", "has_role", "has_status")
    """Predicates that have one value at a time: a new one ends the old one"""
    conflicts: Literal["temporal", "keep_existing", "use_new", "merge", "ask"] = "temporal"
    """Of two values of such a predicate: the newer by its day, the one that stands there, the one said last, both in
    one line, or both until you decide in INBOX.md"""
    max_knowledge_facts: int = 0
    """How many facts a prompt gets at most; 0: all that are about the person or are named"""


class PersonZone(NamedTuple):
    """Where a person lives, for when their night begins."""

    user: str
    zone: str
    """A name of the time zone database, such as `Europe/Lisbon`"""


class SleepCycle(NamedTuple):
    """What the bot does at night for each person."""

    enabled: bool = True
    """Whether `run` and `sleep --due` do it"""
    cron: str = "0 2 * * *"
    """When a night begins, as `MINUTE HOUR * * *`"""
    zone: str = ""
    """The time zone of that, such as `Europe/Lisbon`; empty: that of the machine"""
    zones: tuple[PersonZone, ...] = ()
    """Persons who live in another one"""
    lookback_hours: int = 24
    """How far back the very first night looks; every other begins where the one before ended"""
    memory_retention_days: int = 0
    """Dated notes older than this go to the trash; 0 keeps them for ever"""
    auto_load_dated_days: int = 3
    """The dated notes of how many days stand in each prompt; 0: none"""
    curate_user_memory: bool = False
    """Let the brain edit USER.md, within what `[curation]` allows"""
    curation_log_summary: bool = True
    """Tell what was done to notes to `summary_url` and `summary_command` of `[curation]`"""


class ChannelSleepCycle(NamedTuple):
    """What the bot does at night for each channel in which something was said."""

    enabled: bool = True
    """Whether `run` and `sleep --due` do it"""
    cron: str = "0 3 * * *"
    """When a night begins, as `MINUTE HOUR * * *`"""
    zone: str = "UTC"
    """The time zone of that"""
    lookback_hours: int = 24
    """How far back the very first night looks"""
    memory_retention_days: int = 0
    """Dated notes older than this go to the trash; 0 keeps them for ever"""


class Retention(NamedTuple):
    """What ages out, beside dated notes."""

    transcript_days: int = 0
    """Transcripts older than this go to the trash, once a night has learned from them; 0 keeps them for ever"""


class Sessions(NamedTuple):
    """When a conversation is over."""

    idle_minutes: float = 60.0
    """After so long without a turn a session has ended"""


class Remote(NamedTuple):
    """The folder on a Nextcloud or another WebDAV server with which the vault is kept in step."""

    url: str = ""
    """Address of the folder, without user and password; empty: no sync"""
    user: str = ""
    """Name of the account there"""
    password_file: str = ""
    """A file outside the vault that only its owner can read, with the app password in it"""
    poll_seconds: float = 15.0
    """How often the server is asked for changes; once a minute after an hour without any"""
    mode: Literal["two-way", "pull", "push"] = "two-way"
    """pull only brings the server's changes here, push only takes the changes from here there"""
    include: tuple[str, ...] = ()
    """Patterns of what is synced, such as `Users/mira`; none: everything"""
    exclude: tuple[str, ...] = ()
    """Patterns of what is not synced, such as `*.mp4`; they win over `include`"""
    insist: bool = False
    """Sync both ways even if the server ignores preconditions: only where no other device ever writes"""
    allow_http: bool = False
    """Send the password over http:// to another machine, where everybody on the way can read it"""
    ca_file: str = ""
    """The certificates that the server's is checked against, if not those of the system"""
    proxy: str = ""
    """A proxy on the way there; that of the environment is not heeded"""


class Watch(NamedTuple):
    """How `run` notices changes."""

    poll_seconds: float = 5.0
    """How often a folder is looked through that gives no events, such as a network mount"""
    sweep_seconds: float = 60.0
    """How often the whole vault is looked through although events work"""


class ServeToken(NamedTuple):
    """A bot that may ask over HTTP, and whom it serves."""

    user: str
    """The person whose notes this token opens"""
    token_file: str
    """A file outside the vault that only its owner can read, with the token in it: 32 characters at least"""
    channel: str = ""
    """The channel where the bot answers: it opens the notes of the channel, in the place of the person's own"""
    groups: tuple[str, ...] = ()
    """The groups it opens as well"""
    private: bool = False
    """With `channel`: also open the person's own notes, although everybody in the channel reads the answers"""


class Serve(NamedTuple):
    """How `serve` listens, and whom it lets in. Put a server with TLS in front of it before others can reach it."""

    host: str = "127.0.0.1"
    """The address to listen on"""
    port: int = 8377
    """The port to listen on"""
    socket: str = ""
    """Listen on this Unix socket instead, which only its owner can open"""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which it may be asked, beside those of this machine and `host`, such as `memory.example.org`"""
    allowed_origins: tuple[str, ...] = ()
    """Pages that may ask it from a browser, such as `https://chat.example.org`"""
    requests_per_minute: int = 600
    """How often each token may ask"""
    max_body_bytes: int = 1_048_576
    """How long a request may be"""
    tokens: tuple[ServeToken, ...] = ()
    """Who may ask"""
    metrics_token_file: str = ""
    """A file outside the vault that only its owner can read, with the token that opens `/metrics`, which tells of all
    that is known; empty: only who comes over `socket` without a token may read it"""


class TalkRoom(NamedTuple):
    """A room of Nextcloud Talk that has a channel of another name."""

    token: str
    """As it stands in the address of the room"""
    channel: str
    """The channel whose memory it is"""


class TalkPerson(NamedTuple):
    """Somebody whose account at Nextcloud has another name than they have here."""

    id: str
    """The name of the account"""
    user: str
    """Whose memory it is"""


class Talk(NamedTuple):
    """Rooms of Nextcloud Talk whose messages are recorded, by a bot that `serve` hears of them at `/talk`."""

    secret_file: str = ""
    """A file outside the vault that only its owner can read, with the secret that the bot was installed with; empty:
    nothing is recorded"""
    backend: str = ""
    """The address of the Nextcloud, such as `https://cloud.example.org/`; what comes from another is refused"""
    rooms: tuple[TalkRoom, ...] = ()
    """Rooms with a channel of another name; all others are recorded under their token"""
    people: tuple[TalkPerson, ...] = ()
    """Accounts of another name; all others are persons of the same name here"""
    forget_reaction: str = ""
    """The emoji with which people take a message of theirs back, such as `🗑`; empty: none"""
    forget_by: tuple[str, ...] = ()
    """Accounts that may do so with everybody's messages"""


class Config(NamedTuple):
    """All of the configuration."""

    max_memory_chars: int = 0
    """How long the whole memory block of a prompt may be, in characters; recalled lines, then facts, then dated notes
    are left out first, USER.md and CHANNEL.md never; 0: no limit"""
    layout: Layout = Layout()
    embedding: Embedding = Embedding()
    brain: Brain = Brain()
    recall: Recall = Recall()
    memory_search: MemorySearch = MemorySearch()
    curation: Curation = Curation()
    facts: Facts = Facts()
    sleep_cycle: SleepCycle = SleepCycle()
    channel_sleep_cycle: ChannelSleepCycle = ChannelSleepCycle()
    retention: Retention = Retention()
    sessions: Sessions = Sessions()
    remote: Remote = Remote()
    watch: Watch = Watch()
    serve: Serve = Serve()
    talk: Talk = Talk()


def is_table(kind: object) -> bool:
    """Whether it is the kind of one of these, and not of one value."""
    return hasattr(kind, "_field_defaults")
