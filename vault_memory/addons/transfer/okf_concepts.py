"""Notes as concepts of the Open Knowledge Format 0.2, and concepts as notes again.

A concept is a Markdown file with front matter in YAML that names its type. The fields that a note
lacks follow a comment at the end of its front matter, so that the note can be taken out again byte
for byte. A note whose front matter is no YAML becomes the body of the concept as a whole.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from vault_memory import __version__
from vault_memory.errors import ConfigError
from vault_memory.markdown.document import parse
from vault_memory.markdown.items import ItemFields, parse_item
from vault_memory.markdown.note_items import items_of
from vault_memory.rules.edits.audit_record import Record
from vault_memory.rules.learning.stamps import stamps_of
from vault_memory.rules.paths.layout import Place

VERSION = "0.2"
OWN_KEY = "vault_memory"
"""The field with what only this program knows: the path, the kind and the scope"""
ADDED = b"# added by vault-memory"
ADDED_ABOVE = b"# added above the note by vault-memory"
TYPES = {
    "user": "Profile",
    "memory": "Profile",
    "dated": "Daily Note",
    "facts": "Facts",
    "rules": "Rules",
}
"""Kind of a note → type of its concept; other kinds are types themselves"""
REPLACED = 0.3
"""At this confidence another line has replaced an item"""
_FRONT = re.compile(rb"---\n(?P<fields>(?:.*\n)*?)---(?:\n|\Z)")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_OWNER = ("", "owner", "talk")

Fields = Mapping[str, Any]


class YamlMissing(ConfigError):
    """The package that reads YAML is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "the Open Knowledge Format needs a reader of YAML, which is not installed",
            hint="install it: `pip install 'vault-memory[okf]'`",
        )


class NoteOrigin(NamedTuple):
    """What is known about a note beside its text."""

    path: str
    place: Place
    records: Sequence[Record]
    """its audit, the oldest first"""
    revision: str
    modified: datetime
    """the time of its file"""


def concept_of(raw: bytes, origin: NoteOrigin) -> bytes:
    """Returns a note as a concept. Raises UnicodeDecodeError, YamlMissing."""
    raw.decode()
    own_fields = _fields_of(raw, origin)
    match = _FRONT.match(raw)
    fields = _mapping(match["fields"]) if match else None
    # Fault: a concept without front matter that can be read makes the bundle invalid.
    if match is None or fields is None or not _can_be_added_to(match["fields"], fields):
        return b"---\n" + ADDED_ABOVE + b"\n" + _lines(own_fields) + b"---\n" + raw
    missing = {key: value for key, value in own_fields.items() if key not in fields}
    # The added lines stand last, so that what is above them is the front matter of the note.
    end = match.end("fields")
    return raw[:end] + ADDED + b"\n" + _lines(missing) + raw[end:]


def _can_be_added_to(lines: bytes, fields: Fields) -> bool:
    """Returns whether front matter is that of a concept as soon as the missing fields follow."""
    type_ = fields.get("type", "Note")
    # Fault: the note is a copy of an exported file, whose lines would be taken for added ones.
    is_exported = ADDED in lines or ADDED_ABOVE in lines
    # Fault: readers of YAML differ in what ends a line.
    is_plain = not _UNPRINTABLE.search(lines.decode())
    return isinstance(type_, str) and bool(type_.strip()) and is_plain and not is_exported


def note_in(concept: bytes) -> tuple[str, bytes]:
    """Returns the path and the text of the note in an exported concept; no path for another one."""
    match = _FRONT.match(concept)
    if match is None:
        return "", concept
    own, _, added = match["fields"].partition(ADDED_ABOVE + b"\n")
    # Another program may have put fields above the comment: then the file is no export any more.
    if added and not own:
        return _path_in(added), concept[match.end() :]
    own, _, added = match["fields"].partition(b"\n" + ADDED + b"\n")
    if match["fields"].startswith(ADDED + b"\n"):
        own, added = b"", match["fields"].removeprefix(ADDED + b"\n")
    elif added:
        own += b"\n"
    path = _path_in(added)
    if not path:
        return "", concept
    return path, concept[: match.start("fields")] + own + concept[match.end("fields") :]


def _path_in(lines: bytes) -> str:
    fields = _mapping(lines) or {}
    own = fields.get(OWN_KEY)
    path = own.get("path") if isinstance(own, dict) else None
    return path if isinstance(path, str) else ""


