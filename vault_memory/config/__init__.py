"""Loads the configuration from a TOML file; the environment overrides the file.

Every key has a default, so no file is needed. One error reports all problems, each with its place.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from vault_memory.config.sections import (
    LOOPBACK_HOSTS,
    REMOTE_SCHEMES,
    BrainSettings,
    ChannelSleepCycle,
    Config,
    Curation,
    EmbeddingSettings,
    Facts,
    LayoutPattern,
    LayoutSettings,
    Learning,
    MemorySearch,
    PersonZone,
    PredicateSettings,
    Recall,
    RemoteSettings,
    Retention,
    SleepCycle,
    Watch,
    facts_problems,
    is_table,
)
from vault_memory.config.server_sections import Serve, ServeToken, TalkSettings, talk_problems
from vault_memory.errors import ConfigError
from vault_memory.lazy import lazy_members
from vault_memory.logs import Logger

logger = Logger(__name__)
__getattr__ = lazy_members(__name__)

__all__ = [
    "ENVIRONMENT_PREFIX",
    "LOOPBACK_HOSTS",
    "RESERVED",
    "SECTIONS",
    "BrainSettings",
    "ChannelSleepCycle",
    "Config",
    "Curation",
    "EmbeddingSettings",
    "Facts",
    "LayoutPattern",
    "LayoutSettings",
    "Learning",
    "MemorySearch",
    "PersonZone",
    "PredicateSettings",
    "Recall",
    "RemoteSettings",
    "Retention",
    "Serve",
    "ServeToken",
    "SleepCycle",
    "TalkSettings",
    "Watch",
    "is_table",
    "load",
    "missing",
]

ENVIRONMENT_PREFIX = "VAULT_MEMORY_"
RESERVED = frozenset(
    {
        "VAULT",
        "CONFIG",
        "STATE",
        "CACHE",
        "AUTOMATED",
        "USER",
        "EMBEDDING_API_KEY",
        "BRAIN_API_KEY",
        "REMOTE_PASSWORD",
        "TEST_LLM_URL",
        "TEST_NEXTCLOUD_URL",
        "TEST_NEXTCLOUD_USER",
        "TEST_NEXTCLOUD_PASSWORD",
    }
)
"""Variables with the prefix that are not settings: paths, secrets, marks of jobs, test servers"""

RANGES = dict.fromkeys(
    (
        "audit_days",
        "auto_load_dated_days",
        "dimensions",
        "max_knowledge_facts",
        "max_memory_chars",
        "memory_budget",
        "memory_retention_days",
        "transcript_days",
    ),
    (0, 10**9),
) | {"monthly_tokens": (0, 10**12), "purge_days": (0, 36_500)}
"""Numbers between two bounds, which are allowed, too; every other number is above 0"""

RENAMED = {"recall.whole_memory_chars": "memory_budget"}
"""Earlier name of a key → its name now; both work, but not together"""

NO_SETTINGS = {
    "brain.room": "a question has 50,000 characters at most",
    "curation.summary_timeout_seconds": "`summary_command` has 10 seconds",
    "curation.summary_url": "`summary_command` can send the line, as with `curl`",
    "embedding.retry_seconds": "a missing or failed embedder is tried again after a minute",
    "embedding.threads": "a text is embedded by one thread",
    "embedding.timeout_seconds": "a request has 30 seconds",
    "host.memory_mb": "`host.most_open` and `host.idle_seconds` limit the memory",
    "host.metrics_token_file": "`serve.metrics_token_file` is the token of a host, too",
    "learning.at_once": "what needs no second thought is always written at once",
    "learning.conflict_pairs": "a model is asked about 20 pairs of lines in a night",
    "learning.enrich_items": "a model looks for names in 50 lines in a night",
    "learning.episode_days": "search leaves out the summary of a conversation after 30 days",
    "learning.feedback_log_days": "the log of feedback is deleted after 180 days",
    "learning.held_days": "a held candidate is given up 90 days after its last support",
    "learning.jaccard": "texts with 85 % common words say the same",
    "learning.remembered": "USER.md keeps the newest 50 lines under `Remembered`",
    "learning.safety_log_days": "the log of what was left out is deleted after 90 days",
    "lifecycle.archived": "an item is left out when less than 10 % of it are retained",
    "lifecycle.deleted": "an item is deleted when less than 1 % of it are retained",
    "lifecycle.facts": "facts never fade",
    "lifecycle.growth": "the days on which an item is found always slow its fading",
    "lifecycle.stability": "each type of an item has a fixed number of days",
    "lifecycle.stale": "an item ranks lower when less than 30 % of it are retained",
    "lifecycle.stale_days": "a stale item is archived after 30 days",
    "recall.budget": "recalled lines have 4,000 characters in a prompt; `max_memory_chars` limits all",
    "recall.dialogue_cues": "cues of conversations always count",
    "recall.limit": "a search gives 10 hits; `search --limit` gives another number",
    "recall.top_k": "a prompt gets at most 16 recalled lines",
    "serve.max_body_bytes": "a request has 1 MiB at most",
    "serve.requests_per_minute": "a token has 600 requests a minute",
    "sessions.idle_minutes": "a conversation ends after 10 minutes without a turn",
    "web.port": "each vault has a port of its own; `web --port` gives another",
}
"""Key of an earlier version → what holds in its place. Such a key is not read"""

SECTIONS = tuple(name for name, kind in Config.__annotations__.items() if is_table(kind))
"""Names of the tables of the file"""
NO_SECTIONS = frozenset(key.partition(".")[0] for key in NO_SETTINGS) - frozenset(SECTIONS)
"""Tables of an earlier version, without a setting now"""
ALSO_AT_TOP = {"max_knowledge_facts": "facts"}
"""Key that Istota has at the top of the file → its table here"""
TOP = (*(name for name in Config._fields if name not in SECTIONS), *ALSO_AT_TOP)


def load(file: Path | None, environment: Mapping[str, str]) -> Config:
    """Load `file`, which may be absent, and override its values with the environment.

    Raises ConfigError, which lists every problem with its place.
    """
    loader = _Loader("configuration" if file is None else str(file))
    raw = _read(file) if file is not None else {}
    loader.merge(raw, environment)
    config: Config = loader.build(Config, raw, "") if raw else Config()
    if not loader.problems and config.remote.url:
        # Imported here: most vaults have no remote.
        from vault_memory.config import remote_checks

        loader.report_all("remote.url", remote_checks.problems_of(config.remote))
    if not loader.problems:
        loader.report_all("facts.predicates", facts_problems(config.facts))
        loader.report_all("talk", talk_problems(config.talk))
    if loader.problems:
        raise _config_error(loader.problems)
    for remark in loader.remarks:
        logger.warning("%s", remark)
    return config


def layout_of_table(table: object) -> LayoutSettings | None:
    """Convert a table ``[layout]`` that does not come from a file; None when something is wrong."""
    loader = _Loader("layout")
    settings: LayoutSettings | None = loader.build(LayoutSettings, table, "layout")
    return None if loader.problems else settings


def _config_error(problems: list[str]) -> ConfigError:
    listing = "\n".join(f"  - {problem}" for problem in problems)
    return ConfigError(
        f"the configuration has problems:\n{listing}",
        hint="correct them with `vault-memory config edit`; "
        "`docs/reference/configuration.md` lists every key",
        problems=problems,
    )


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(
            f"`{file}` cannot be read: {error.strerror}", hint="check its path and its permissions"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"`{file}` is not UTF-8: {error}",
            hint="save it as UTF-8: `vault-memory config edit` opens it",
        ) from None
    # Imported here: most vaults have no configuration file.
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"`{file}` is not valid TOML: {error}",
            hint="correct the line that the message names: `vault-memory config edit` opens it",
        ) from None


class NoSettings(NamedTuple):
    """A table of `NO_SECTIONS`."""


class _Loader:
    """Converts one configuration, and collects its problems."""

    def __init__(self, source: str) -> None:
        """`source` is the name of the file in messages."""
        self._source = source
        self._variables: dict[str, str] = {}
        """Key → the environment variable that set it"""
        self.problems: list[str] = []
        self.remarks: list[str] = []

    def report(self, place: str, reason: str) -> None:
        """Add a problem with the key at `place`."""
        self.problems.append(f"{self._source}: `{place}`: {reason}")

    def report_all(self, place: str, reasons: list[str]) -> None:
        """Add several problems with the key at `place`."""
        self.problems += [f"{self._source}: `{place}`: {reason}" for reason in reasons]

    def merge(self, raw: dict[str, Any], environment: Mapping[str, str]) -> None:
        """Move each key into its table, and set the values of environment variables."""
        for key in ALSO_AT_TOP.keys() & raw.keys():
            self.move_from_top(raw, key)
        for name, value in sorted(environment.items()):
            if name.startswith(ENVIRONMENT_PREFIX):
                self.overlay(raw, name, value)

    def move_from_top(self, raw: dict[str, Any], key: str) -> None:
        """Move a key from the top of the file into its table."""
        value = raw.pop(key)
        section = ALSO_AT_TOP[key]
        table = raw.setdefault(section, {})
        if not isinstance(table, dict):
            # `build` reports it.
            return
        if key in table:
            self.problems.append(
                f"{self._source}: `{key}` is set at the top and under [{section}]; keep one of them"
            )
        else:
            table[key] = value

    def overlay(self, raw: dict[str, Any], variable: str, value: str) -> None:
        """Set the value of an environment variable.

        ``VAULT_MEMORY_EMBEDDING_KIND=off`` sets ``[embedding] kind = "off"``.
        """
        name = variable.removeprefix(ENVIRONMENT_PREFIX)
        if name in RESERVED:
            return
        key = name.lower()
        if key in ALSO_AT_TOP:
            _set(raw, ALSO_AT_TOP[key], key, value)
            self._variables[f"{ALSO_AT_TOP[key]}.{key}"] = variable
            return
        if key in TOP:
            raw[key] = value
            self._variables[key] = variable
            return
        for section in (*SECTIONS, *NO_SECTIONS):
            if name.startswith(section.upper() + "_"):
                own_key = key[len(section) + 1 :]
                _set(raw, section, own_key, value)
                self._variables[f"{section}.{own_key}"] = variable
                return
        names = [key.upper() for key in TOP]
        names += [f"{section.upper()}_…" for section in SECTIONS]
        variables = ", ".join(ENVIRONMENT_PREFIX + name for name in names)
        self.problems.append(f"environment: {variable} belongs to no section; known: {variables}")

    def _place_of(self, key: str) -> str:
        """Return where the value of a key is: in the file, or in an environment variable."""
        variable = self._variables.get(key)
        if variable:
            return f"environment: {variable}"
        return f"{self._source}: `{key}`"

    def build(self, kind: Any, raw: object, place: str) -> Any:
        """Convert a table to the section type `kind`; None when a key without default is missing."""
        if not isinstance(raw, dict):
            self.problems.append(f"{self._source}: [{place}] is a table of settings, not {raw!r}")
            raw = {}
        types = kind.__annotations__
        values: dict[str, Any] = {}
        for name, value in raw.items():
            key = f"{place}.{name}" if place else str(name)
            if key in RENAMED:
                name = RENAMED[key]
                if name in raw:
                    self.problems.append(
                        f"{self._source}: `{key}` is now `{name}`; keep one of them"
                    )
                    continue
            if key in NO_SETTINGS:
                # Fault: a key that `config set` once wrote would keep the program from starting.
                self.remarks.append(
                    f"{self._place_of(key)} is no longer a setting: {NO_SETTINGS[key]}; delete it"
                )
            elif not place and name in NO_SECTIONS:
                self.build(NoSettings, value, key)
            elif name in types:
                self._build_value(values, name, value, types[name], key)
            else:
                guess = _guess(name, types)
                self.problems.append(
                    f"{self._place_of(key)} is not known{guess}; known: {', '.join(types)}"
                )
        required = [name for name in types if name not in kind._field_defaults]
        missing_keys = [name for name in required if name not in values]
        for name in missing_keys:
            self.problems.append(f"{self._source}: `{place}.{name}` is missing")
        return None if missing_keys else kind(**values)

    def _build_value(
        self, values: dict[str, Any], name: str, value: object, expected: Any, key: str
    ) -> None:
        """Convert a table, a list of tables or a single value, and put it into `values`."""
        row_kind = _row_kind(expected)
        if is_table(expected):
            values[name] = self.build(expected, value, key)
        elif row_kind and isinstance(value, list):
            rows = [self.build(row_kind, row, f"{key}[{index}]") for index, row in enumerate(value)]
            values[name] = tuple(row for row in rows if row is not None)
        else:
            problem = _convert(values, name, value, expected)
            if problem:
                self.problems.append(f"{self._place_of(key)} = {value!r}: {problem}")


def _row_kind(expected: Any) -> Any:
    """Return the section type of the rows, if `expected` is a list of tables; else None."""
    arguments = get_args(expected)
    if arguments and is_table(arguments[0]):
        return arguments[0]
    return None


def _set(raw: dict[str, Any], section: str, key: str, value: str) -> None:
    table = raw.setdefault(section, {})
    # A section that is not a table is reported later, with the other problems of the file.
    if isinstance(table, dict):
        table[key] = value


def _convert(values: dict[str, Any], name: str, value: object, expected: Any) -> str:
    """Convert a single value, and put it into `values`; return what is wrong with it."""
    try:
        converted = _as_type(value, expected)
    except ValueError as error:
        return str(error)
    values[name] = converted
    return _check_value(name, converted)


def _check_value(name: str, value: object) -> str:
    """Return what is wrong with the value of a key; empty when it is valid."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        if name in RANGES:
            lowest, highest = RANGES[name]
            is_valid = lowest <= value <= highest
            return "" if is_valid else f"Expected a number from {lowest} to {highest}"
        return "" if 0 < value < 1e9 else "Expected a number above 0"
    if isinstance(value, str) and name in _CHECKS:
        return _CHECKS[name](value)
    return ""


