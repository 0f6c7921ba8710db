"""How an op reads in words: on one line, in INBOX.md and in the log.

Works on the JSON of an op, also of one that an older or newer version recorded. Imports nothing
heavy, because the commands that must start fast use it.
"""

from collections.abc import Mapping, Sequence

_ON_ONE_LINE = {
    "append": "append to {section}: {line}",
    "add_heading": "add the section {heading}",
    "remove": "remove from {section}: {match}",
    "replace": "replace in {section}: {match} with {line}",
    "archive": "archive from {section}: {match}",
    "move": "move the section {heading} from {from} to {to}",
    "restore": "restore {revision:.12}",
    "merge": "merge {copy}",
    "rename": "rename to {to}",
    "arrival": "rename from {from}",
    "settle": "decide a place of a conflict: {choice}",
}
_AS_QUESTION = {
    "append": 'add to {place}: "{line}"',
    "add_heading": "add a section to {note}: {heading}, with {quoted_lines}",
    "remove": 'remove from {place}: "{match}"',
    "replace": 'change in {place}: "{match}" to "{line}"',
    "archive": 'move to the archive of {note}, from {section}: "{match}"',
}
OPENING = "the opening"
"""What the section above the first heading is called"""
_NEXT_STEPS = {
    "noop_no_match": "no item of the section contains that;"
    " `vault-memory read NOTE` shows what it says",
    "heading_missing": "the note has no such section; {sections}",
    "heading_exists": "the note has this section already; add items to it with `append`",
    "several_headings": "several sections have this name: {places};"
    " give the one you mean another name first",
    "multiple_matches": "several items contain that; give more of the words of one of them",
}
_ITEM_OPS = frozenset({"remove", "replace", "archive"})


def explained(code: str, op: object, headings: Sequence[str] = ()) -> str:
    """Returns why an op did nothing, as a sentence with the next step; empty where nothing helps.

    `code` is an outcome or the reason of a refusal, `headings` are those of the note.
    """
    name = op.get("op") if isinstance(op, Mapping) else None
    if code == "noop_no_match" and name not in _ITEM_OPS:
        return ""
    if code == "noop_dup":
        return "the item says that already" if name == "replace" else ""
    sections = "add one with `vault-memory add-heading`"
    if headings:
        sections = f"name one of these, or {sections}: {', '.join(headings)}"
    elif code == "heading_missing":
        sections += ', or give `""`, which means the text above the first heading'
    # Fault: more words do not tell apart two items that say the same.
    if code == "multiple_matches" and headings:
        code = "several_headings"
    return _NEXT_STEPS.get(code, "").format(sections=sections, places=", ".join(headings))


def did_nothing(op: object, outcome: str) -> bool:
    """Returns whether an op that should change an item found nothing to change."""
    name = op.get("op") if isinstance(op, Mapping) else None
    return outcome != "applied" and name in _ITEM_OPS


class _OpFields(dict[str, object]):
    """The fields of an op; a field that it lacks is a text."""

    def __init__(self, op: Mapping[str, object], note: str = "") -> None:
        super().__init__({"copy": "what was saved", **op})
        heading = self["heading"]
        self["note"] = note
        self["section"] = OPENING if heading == "" else heading
        self["place"] = note if heading == "" else f"{note} › {heading}"

    def __missing__(self, key: str) -> str:
        return "None"


def in_words(op: object) -> str:
    """Returns an op, or any other change in the audit, on one line. Accepts any JSON value."""
    if not isinstance(op, Mapping):
        return repr(op)
    name = op.get("op")
    if name == "undo":
        return f"undo {in_words(op.get('of'))}"
    if name == "rename" and "to" not in op:
        name = "arrival"
    return _ON_ONE_LINE.get(str(name), "{op}").format_map(_OpFields(op))


def as_question(op: Mapping[str, object], note: str) -> str:
    """Returns what a person is asked about a valid op for the note of this name."""
    template = _AS_QUESTION[str(op["op"])]
    fields = _OpFields(op, note)
    lines = op.get("lines")
    if isinstance(lines, list):
        fields["quoted_lines"] = ", ".join(f'"{line}"' for line in lines)
    return template.format_map(fields)