def _mapping(lines: bytes) -> dict[Any, Any] | None:
    """Returns the fields of YAML; None where the lines are no mapping."""
    try:
        import yaml
    except ImportError:
        raise YamlMissing from None
    try:
        # Fault: a reader of YAML that is stricter refuses a key that is there twice.
        node = yaml.compose(lines.decode(), yaml.SafeLoader)
        if node is None:
            return {}
        if _has_key_twice(node):
            return None
        fields = yaml.safe_load(lines.decode())
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _has_key_twice(node: Any) -> bool:
    """Returns whether a mapping of parsed YAML, or one in it, has a key twice."""
    values = getattr(node, "value", None)
    if not isinstance(values, list):
        return False
    children = [
        child for pair in values for child in (pair if isinstance(pair, tuple) else (pair,))
    ]
    keys = [str(pair[0].value) for pair in values if isinstance(pair, tuple)]
    return len(set(keys)) < len(keys) or any(map(_has_key_twice, children))


def _lines(fields: Fields) -> bytes:
    """Returns fields as lines of YAML, of which JSON is a part."""
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())
    text = _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", "".join(lines))
    return text.encode()


def _fields_of(raw: bytes, origin: NoteOrigin) -> dict[str, Any]:
    place = origin.place
    items = [parse_item(item.text) for item in items_of(parse(raw))]
    topics = sorted({item.topic for item in items if item.topic})
    fields: dict[str, Any] = {
        "type": TYPES.get(place.kind, place.kind.title()),
        "title": place.name or origin.path.rpartition("/")[2].rpartition(".")[0],
        "tags": topics,
        "generated": _generated(origin),
        "verified": _verified(raw, origin),
        "sources": list(_sources(items, place)),
        "status": _status(items),
        "stale_after": _stale_after(items),
        OWN_KEY: {"path": origin.path, "kind": place.kind, "scope": place.scope},
    }
    return {key: value for key, value in fields.items() if value}


def _generated(origin: NoteOrigin) -> dict[str, str]:
    """Returns who wrote the text that the note has, and when: its last record, else a person."""
    last = origin.records[-1] if origin.records else None
    if last is not None and last.after == origin.revision:
        return {"by": _actor(last, origin.place), "at": _instant(last.ts)}
    # Whoever edits a file by hand leaves no record.
    return {"by": _human(origin.place), "at": _utc(origin.modified)}


def _verified(raw: bytes, origin: NoteOrigin) -> list[dict[str, str]]:
    """Returns who confirmed the note: a person, if all that the bot wrote in it is confirmed."""
    stamps = stamps_of(raw, origin.place, origin.records)
    by_bot = [stamp for stamp in stamps if stamp.by_bot]
    by_people = [record for record in origin.records if not record.by_bot]
    if not (by_bot and by_people and all(stamp.confirmed for stamp in by_bot)):
        return []
    last = by_people[-1]
    return [{"by": _actor(last, origin.place), "at": _instant(last.ts)}]


def _sources(items: Iterable[ItemFields], place: Place) -> Iterator[dict[str, str]]:
    """Yields the turns and tasks from which the items were learned."""
    # Several items may come from one turn.
    by_ref = {item.ref: item for item in items if item.ref}
    for ref, item in by_ref.items():
        source = {"id": ref, "resource": f"turn {ref} of {place.scope}"}
        if item.origin in _OWNER and place.scope.startswith("user:"):
            source["author"] = _human(place)
        yield source


def _status(items: Sequence[ItemFields]) -> str:
    """Returns `deprecated` for a note of which nothing holds any more."""
    is_replaced = (item.conf <= REPLACED or item.text.startswith("~~") for item in items)
    return "deprecated" if items and all(is_replaced) else ""


def _stale_after(items: Sequence[ItemFields]) -> str:
    """Returns when the last item ceases to hold, if each says how long it does."""
    days = [item.until for item in items if item.until]
    # An item without an end keeps the note valid.
    if not items or len(days) < len(items):
        return ""
    return f"{max(days) + timedelta(days=1)}T00:00:00Z"


def _actor(record: Record, place: Place) -> str:
    if record.by_bot:
        return f"vault-memory/{__version__}"
    return f"human:{record.user_id}" if record.user_id else _human(place)


def _human(place: Place) -> str:
    return f"human:{place.scope.partition(':')[2]}"


def _instant(ts: str) -> str:
    return _utc(datetime.fromisoformat(ts))


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
