"""Each button of the page is one call that a command makes, too: same bytes, same audit records."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.addons.page.served_page import Browser, serving_page
from tests.conftest import PROJECT
from tests.scenarios.outside import KEYWORDS_ONLY, Outside
from vault_memory.api.vault_memory import VaultMemory

USER = "Users/mira/lantern/config/USER.md"
SINGS = {"op": "add_heading", "heading": "Evenings", "lines": ["Sings at night"]}


class Press(NamedTuple):
    """A button: the path of its form with the fields, and the command that does the same."""

    path: str
    fields: Mapping[str, str | list[str]]
    command: tuple[str, ...]
    """one command; with several, each begins after a `;`"""


Prepare = Callable[[VaultMemory], Press]
"""Brings a copy of the sample vault into the state before the button, and returns the button"""


def append(memory: VaultMemory, op: Mapping[str, object] = SINGS) -> str:
    """Returns the id of the record of a person's edit."""
    return memory.apply(USER, [op], source="cli").audit_id or ""


def undo(memory: VaultMemory) -> Press:
    record = append(memory)
    return Press("/log/undo", {"id": record, "to": "/log"}, ("undo", record))


def redo(memory: VaultMemory) -> Press:
    record = memory.undo(append(memory)).audit_id or ""
    return Press("/log/undo", {"id": record, "to": "/log"}, ("undo", record))


def undo_of_an_older_record(memory: VaultMemory) -> Press:
    record = append(memory)
    append(memory, {**SINGS, "heading": "Mornings"})
    return Press("/log/undo", {"id": record, "to": "/log"}, ("undo", record))


def undo_a_night(memory: VaultMemory) -> Press:
    evening = datetime(2026, 5, 26, 20, 0, tzinfo=UTC)
    memory.record_turn(
        session="talk",
        role="user",
        user="mira",
        text="I am allergic to mackerel. Always answer me in English.",
        now=evening,
        chance=7,
    )
    memory.sleep(now=evening + timedelta(hours=10))
    changes = [record for record in memory.log() if record.before != record.after]
    ids = [record.id for record in reversed(changes)]
    assert len(ids) > 1
    fields = {"night": "2026-05-27", "sure": "yes", "id": ids}
    commands = [word for record_id in ids for word in (";", "undo", record_id)]
    return Press("/today/undo-night", fields, tuple(commands[1:]))


def add_a_fact(memory: VaultMemory) -> Press:
    fields = {"subject": "mira", "predicate": "likes", "object": "tea"}
    return Press("/facts/add", fields, ("add-fact", "mira", "likes", "tea"))


def add_a_fact_with_days(memory: VaultMemory) -> Press:
    fields = {
        "subject": "the pump",
        "predicate": "stands in",
        "object": "the yard (old)",
        "scope": "user:tomas",
        "since": "2026-03-01",
        "until": "2026-05-01",
        "temporary": "1",
    }
    options = ("--user", "tomas", "--temporary")
    days = ("--from", "2026-03-01", "--until", "2026-05-01")
    fact = ("the pump", "stands in", "the yard (old)")
    return Press("/facts/add", fields, ("add-fact", *fact, *options, *days))


def add_a_fact_that_ends_another(memory: VaultMemory) -> Press:
    fields = {"subject": "mira", "predicate": "lives_in", "object": "Ostervik"}
    return Press("/facts/add", fields, ("add-fact", "mira", "lives_in", "Ostervik"))


def add_a_fact_again(memory: VaultMemory) -> Press:
    fields = {"subject": "mira", "predicate": "learns", "object": "Chinese"}
    return Press("/facts/add", fields, ("add-fact", "mira", "learns", "Chinese"))


def fact_id(memory: VaultMemory, subject: str, predicate: str) -> str:
    facts = memory.facts(scopes=memory.scopes(), entity=subject)
    [match] = [fact.id for fact in facts if fact.predicate == predicate]
    return match


