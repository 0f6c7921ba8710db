"""The configuration: a TOML file, the environment over it, flags over that.

Everything has a default, so that no file is needed. All problems are reported at once, each with its place.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from vault_memory.errors import ConfigError

ENVIRONMENT_PREFIX = "VAULT_MEMORY_"
RESERVED = frozenset({"VAULT", "CONFIG", "STATE", "CACHE", "EMBEDDING_API_KEY", "TEST_LLM_URL"})
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
    watch: Watch = Watch()


ZERO_SAYS_NONE = frozenset({"dimensions"})
"""Numbers that may be 0; all others are counts and seconds of something"""

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


def _guess(name: str, known: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean `{near[0]}`?" if near else ""


def missing(file: Path) -> ConfigError:
    """A configuration file that was named and is not there."""
    return ConfigError(f"the configuration file `{file}` does not exist", hint="name another, or leave it out")
