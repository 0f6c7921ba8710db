"""The configuration: a TOML file, the environment over it, flags over that.

Everything has a default, so that no file is needed. All problems are reported at once, each with its place.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from vault_memory.config.sections import (
    Brain,
    ChannelSleepCycle,
    Config,
    Curation,
    Embedding,
    Facts,
    Layout,
    LayoutPattern,
    MemorySearch,
    PersonZone,
    Recall,
    Remote,
    Retention,
    Serve,
    ServeToken,
    Sessions,
    SleepCycle,
    Talk,
    TalkPerson,
    TalkRoom,
    Watch,
    is_table,
)
from vault_memory.errors import ConfigError

__all__ = [
    "ENVIRONMENT_PREFIX",
    "HERE",
    "RESERVED",
    "SECTIONS",
    "ZERO_SAYS_NONE",
    "Brain",
    "ChannelSleepCycle",
    "Config",
    "Curation",
    "Embedding",
    "Facts",
    "Layout",
    "LayoutPattern",
    "MemorySearch",
    "PersonZone",
    "Recall",
    "Remote",
    "Retention",
    "Serve",
    "ServeToken",
    "Sessions",
    "SleepCycle",
    "Talk",
    "TalkPerson",
    "TalkRoom",
    "Watch",
    "is_table",
    "load",
    "missing",
    "wrong_with",
]

ENVIRONMENT_PREFIX = "VAULT_MEMORY_"
RESERVED = frozenset(
    {
        "VAULT",
        "CONFIG",
        "STATE",
        "CACHE",
        "AUTOMATED",
        "EMBEDDING_API_KEY",
        "BRAIN_API_KEY",
        "REMOTE_PASSWORD",
        "TEST_LLM_URL",
        "TEST_NEXTCLOUD_URL",
        "TEST_NEXTCLOUD_USER",
        "TEST_NEXTCLOUD_PASSWORD",
        "TEST_NEXTCLOUD_STEPS",
    }
)
"""Names after the prefix that say where things are, hold a secret, or mark a process as a job; not settings."""


ZERO_SAYS_NONE = frozenset(
    {
        "max_memory_chars", "max_knowledge_facts", "dimensions", "memory_retention_days", "auto_load_dated_days",
        "transcript_days",
    }
)  # fmt: skip
"""Numbers that may be 0; all others are counts and seconds of something"""

HERE = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine, to which http:// is as good as https://"""


SECTIONS = tuple(name for name, kind in Config.__annotations__.items() if is_table(kind))
"""The tables of the file"""
ALSO_AT_TOP = {"max_knowledge_facts": "facts"}
"""Keys that users of Istota know at the top of the file, and the table that they belong to"""
TOP = (*(name for name in Config._fields if name not in SECTIONS), *ALSO_AT_TOP)


def load(file: Path | None, environment: Mapping[str, str]) -> Config:
    """The configuration from `file` (it may be absent) with the environment over it.

    Raises ConfigError that lists every problem with its place.
    """
    problems: list[str] = []
    raw = _read(file) if file is not None else {}
    source = str(file) if file is not None else "configuration"
    for key in ALSO_AT_TOP.keys() & raw.keys():
        _move_from_top(raw, key, source, problems)
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
    if name.lower() in TOP:
        table = raw.setdefault(ALSO_AT_TOP[name.lower()], {}) if name.lower() in ALSO_AT_TOP else raw
        if isinstance(table, dict):
            table[name.lower()] = value
        return
    for section in SECTIONS:
        if name.startswith(section.upper() + "_"):
            table = raw.setdefault(section, {})
            if isinstance(table, dict):
                table[name[len(section) + 1 :].lower()] = value
            return
    known = ", ".join(ENVIRONMENT_PREFIX + one for one in [*map(str.upper, TOP), *(f"{s.upper()}_…" for s in SECTIONS)])
    problems.append(f"environment: {variable} belongs to no section; known: {known}")


def _move_from_top(raw: dict[str, Any], key: str, source: str, problems: list[str]) -> None:
    """A key that is known at the top of the file goes into its table."""
    value, section = raw.pop(key), ALSO_AT_TOP[key]
    table = raw.setdefault(section, {})
    if isinstance(table, dict) and key in table:
        problems.append(f"{source}: `{key}` stands at the top and under [{section}]; keep one of them")
    elif isinstance(table, dict):
        table[key] = value


def _build(kind: Any, raw: object, place: str, source: str, problems: list[str]) -> Any:
    """One table of settings, as `kind`; None when it lacks what has no default."""
    if not isinstance(raw, dict):
        problems.append(f"{source}: [{place}] is a table of settings, not {raw!r}")
        raw = {}
    known = kind.__annotations__
    values: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{place}.{name}" if place else str(name)
        if name not in known:
            problems.append(f"{source}: `{where}` is not known{_guess(name, known)}; known: {', '.join(known)}")
            continue
        wanted = known[name]
        rows = get_args(wanted)
        if is_table(wanted):
            values[name] = _build(wanted, value, where, source, problems)
        elif rows and is_table(rows[0]) and isinstance(value, list):
            tables = [_build(rows[0], row, f"{where}[{at}]", source, problems) for at, row in enumerate(value)]
            values[name] = tuple(table for table in tables if table is not None)
        else:
            _convert(values, name, value, wanted, f"{source}: `{where}` = {value!r}", problems)
    lacking = [name for name in known if name not in kind._field_defaults and name not in values]
    problems += [f"{source}: `{place}.{name}` is missing" for name in lacking]
    return None if lacking else kind(**values)


def _convert(values: dict[str, Any], name: str, value: object, wanted: Any, where: str, problems: list[str]) -> None:
    try:
        values[name] = found = _as_wanted(value, wanted)
    except ValueError as error:
        problems.append(f"{where}: {error}")
        return
    if (
        isinstance(found, (int, float))
        and not isinstance(found, bool)
        and name not in ZERO_SAYS_NONE
        and not 0 < found < 1e9
    ):
        problems.append(f"{where}: Expected a number above 0")
    if isinstance(found, str) and (check := _CHECKS.get(name)) and (expected := check(found)):
        problems.append(f"{where}: {expected}")


def _as_wanted(value: Any, wanted: Any) -> Any:
    """The value as it is, where it is of the type already; else converted. Raises ValueError that says why not."""
    if type(value) is wanted or (get_origin(wanted) is Literal and value in get_args(wanted)):
        return value
    if wanted is bool and value in ("true", "false"):
        return value == "true"
    import msgspec  # only here: it costs a short-lived command 20 ms, and most values are what they should be

    return msgspec.convert(value, wanted, strict=not isinstance(value, str))


def _check_schedule(text: str) -> str:
    """What is wrong with a schedule; empty when nothing is."""
    minute, _, rest = text.strip().partition(" ")
    hour, _, stars = rest.strip().partition(" ")
    numbers = minute.isdecimal() and hour.isdecimal() and int(minute) < 60 and int(hour) < 24
    right = numbers and stars.split() == ["*", "*", "*"]
    return "" if right else "Expected `MINUTE HOUR * * *`, such as `30 2 * * *`; there is one night a day"


def _check_zone(text: str) -> str:
    import zoneinfo

    try:
        if text:
            zoneinfo.ZoneInfo(text)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return "Expected a name of the time zone database, such as `Europe/Lisbon`"
    return ""


_CHECKS = {"cron": _check_schedule, "zone": _check_zone}
"""By the name of a key: what says how its text must be"""


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