def confirm(memory: VaultMemory) -> Press:
    fact = fact_id(memory, "mira", "has_sister")
    return Press("/facts/confirm", {"id": fact}, ("confirm", fact))


def correct(memory: VaultMemory) -> Press:
    fact = fact_id(memory, "mira", "has_sister")
    fields = {"id": fact, "object": "Annika", "predicate": "has_sister", "since": ""}
    return Press("/facts/correct", fields, ("correct", fact, "Annika"))


def correct_a_day(memory: VaultMemory) -> Press:
    fact = fact_id(memory, "mira", "learns")
    fields = {"id": fact, "object": "Chinese", "since": "2026-04-06"}
    return Press("/facts/correct", fields, ("correct", fact, "--from", "2026-04-06"))


def end_a_fact(memory: VaultMemory) -> Press:
    fact = fact_id(memory, "mira", "learns")
    return Press("/facts/end", {"id": fact}, ("invalidate", fact))


def delete_a_fact(memory: VaultMemory) -> Press:
    fact = fact_id(memory, "fog bell", "also_known_as")
    return Press("/facts/delete", {"id": fact}, ("delete-fact", fact))


LIKES = [
    "Drinks her coffee black and her tea with too much honey",
    "Wants times in the 24-hour clock and wind in Beaufort (2026-04-02)",
]


def propose(memory: VaultMemory, match: str) -> str:
    """Returns the id of a proposal of the bot to remove an item."""
    op = {"op": "remove", "heading": "Preferences", "match": match}
    return memory.apply(USER, [op], source="tool").proposed[0].id


def approve(memory: VaultMemory) -> Press:
    proposal = propose(memory, LIKES[0])
    return Press("/inbox/approve", {"id": proposal}, ("inbox", "approve", proposal))


def reject(memory: VaultMemory) -> Press:
    proposal = propose(memory, LIKES[0])
    return Press("/inbox/reject", {"id": proposal}, ("inbox", "reject", proposal))


def approve_several(memory: VaultMemory) -> Press:
    ids = [propose(memory, match) for match in LIKES]
    commands = [word for proposal in ids for word in (";", "inbox", "approve", proposal)]
    return Press("/inbox/approve", {"id": ids}, tuple(commands[1:]))


def reject_several(memory: VaultMemory) -> Press:
    ids = [propose(memory, match) for match in LIKES]
    commands = [word for proposal in ids for word in (";", "inbox", "reject", proposal)]
    return Press("/inbox/reject", {"id": ids}, tuple(commands[1:]))


COPY = USER.replace(".md", ".sync-conflict-20260526-120000-ABCDEFG.md")


def leave_copy(memory: VaultMemory, old: str, new: str) -> str:
    """Lets a sync program leave a copy of the note. Returns its id."""
    text = (memory.root / USER).read_text("utf-8")
    assert old in text
    (memory.root / COPY).write_text(text.replace(old, new), "utf-8")
    [copy] = memory.conflicts()
    return copy.id


def press_of_conflict(button: str, command: str) -> Prepare:
    """Returns a button of a conflict in which both changed one line."""

    def prepare(memory: VaultMemory) -> Press:
        copy = leave_copy(memory, "before 06:30", "before 07:00")
        words = ("conflicts", *command.split(), copy)
        return Press(f"/resolve/{button}", {"id": copy}, words)

    return prepare


def take_one_place(memory: VaultMemory) -> Press:
    copy = leave_copy(memory, "before 06:30", "before 07:00")
    [place] = next(iter(memory.conflicts())).places
    fields = {"id": copy, "place": place.id, "choice": "take"}
    return Press("/resolve/place", fields, ("conflicts", "take", copy, "--place", place.id))


def merge_a_copy(memory: VaultMemory) -> Press:
    end = "- [plan] Learn enough Chinese to read a menu by autumn (2026-04-07)"
    copy = leave_copy(memory, end, f"{end}\n- Sings at night")
    command = ("conflicts", "merge", copy)
    return Press("/resolve/merge", {"id": copy}, command)


