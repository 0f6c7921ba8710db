"""The configuration: a TOML file, the environment over it, flags over that.

Everything has a default, so that no file is needed. All problems are reported at once, each with its place.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from vault_memory.errors import ConfigError

ENVIRONMENT_PREFIX = "VAULT_MEMORY_"
RESERVED = frozenset({"VAULT", "CONFIG", "STATE", "CACHE", "EMBEDDING_API_KEY", "REMOTE_PASSWORD", "TEST_LLM_URL"})
"""Names after the prefix that say where things are, or a secret, and are not settings."""


@dataclass(frozen=True, slots=True)
class LayoutPattern:
    """One more kind of path that is memory, e.g. ``journal/{date}.md``."""

    path: str
    """Relative to the vault; ``{user} {bot} {channel} {group} {date} {name}`` are captures"""
    kind: str
    """What the note is: user, channel, memory, note, dated, facts, rules or reflection"""
    scope: str
    """Whose it is, e.g. ``user:{user}`` or ``group:journal``"""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which files are memory, and whose."""

    user: str = "main"
    """The person whom USER.md at the root of the vault is about"""
    bot: str = ""
    """Of `Users/{user}/{bot}/config` only this bot's folder is read; empty: any"""
    patterns: tuple[LayoutPattern, ...] = ()
    """More paths that are memory, tried before the known layouts"""


@dataclass(frozen=True, slots=True)
class Embedding:
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
    """For `api`: a file that only its owner can read, with the key in it"""
    timeout_seconds: float = 30.0
    """For `api`: how long to wait for one answer"""
    threads: int = 1
    """For `onnx` and `sentence`: processor threads for one text"""
    retry_seconds: float = 60.0
    """How often an embedder that is missing or failed is tried again"""


@dataclass(frozen=True, slots=True)
class Recall:
    """How search ranks."""

    mode: Literal["balanced", "keyword", "semantic", "rrf"] = "balanced"
    """The mode of a search that names none"""
    limit: int = 10
    """How many hits a search that names no number gives"""
    dialogue_cues: bool = True
    """Use the cues of conversations: who speaks, questions, time words, numbers"""


@dataclass(frozen=True, slots=True)
class Curation:
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


@dataclass(frozen=True, slots=True)
class SleepCycle:
    """What the bot does at night."""

    curation_log_summary: bool = True
    """Tell what was done to notes to `summary_url` and `summary_command` of `[curation]`"""


@dataclass(frozen=True, slots=True)
class Remote:
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


@dataclass(frozen=True, slots=True)
class Watch:
    """How `run` notices changes."""

    poll_seconds: float = 5.0
    """How often a folder is looked through that gives no events, such as a network mount"""
    sweep_seconds: float = 60.0
    """How often the whole vault is looked through although events work"""


@dataclass(frozen=True, slots=True)
class Config:
    """All of the configuration."""

    layout: Layout = Layout()
    embedding: Embedding = Embedding()
    recall: Recall = Recall()
    curation: Curation = Curation()
    sleep_cycle: SleepCycle = SleepCycle()
    remote: Remote = Remote()
    watch: Watch = Watch()


ZERO_SAYS_NONE = frozenset({"dimensions"})
"""Numbers that may be 0; all others are counts and seconds of something"""

HERE = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine, to which http:// is as good as https://"""

SECTIONS = tuple(field.name for field in fields(Config))


def load(file: Path | None, environment: Mapping[str, str]) -> Config:
    """The configuration from `file` (it may be absent) with the environment over it.

    Raises ConfigError that lists every problem with its place.
    """
    problems: list[str] = []
    raw = _read(file) if file is not None else {}
    source = str(file) if file is not None else "configuration"
    for name, value in sorted(environment.items()):
        if name.startswith(ENVIRONMENT_PREFIX):
            _overlay(raw, name, value, problems)
    config: Config = _build(Config, raw, "", source, problems) if raw else Config()
    if not problems and config.remote.url:
        problems += [f"{source}: `remote.url`: {reason}" for reason in wrong_with(config.remote)]
    if problems:
        raise ConfigError(
            "the configuration has problems:\n" + "\n".join(f"  - {problem}" for problem in problems),
            hint="`docs/reference/configuration.md` lists every key",
            problems=problems,
        )
    return config


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"`{file}` cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"`{file}` is not UTF-8: {error}", hint="save it as UTF-8") from None
    import tomllib  # only here: most starts have no file to read

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"`{file}` is not valid TOML: {error}", hint="mend that line, or move the file away"
        ) from None


