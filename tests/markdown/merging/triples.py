"""Notes with two edited versions, made from a seed. Each item has an identity: it is known who did what to it."""

from dataclasses import dataclass, field, replace
from random import Random

VERBS = "likes owns plans avoids prefers remembers wants needs reads fears paints mends sells counts".split()
THINGS = "tea coffee ink maps lamps boats chess bread rope salt kites tides stamps bells clocks honey moss wool".split()
PLACES = (
    "Berlin Oslo Ghent harbour kitchen garden attic museum island office cellar 京都 Казань".split()
)
SMALL = "the a in at with near for every some old new small blue quiet".split()
NAMES = "Preferences Work People Plans Health Home Travel Notes Money Music Garden Tools".split()
POOL = ["Drinks mint tea", "Has a dog called Rex", "Sleeps at noon", "Works from home on Fridays"]


@dataclass
class Item:
    """A list item, or a paragraph, fence or table, which has no box and no kids."""

    id: int
    words: str
    kind: str = "item"
    box: str = ""
    tail: str = ""
    kids: list["Item"] = field(default_factory=list)

    def copy(self) -> "Item":
        return Item(
            self.id, self.words, self.kind, self.box, self.tail, [kid.copy() for kid in self.kids]
        )


@dataclass
class Section:
    id: int
    name: str
    items: list[Item]


@dataclass
class Note:
    sections: list[Section]
    newline: str = "\n"
    final: bool = True
    bom: bool = False
    marker: str = "-"

    def copy(self) -> "Note":
        sections = [
            Section(one.id, one.name, [item.copy() for item in one.items]) for one in self.sections
        ]
        return replace(self, sections=sections)

    def item(self, id: int) -> Item | None:
        return next(
            (item for section in self.sections for item in section.items if item.id == id), None
        )

    def home(self, id: int) -> Section | None:
        return next(
            (section for section in self.sections if any(item.id == id for item in section.items)),
            None,
        )

    def raw(self) -> bytes:
        lines: list[str] = []
        for section in self.sections:
            if section.name:
                lines += ["## " + section.name, ""]
            before = ""
            for item in section.items:
                if before and (before != "item" or item.kind != "item"):
                    lines.append("")
                lines += self._item(item, "")
                before = item.kind
            if section.items:
                lines.append("")
        text = self.newline.join(lines[:-1] if lines and not lines[-1] else lines)
        text += self.newline if self.final and text else ""
        return ("\ufeff" if self.bom else "").encode() + text.encode()

    def _item(self, item: Item, indent: str) -> list[str]:
        if item.kind == "paragraph":
            return [item.words]
        if item.kind == "fence":
            return ["```", "## " + item.words, "", "- " + item.words + " no item", "```"]
        box = f"[{item.box}] " if item.box else ""
        lines = [f"{indent}{self.marker} {box}{item.words}{item.tail}"]
        for kid in item.kids:
            lines += self._item(kid, indent + "  ")
        return lines


@dataclass
class Did:
    """What one side did."""

    deleted: set[int] = field(default_factory=set)
    edited: set[int] = field(default_factory=set)
    moved: set[int] = field(default_factory=set)
    checked: set[int] = field(default_factory=set)
    kids: set[int] = field(default_factory=set)
    doubled: set[int] = field(default_factory=set)
    added: list[int] = field(default_factory=list)
    renamed: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    new_sections: set[int] = field(default_factory=set)
    reordered: set[int] = field(default_factory=set)

    def touched(self) -> set[int]:
        return self.deleted | self.edited | self.moved | self.doubled | self.kids | self.checked


@dataclass
class Triple:
    base: Note
    ours: Note
    theirs: Note
    mine: Did
    yours: Did

    def raws(self) -> tuple[bytes, bytes, bytes]:
        return self.base.raw(), self.ours.raw(), self.theirs.raw()