def resolve_by_hand(memory: VaultMemory) -> Press:
    copy = leave_copy(memory, "before 06:30", "before 07:00")
    base = (memory.root / USER).read_bytes()
    text = base.decode().replace("06:30", "06:45")
    encoded = b64encode(base).decode()
    fields = {"id": copy, "text": text, "shown": encoded, "base": encoded}
    commands = ("edit", USER, ";", "conflicts", "discard", copy)
    return Press("/resolve/hand", fields, commands)


def restore_from_the_trash(memory: VaultMemory) -> Press:
    append(memory)
    memory.conflicts.discard([leave_copy(memory, "before 06:30", "before 07:00")])
    [thrown] = [entry.id for entry in memory.conflicts.trash()]
    return Press("/trash/restore", {"id": thrown}, ("trash", "restore", thrown))


TEA = "Drinks her coffee black"


def item_fields(memory: VaultMemory, **fields: str) -> dict[str, str]:
    return {
        "note": USER,
        "expected": memory.read(USER).revision,
        "heading": "Preferences",
        **fields,
    }


def append_an_item(memory: VaultMemory) -> Press:
    fields = item_fields(memory, line="Sings at night")
    command = ("append", USER, "Preferences", "Sings at night")
    return Press("/note/append", fields, command)


def add_a_section(memory: VaultMemory) -> Press:
    fields = item_fields(memory, heading="Evenings", line="Sings\r\nReads\r\n")
    command = ("add-heading", USER, "Evenings", "Sings", "Reads")
    return Press("/note/add-section", fields, command)


def change_an_item(memory: VaultMemory) -> Press:
    fields = item_fields(memory, match=TEA, line="Drinks tea")
    command = ("replace", USER, "Preferences", TEA, "Drinks tea")
    return Press("/note/change", fields, command)


def remove_an_item(memory: VaultMemory) -> Press:
    fields = item_fields(memory, match=TEA)
    return Press("/note/remove", fields, ("remove", USER, "Preferences", TEA))


def save_a_text(memory: VaultMemory) -> Press:
    """The editor of the command makes the same change: see `Copy.at`."""
    note = memory.read(USER)
    fields = {
        "base": b64encode(note.raw).decode(),
        "revision": note.revision,
        "text": note.text.replace("06:30", "06:45").replace("\n", "\r\n"),
    }
    return Press(f"/edit/{USER}", fields, ("edit", USER))


def restore_a_version(memory: VaultMemory) -> Press:
    revision = memory.read(USER).revision
    append(memory)
    fields = {"note": USER, "revision": revision, "sure": "yes"}
    return Press("/history/restore", fields, ("restore", USER, "--revision", revision))


BUTTONS: dict[str, Prepare] = {
    "append an item": append_an_item,
    "add a section": add_a_section,
    "change an item": change_an_item,
    "remove an item": remove_an_item,
    "restore a version": restore_a_version,
    "save a text": save_a_text,
    "undo": undo,
    "redo": redo,
    "undo of an older record": undo_of_an_older_record,
    "undo a night": undo_a_night,
    "add a fact": add_a_fact,
    "add a fact with days": add_a_fact_with_days,
    "add a fact that ends another": add_a_fact_that_ends_another,
    "add a fact again": add_a_fact_again,
    "confirm": confirm,
    "correct": correct,
    "correct a day": correct_a_day,
    "end a fact": end_a_fact,
    "delete a fact": delete_a_fact,
    "approve": approve,
    "reject": reject,
    "approve several": approve_several,
    "reject several": reject_several,
    "merge a copy": merge_a_copy,
    "keep both": press_of_conflict("both", "merge --both"),
    "discard a copy": press_of_conflict("discard", "discard"),
    "take a copy": press_of_conflict("take", "take"),
    "take one place": take_one_place,
    "resolve by hand": resolve_by_hand,
    "restore from the trash": restore_from_the_trash,
}
"""Name of a button → its state and its command. Each view adds its buttons here."""


