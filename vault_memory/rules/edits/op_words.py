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
_REASONS = dict(
    line.split(": ", 1)
    for line in """\
noop_no_match: no item of the section contains that; `vault-memory read NOTE` shows what it says
heading_missing: the note has no such section; {sections}
heading_exists: the note has this section already; add lines to it
several_headings: several sections have this name: {places}; \
give the one you mean another name first
multiple_matches: several items contain that; give more of the words of one of them
deleted_by_person: a person deleted this on purpose; write it into the note itself to have it again
rejected_by_person: a person turned this down before; \
write it into the note itself if it is right now
waits_for_removal: an older line has to go first; decide about that line first
not_text: the note is no text; open the file in the program that made it
would_change_structure: the text would change the sections around it; \
write it on one line, and begin it with a word
line_starts_with_hash: the text would begin a section; begin it with a word
line_breaks: the text has several lines; give each line by itself
too_long: the text is too long for one line; say it in fewer words
empty_line: the line is empty; say what it shall say
unknown_op: this version knows no such change; name one of those in the manual
duplicate: the memory has this already; search finds it
pending: another program writes into the note now; \
leave it alone for a moment: the change is made by itself
a person wrote the item: you wrote this line, so the bot asks
it looks like an instruction to the bot: this reads like an order to the bot; who said it?
both changed the same place: changed on two devices; which is right?
it is unknown which of two similar lines replaces the other: two lines look alike; \
choose what to keep
""".splitlines()
)
"""Code of an outcome or a reason → the reason for people; what to do now"""
_ITEM_OPS = frozenset({"remove", "replace", "archive"})


def explained(code: str, op: object, headings: Sequence[str] = ()) -> str:
    """Returns why an op did nothing or waits, with the next step; empty for an unknown reason.

    `code` is an outcome, or the reason of a refusal, a proposal or a conflict; `headings` are those
    of the note.
    """
    name = _name(op)
    if code == "noop_no_match" and name not in _ITEM_OPS:
        return ""
    if code == "noop_dup":
        return "the item says that already" if name == "replace" else ""
    places = ", ".join(headings)
    sections = 'add one, or give `""`, which means the text above the first heading'
    if headings:
        sections = f"name one of these, or add one: {places}"
    # Fault: more words do not tell apart two items that say the same.
    if code == "multiple_matches" and headings:
        code = "several_headings"
    return _REASONS.get(code, "").format(sections=sections, places=places)


def reason_words(reason: str, headings: Sequence[str] = ()) -> str:
    """Returns a reason for people, with the next step; one that is not in the table as it is."""
    return explained(reason, None, headings) or reason.replace("_", " ")


def did_nothing(op: object, outcome: str) -> bool:
    """Returns whether an op that should change an item found nothing to change."""
    return outcome != "applied" and _name(op) in _ITEM_OPS


def _name(op: object) -> object:
    return op.get("op") if isinstance(op, Mapping) else None


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