def _overlay(raw: dict[str, Any], variable: str, value: str, problems: list[str]) -> None:
    """``VAULT_MEMORY_EMBEDDING_KIND=off`` is ``[embedding] kind = "off"``."""
    name = variable.removeprefix(ENVIRONMENT_PREFIX)
    if name in RESERVED:
        return
    for section in SECTIONS:
        if name.startswith(section.upper() + "_"):
            table = raw.setdefault(section, {})
            if isinstance(table, dict):
                table[name[len(section) + 1 :].lower()] = value
            return
    known = ", ".join(ENVIRONMENT_PREFIX + section.upper() + "_…" for section in SECTIONS)
    problems.append(f"environment: {variable} belongs to no section; known: {known}")


def _build(kind: Any, raw: object, place: str, source: str, problems: list[str]) -> Any:
    """One table of settings, as `kind`; None when it lacks what has no default."""
    if not isinstance(raw, dict):
        problems.append(f"{source}: [{place}] is a table of settings, not {raw!r}")
        raw = {}
    known = {field.name: field for field in fields(kind)}
    values: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{place}.{name}" if place else str(name)
        if name not in known:
            problems.append(f"{source}: `{where}` is not known{_guess(name, known)}; known: {', '.join(known)}")
            continue
        wanted: Any = known[name].type
        rows = get_args(wanted)
        if is_dataclass(wanted):
            values[name] = _build(wanted, value, where, source, problems)
        elif rows and is_dataclass(rows[0]) and isinstance(value, list):
            tables = [_build(rows[0], row, f"{where}[{at}]", source, problems) for at, row in enumerate(value)]
            values[name] = tuple(table for table in tables if table is not None)
        else:
            _convert(values, name, value, wanted, f"{source}: `{where}` = {value!r}", problems)
    lacking = [name for name, field in known.items() if field.default is MISSING and name not in values]
    problems += [f"{source}: `{place}.{name}` is missing" for name in lacking]
    return None if lacking else kind(**values)


def _convert(values: dict[str, Any], name: str, value: object, wanted: Any, where: str, problems: list[str]) -> None:
    import msgspec  # only here: it costs a short-lived command 40 ms, and most have nothing to convert

    try:
        values[name] = msgspec.convert(value, wanted, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        problems.append(f"{where}: {error}")
        return
    found = values[name]
    if (
        isinstance(found, (int, float))
        and not isinstance(found, bool)
        and name not in ZERO_SAYS_NONE
        and not 0 < found < 1e9
    ):
        problems.append(f"{where}: Expected a number above 0")


def wrong_with(remote: Remote) -> list[str]:
    """What is wrong with the address; it is not repeated, since a password may stand in it."""
    from urllib.parse import urlsplit  # only here: few vaults have a remote

    try:
        parts = urlsplit(remote.url)
        host = parts.hostname or ""
    except ValueError:
        return ["it is no address"]
    if "@" in parts.netloc:
        return ["it holds a user or password; put them into `remote.user` and `remote.password_file`"]
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        return ["it is no address of a WebDAV folder; such an address begins with https://"]
    if parts.scheme == "http" and not remote.allow_http and host not in HERE:
        return [
            "http:// would send the password to another machine in plain sight; use https://, or set "
            "`allow_http = true` where the network itself is private"
        ]
    return []


def _guess(name: str, known: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean `{near[0]}`?" if near else ""


def missing(file: Path) -> ConfigError:
    """A configuration file that was named and is not there."""
    return ConfigError(f"the configuration file `{file}` does not exist", hint="name another, or leave it out")