@dataclass
class Copy:
    """A copy of the sample vault with a home of its own."""

    outside: Outside

    @classmethod
    def at(cls, folder: Path) -> "Copy":
        folder.mkdir()
        sample = PROJECT / "sample_vault"
        vault = folder / "vault"
        for source in sorted(sample.rglob("*")):
            target = vault / source.relative_to(sample)
            if source.is_dir():
                target.mkdir(parents=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
        settings = {**KEYWORDS_ONLY, "EDITOR": "sed -i s/06:30/06:45/", "VISUAL": ""}
        return cls(Outside(vault, folder, settings, quick=True))

    def open(self) -> VaultMemory:
        return VaultMemory.open(self.outside.vault, environment=self.outside.environment)

    def notes(self) -> dict[str, bytes]:
        """The bytes of all notes; INBOX pages without the ids."""
        files = self.outside.vault.rglob("*.md")
        ids = self._names_of_ids()
        return {
            str(file.relative_to(self.outside.vault)): _renamed(
                file.read_text("utf-8"), ids
            ).encode()
            for file in files
        }

    def audit(self) -> list[Any]:
        """All audit records, but for ids, times and the name of the device."""
        ids = self._names_of_ids()
        records = []
        with self.open() as memory:
            for record in memory.log():
                text = _renamed(json.dumps(record.as_json(), sort_keys=True), ids)
                fields = json.loads(text)
                for name in ("ts", "device"):
                    fields.pop(name, None)
                records.append(fields)
        return sorted(records, key=lambda fields: str(fields["id"]))

    def trash(self) -> list[tuple[str, int, str]]:
        """What is in the trash, but for ids and times."""
        with self.open() as memory:
            entries = memory.conflicts.trash()
        return sorted((entry.note, entry.bytes, entry.revision) for entry in entries)

    def _names_of_ids(self) -> dict[str, str]:
        with self.open() as memory:
            records = memory.log()
        return {record.id: f"record {n}" for n, record in enumerate(records)}


def _renamed(text: str, names: Mapping[str, str]) -> str:
    for record_id, name in names.items():
        text = text.replace(record_id, name)
    return text


@pytest.fixture
def by_hand(tmp_path: Path) -> Copy:
    return Copy.at(tmp_path / "by-hand")


@pytest.fixture
def by_page(tmp_path: Path) -> Copy:
    return Copy.at(tmp_path / "by-page")


@pytest.mark.sampled
@pytest.mark.parametrize("button", BUTTONS)
def test_a_button_does_what_its_command_does(by_hand: Copy, by_page: Copy, button: str) -> None:
    prepare = BUTTONS[button]
    with by_hand.open() as memory:
        typed = prepare(memory)
    with by_page.open() as memory:
        pressed = prepare(memory)
    before = by_hand.audit()
    trash_before = by_hand.trash()
    assert by_page.audit() == before

    for command in _commands(typed.command):
        done = by_hand.outside.run(*command)
        assert done.code == 0, done
    _press(by_page, pressed)

    assert by_page.notes() == by_hand.notes()
    assert by_page.audit() == by_hand.audit()
    assert by_page.trash() == by_hand.trash()
    assert (by_page.audit(), by_page.trash()) != (before, trash_before)


def _commands(words: tuple[str, ...]) -> list[list[str]]:
    commands: list[list[str]] = [[]]
    for word in words:
        if word == ";":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def _press(copy: Copy, press: Press) -> None:
    with copy.open() as memory, serving_page(memory) as page:
        browser: Browser = page.browser()
        token = browser.client.headers["cookie"].partition("=")[2]
        session = page.sessions.find(token)
        assert session is not None
        browser.csrf = session.csrf
        answer = browser.post(press.path, press.fields)
        assert answer.status_code in (200, 303), answer.text