def _as_type(value: Any, expected: Any) -> Any:
    """Convert a value to the type of its key. Raises ValueError with the reason."""
    if type(value) is expected:
        return value
    if get_origin(expected) is Literal:
        if value in get_args(expected):
            return value
        choices = ", ".join(f"`{choice}`" for choice in get_args(expected))
        raise ValueError(f"Expected one of {choices}")
    if expected is bool and value in ("true", "false"):
        return value == "true"
    # Imported here: it costs a short-lived command 20 ms, and most values need no conversion.
    import msgspec

    return msgspec.convert(value, expected, strict=not isinstance(value, str))


def _check_schedule(text: str) -> str:
    """Return what is wrong with a schedule; empty when it is valid."""
    fields = text.split()
    if len(fields) == 5 and fields[2:] == ["*", "*", "*"]:
        minute, hour = fields[:2]
        if _is_below(minute, 60) and _is_below(hour, 24):
            return ""
    return "Expected `MINUTE HOUR * * *`, such as `30 2 * * *`; there is one night a day"


def _is_below(digits: str, limit: int) -> bool:
    return digits.isdecimal() and int(digits) < limit


def _check_zone(text: str) -> str:
    """Return what is wrong with the name of a time zone; empty when it is valid."""
    import zoneinfo

    try:
        if text:
            zoneinfo.ZoneInfo(text)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return "Expected a name of the time zone database, such as `Europe/Lisbon`"
    return ""


def _check_web_address(text: str) -> str:
    """Return what is wrong with the address of a web server; empty when it is valid."""
    from urllib.parse import urlsplit

    try:
        url = urlsplit(text)
        # Reading the port checks it.
        is_valid = bool(url.hostname) and url.port != 0
    except ValueError:
        is_valid = False
    # Fault: without the scheme, other hosts would wait for an answer that never comes.
    if not text or (is_valid and url.scheme in REMOTE_SCHEMES):
        return ""
    return (
        "Expected an address that begins with http:// or https://, such as `http://10.0.0.5:8377`"
    )


_CHECKS = {
    "address": _check_web_address,
    "base_url": _check_web_address,
    "cron": _check_schedule,
    "zone": _check_zone,
}
"""Name of a key → function that returns what is wrong with its text"""


def _guess(name: str, names: Mapping[str, object]) -> str:
    import difflib

    matches = difflib.get_close_matches(name, list(names), n=1)
    if matches:
        return f", did you mean `{matches[0]}`?"
    return ""


def missing(file: Path) -> ConfigError:
    """Return the error for a configuration file that the user named and that does not exist."""
    return ConfigError(
        f"the configuration file `{file}` does not exist",
        hint="name another file, or omit the option",
    )