class Author:
    """Makes notes and edits them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.last = 0
        self.used: set[str] = set()

    def id(self) -> int:
        self.last += 1
        return self.last

    def triple(self) -> Triple:
        base = self.note()
        mine, yours = Did(), Did()
        ours, theirs = self.edited(base, mine), self.edited(base, yours)
        self.restyle(base, theirs)
        return Triple(base, ours, theirs, mine, yours)

    def note(self) -> Note:
        names = self.random.sample(NAMES, self.random.randint(1, 5))
        sections = [
            Section(self.id(), name, [self.item() for _ in range(self.random.randint(0, 6))])
            for name in names
        ]
        if self.random.random() < 0.5:
            sections.insert(0, Section(self.id(), "", [self.item("paragraph")]))
        for section in sections[1:]:
            if self.random.random() < 0.2:
                kind = self.random.choice(["paragraph", "fence"])
                section.items.insert(self.random.choice([0, len(section.items)]), self.item(kind))
        marker, newline = (
            self.random.choice("--*"),
            self.random.choice(["\n", "\n", "\n", "\r\n"]),
        )
        return Note(
            sections, newline, self.random.random() < 0.9, self.random.random() < 0.05, marker
        )

    def item(self, kind: str = "item") -> Item:
        item = Item(self.id(), self.words(), kind)
        if kind == "item":
            if self.random.random() < 0.3:
                item.tail = f" (2026-0{self.random.randint(1, 9)}-1{self.random.randint(0, 9)}, ref:{item.id})"
            if self.random.random() < 0.15:
                item.box = self.random.choice(" x")
            if self.random.random() < 0.2:
                item.kids = [
                    Item(self.id(), self.words()) for _ in range(self.random.randint(1, 3))
                ]
        return item

    def words(self) -> str:
        while True:
            pick = self.random.choice
            words = [pick(VERBS).title(), pick(SMALL), pick(THINGS), pick(SMALL), pick(PLACES)]
            words += [pick(SMALL), pick(THINGS)] if self.random.random() < 0.5 else []
            text = " ".join(words)
            if text not in self.used:
                self.used.add(text)
                return text

    def reworded(self, text: str) -> str:
        """One word another, more or less: most of it stays."""
        while True:
            words = text.split()
            place = self.random.randrange(len(words))
            kind = self.random.random()
            if kind < 0.6:
                words[place] = self.random.choice(THINGS)
            elif kind < 0.8:
                words.insert(place, self.random.choice(PLACES))
            elif len(words) > 4:
                del words[place]
            changed = " ".join(words)
            if changed not in self.used:
                self.used.add(changed)
                return changed

    def edited(self, base: Note, did: Did) -> Note:
        note = base.copy()
        for _ in range(self.random.choice([0, 1, 1, 2, 3, 4, 6])):
            edit = self.random.choices(EDITS, WEIGHTS)[0]
            edit(self, note, base, did)
        return note

    def restyle(self, base: Note, note: Note) -> None:
        if self.random.random() < 0.1:
            note.newline = "\r\n" if base.newline == "\n" else "\n"
        if self.random.random() < 0.1:
            note.final = not base.final
        if self.random.random() < 0.05:
            note.bom = not base.bom

    def old(
        self, note: Note, base: Note, did: Did, kinds: tuple[str, ...] = ("item",)
    ) -> Item | None:
        """An item of the base that this side has not done anything to."""
        ids = [
            item.id
            for section in base.sections
            if section.id not in did.removed | did.renamed
            for item in section.items
            if item.kind in kinds and item.id not in did.touched()
        ]
        return note.item(self.random.choice(ids)) if ids else None

    def section(self, note: Note) -> Section | None:
        return self.random.choice(note.sections) if note.sections else None

    def add(self, note: Note, base: Note, did: Did) -> None:
        section = self.section(note)
        if section is None:
            return
        item = self.item()
        if self.random.random() < 0.3:
            text = self.random.choice(POOL)
            if any(
                other.words.lower().rstrip(".") == text.lower()
                for s in note.sections
                for other in s.items
            ):
                return
            item = Item(item.id, self.random.choice([text, text, text.lower(), text + "."]))
        place = (
            len(section.items)
            if self.random.random() < 0.7
            else self.random.randint(0, len(section.items))
        )
        section.items.insert(place, item)
        did.added.append(item.id)

    def delete(self, note: Note, base: Note, did: Did) -> None:
        item = self.old(note, base, did, ("item", "item", "paragraph"))
        if item and (section := note.home(item.id)):
            section.items.remove(item)
            did.deleted.add(item.id)

    def edit(self, note: Note, base: Note, did: Did) -> None:
        item = self.old(note, base, did, ("item", "paragraph", "fence"))
        if item:
            item.words = self.reworded(item.words)
            did.edited.add(item.id)

    def rewrite(self, note: Note, base: Note, did: Did) -> None:
        item = self.old(note, base, did)
        if item and (section := note.home(item.id)):
            new = self.item()
            section.items[section.items.index(item)] = new
            did.deleted.add(item.id)
            did.added.append(new.id)

    def check(self, note: Note, base: Note, did: Did) -> None:
        item = self.old(note, base, did)
        if item and item.box:
            item.box = "x" if item.box == " " else " "
            did.checked.add(item.id)

    def move(self, note: Note, base: Note, did: Did) -> None:
        item, section = self.old(note, base, did), self.section(note)
        if item and section and (home := note.home(item.id)) and home is not section:
            home.items.remove(item)
            section.items.insert(self.random.randint(0, len(section.items)), item)
            did.moved.add(item.id)

    def double(self, note: Note, base: Note, did: Did) -> None:
        item = self.old(note, base, did)
        if item and not item.kids and (section := note.home(item.id)):
            section.items.insert(
                section.items.index(item) + 1,
                Item(self.id(), item.words, box=item.box, tail=item.tail),
            )
            did.doubled.add(item.id)

    def change_kids(self, note: Note, base: Note, did: Did) -> None:
        item = self.old(note, base, did)
        if item is None:
            return
        kind = self.random.random()
        if kind < 0.4 or not item.kids:
            item.kids.insert(self.random.randint(0, len(item.kids)), Item(self.id(), self.words()))
        elif kind < 0.7:
            kid = self.random.choice(item.kids)
            kid.words = self.reworded(kid.words)
        else:
            item.kids.remove(self.random.choice(item.kids))
        did.kids.add(item.id)

    def reorder(self, note: Note, base: Note, did: Did) -> None:
        section = self.section(note)
        if section:
            self.random.shuffle(section.items)
            did.reordered.add(section.id)

    def rename(self, note: Note, base: Note, did: Did) -> None:
        section = self.section(note)
        before = next((old for old in base.sections if section and old.id == section.id), None)
        if section is None or before is None or not section.name or not before.items:
            return
        left = [
            item for item in before.items if item in section.items and item.id not in did.touched()
        ]
        if len(left) == len(before.items) and len(section.items) <= 2 * len(left):
            section.name = f"{self.random.choice(NAMES)} {section.id}"
            did.renamed.add(section.id)

    def remove(self, note: Note, base: Note, did: Did) -> None:
        section = self.section(note)
        before = next((old for old in base.sections if section and old.id == section.id), None)
        if section is None or before is None or not section.name or section.id in did.renamed:
            return
        if [item.id for item in section.items] == [item.id for item in before.items]:
            note.sections.remove(section)
            did.removed.add(section.id)
            did.deleted |= {item.id for item in section.items}

    def begin(self, note: Note, base: Note, did: Did) -> None:
        new = Section(self.id(), f"{self.random.choice(NAMES)} {self.last}", [self.item()])
        note.sections.insert(
            self.random.randint(1, len(note.sections)) if note.sections else 0, new
        )
        did.new_sections.add(new.id)
        did.added += [item.id for item in new.items]

    def move_section(self, note: Note, base: Note, did: Did) -> None:
        named = [section for section in note.sections if section.name]
        if len(named) > 1:
            section = self.random.choice(named)
            note.sections.remove(section)
            note.sections.insert(self.random.randint(1, len(note.sections)), section)
            did.reordered.add(section.id)


EDITS = [
    *[
        Author.add,
        Author.delete,
        Author.edit,
        Author.rewrite,
        Author.check,
        Author.move,
        Author.double,
    ],
    *[
        Author.change_kids,
        Author.reorder,
        Author.rename,
        Author.remove,
        Author.begin,
        Author.move_section,
    ],
]
WEIGHTS = [8, 4, 6, 1, 2, 2, 1, 2, 1, 1, 1, 1, 1]


def triple(seed: int) -> Triple:
    """The note and its two versions for a seed, always the same."""
    return Author(seed).triple()
