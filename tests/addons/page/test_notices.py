"""What a person is told after each button: a sentence with the words of the item, and Undo."""

import html
import re
from base64 import b64encode
from collections.abc import Callable
from typing import NamedTuple

from tests.addons.page.served_page import Browser, ServedPage
from tests.addons.page.test_conflicts_view import leave_copy, leave_new_line
from vault_memory.api.vault_memory import VaultMemory

MIRAS = "Users/mira/lantern/config/USER.md"
PREFERENCE = "[preference] Drinks her coffee black and her tea with too much honey"
LEFT_HANDED = "Is left-handed; the tools in the lamp room hang on the left of the hook board"
NOTICE = re.compile(r'<section id="notice"([^>]*)>(.*?)</section>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
RECORD = re.compile(r'action="/log/undo".*?name="id" value="([^"]+)"', re.DOTALL)


class Act(NamedTuple):
    """A button of the page, and the words of the item in the sentence that follows."""

    path: str
    words: str
    fields: Callable[[VaultMemory], dict[str, str]]
    can_undo: bool = True


def on_item(**more: str) -> Callable[[VaultMemory], dict[str, str]]:
    """The form of a button of a line of Mira's note."""
    return lambda memory: {
        "note": MIRAS,
        "expected": memory.read(MIRAS).revision,
        "heading": "Preferences",
        "to": "/about?name=mira",
        **more,
    }


def on_fact(**more: str) -> Callable[[VaultMemory], dict[str, str]]:
    """The form of a button of what Mira learns."""

    def fields(memory: VaultMemory) -> dict[str, str]:
        facts = memory.facts(scopes=["user:mira"], entity="mira")
        [fact] = [fact.id for fact in facts if fact.predicate == "learns"]
        return {"id": fact, "to": "/facts?entity=mira", **more}

    return fields


def saved(memory: VaultMemory) -> dict[str, str]:
    """The form of the raw text, with one more line."""
    note = memory.read(MIRAS)
    base = b64encode(note.raw).decode()
    return {"text": f"{note.text}- Whistles\n", "base": base, "revision": note.revision}


def proposed(memory: VaultMemory) -> dict[str, str]:
    op = {"op": "remove", "heading": "About", "match": LEFT_HANDED}
    edit = memory.apply(MIRAS, [op], source="tool")
    return {"id": edit.proposed[0].id, "to": "/inbox"}


def done(line: str) -> Callable[[VaultMemory], dict[str, str]]:
    """The form of Undo of an edit that adds a line."""

    def fields(memory: VaultMemory) -> dict[str, str]:
        op = {"op": "append", "heading": "Preferences", "line": line}
        edit = memory.apply(MIRAS, [op], source="cli")
        return {"id": edit.audit_id or "", "to": "/log"}

    return fields


def earlier(memory: VaultMemory) -> dict[str, str]:
    """The form of Restore of the version before the newest edit."""
    done("Sings at dusk")(memory)
    return {"note": MIRAS, "revision": memory.history(MIRAS)[1].revision, "sure": "yes"}


def copied(memory: VaultMemory) -> dict[str, str]:
    return {"id": leave_copy(memory)}


def longer_copy(memory: VaultMemory) -> dict[str, str]:
    return {"id": leave_new_line(memory)}


ADDED_FACT = {"subject": "Mira", "predicate": "plays", "object": "the concertina"}
ACTS = (
    Act("/note/append", "Whistles", on_item(line="Whistles before rain")),
    Act("/note/add-section", "Two oars", on_item(heading="Boats", line="Two oars")),
    Act("/note/change", "Drinks tea", on_item(match=PREFERENCE, line="[preference] Drinks tea")),
    Act("/note/remove", "coffee black", on_item(match=PREFERENCE)),
    Act(f"/edit/{MIRAS}", "Whistles", saved),
    Act(
        "/remember",
        "spare oars",
        lambda memory: {"text": "The spare oars are in the shed", "scope": "user:mira"},
    ),
    Act("/facts/add", "concertina", lambda memory: ADDED_FACT | {"to": "/facts?entity=mira"}),
    Act("/facts/confirm", "Chinese", on_fact()),
    Act("/facts/correct", "Greek", on_fact(object="Greek")),
    Act("/facts/end", "Chinese", on_fact()),
    Act("/facts/delete", "Chinese", on_fact()),
    Act("/inbox/approve", "left-handed", proposed),
    Act("/inbox/reject", "Rejected", proposed, can_undo=False),
    Act("/log/undo", "Sings at dawn", done("Sings at dawn")),
    Act("/today/undo", "Sings at noon", done("Sings at noon")),
    Act("/history/restore", "Sings at dusk", earlier),
    Act("/resolve/merge", "Sings at night", longer_copy),
    Act("/resolve/both", "07:00", copied),
    Act("/resolve/take", "07:00", copied),
    Act("/resolve/discard", "", copied, can_undo=False),
)


def notes(memory: VaultMemory) -> dict[str, bytes]:
    """The bytes of the notes; the inbox tells of decisions, and copies are in the trash."""
    return {
        path.relative_to(memory.root).as_posix(): path.read_bytes()
        for path in memory.root.rglob("*.md")
        if path.name != "INBOX.md" and "conflict" not in path.name
    }


def fault_of(act: Act, browser: Browser, memory: VaultMemory) -> str:
    """What is wrong about the notice of a button; empty when nothing is."""
    fields = act.fields(memory)
    before = notes(memory)
    answer = browser.post(act.path, fields)
    if answer.status_code != 303:
        return f"{answer.status_code}: {' '.join(TAG.sub('', answer.text).split())[-900:]}"
    view = browser.get(answer.headers["location"]).text
    notice = NOTICE.search(view)
    if notice is None:
        return "" if not act.words else "no notice"
    sentence = html.unescape(TAG.sub("", notice[2].partition("</p>")[0])).strip()
    if 'role="status"' not in notice[1] or "autofocus" not in notice[1]:
        return f"nobody hears {sentence!r}"
    if act.words not in sentence:
        return f"{sentence!r} does not say {act.words!r}"
    record = RECORD.search(notice[2])
    if bool(record) != act.can_undo:
        return f"{sentence!r} can be undone: {bool(record)}"
    if record:
        browser.post("/log/undo", {"id": record[1], "to": "/log"})
        if notes(memory) != before:
            changed = {path for path, raw in notes(memory).items() if before.get(path) != raw}
            return f"undone, {changed} differ"
    return ""


def test_each_button_says_what_it_did_and_undo_gives_every_byte_back(own_page: ServedPage) -> None:
    browser = own_page.browser("mira")
    faults = {act.path: fault_of(act, browser, own_page.memory) for act in ACTS}

    assert not any(faults.values()), "\n".join(f"{path}: {fault}" for path, fault in faults.items())
