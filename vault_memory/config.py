"""The configuration: a TOML file, the environment over it, flags over that.

Everything has a default, so that no file is needed. All problems are reported at once, each with its place.
"""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from vault_memory.errors import ConfigError

ENVIRONMENT_PREFIX = "VAULT_MEMORY_"
RESERVED = frozenset({"VAULT", "CONFIG", "STATE", "CACHE", "TEST_LLM_URL"})
"""Names after the prefix that say where things are, and are not settings."""


class LayoutPattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One more kind of path that is memory, e.g. ``journal/{date}.md``."""

    path: str
    """Relative to the vault; ``{user} {bot} {channel} {group} {date} {name}`` are captures"""
    kind: str
    """What the note is: user, channel, memory, note, dated, facts, rules or reflection"""
    scope: str
    """Whose it is, e.g. ``user:{user}`` or ``group:journal``"""


class Layout(msgspec.Struct, frozen=True):
    """Which files are memory, and whose."""

    user: str = "main"
    """The person whom USER.md at the root of the vault is about"""
    bot: str = ""
    """Of `Users/{user}/{bot}/config` only this bot's folder is read; empty: any"""
    patterns: tuple[LayoutPattern, ...] = ()
    """More paths that are memory, tried before the known layouts"""


class Embedding(msgspec.Struct, frozen=True):
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


class Recall(msgspec.Struct, frozen=True):
    """How search ranks."""

    mode: Literal["balanced", "keyword", "semantic", "rrf"] = "balanced"
    """The mode of a search that names none"""
    limit: int = 10
    """How many hits a search that names no number gives"""
    dialogue_cues: bool = True
    """Use the cues of conversations: who speaks, questions, time words, numbers"""


class Watch(msgspec.Struct, frozen=True):
    """How `run` notices changes."""

    poll_seconds: float = 5.0
    """How often a folder is looked through that gives no events, such as a network mount"""
    sweep_seconds: float = 60.0
    """How often the whole vault is looked through although events work"""
    polling: bool = False
    """Never rely on events"""


class Config(msgspec.Struct, frozen=True):
    """All of the configuration."""

    layout: Layout = Layout()
    embedding: Embedding = Embedding()
    recall: Recall = Recall()
    watch: Watch = Watch()


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
    config = _build(Config, raw, "", source, problems)
    if problems:
        raise ConfigError(
            "the configuration has problems:\n" + "\n".join(f"  - {problem}" for problem in problems),
            hint="`docs/reference/configuration.md` lists every key",
            problems=problems,
        )
    return cast(Config, config)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"`{file}` is not valid TOML: {error}", hint="mend that line, or move the file away"
        ) from None
    except OSError as error:
        raise ConfigError(f"`{file}` cannot be read: {error.strerror}") from None


def _overlay(raw: dict[str, Any], variable: str, value: str, problems: list[str]) -> None:
    """``VAULT_MEMORY_EMBEDDING_KIND=off`` is ``[embedding] kind = "off"``."""
    name = variable.removeprefix(ENVIRONMENT_PREFIX)
    if name in RESERVED:
        return
    for section in Config.__struct_fields__:
        if name.startswith(section.upper() + "_"):
            table = raw.setdefault(section, {})
            if isinstance(table, dict):
                table[name[len(section) + 1 :].lower()] = value
            return
    known = ", ".join(ENVIRONMENT_PREFIX + section.upper() + "_…" for section in Config.__struct_fields__)
    problems.append(f"environment: {variable} belongs to no section; known: {known}")


def _build(kind: type[msgspec.Struct], raw: object, place: str, source: str, problems: list[str]) -> msgspec.Struct:
    if not isinstance(raw, dict):
        problems.append(f"{source}: [{place}] is a table of settings, not {raw!r}")
        return kind()
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{place}.{name}" if place else str(name)
        if name not in fields:
            problems.append(f"{source}: `{where}` is not known{_guess(name, fields)}; known: {', '.join(fields)}")
            continue
        wanted = fields[name].type
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            values[name] = _build(wanted, value, where, source, problems)
            continue
        try:
            values[name] = msgspec.convert(value, wanted, strict=not isinstance(value, str))
        except msgspec.ValidationError as error:
            problems.append(f"{source}: `{where}` = {value!r}: {error}")
    return kind(**values)


def _guess(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean `{near[0]}`?" if near else ""
