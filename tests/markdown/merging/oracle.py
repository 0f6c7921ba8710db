"""Judges a merge by what each side did to each item, without any part of the merge itself."""

import re
from collections import Counter
from dataclasses import dataclass, field

from tests.markdown.merging.triples import Did, Item, Note, Triple

MARK = re.compile(r" ⚠ \(other device, [^)]*\)")
LINE = re.compile(r"( *)[-*] (?:\[([ x])\] )?(.*)")
TAIL = re.compile(r" \(2026-[^()]*\)$")


@dataclass
class Read:
    """What stands in a result: words with the section they are in, in order."""

    places: dict[str, list[str]] = field(default_factory=dict)
    order: dict[str, list[str]] = field(default_factory=dict)
    boxes: dict[str, set[str]] = field(default_factory=dict)
    parents: dict[str, list[str]] = field(default_factory=dict)

    def count(self, words: str) -> int:
        return len(self.places.get(words, ()))


def read(raw: bytes) -> Read:
    """Reads a generated note line by line."""
    found, section, parent, fence = Read(), "", "", False
    for line in raw.decode().removeprefix("\ufeff").splitlines():
        line = MARK.sub("", line)
        if line == "```":
            fence = not fence
            continue
        if fence:
            if line.startswith("## "):
                words = line[3:]
            else:
                continue
        elif line.startswith("## "):
            section = line[3:]
            continue
        elif not line.strip():
            continue
        else:
            match = LINE.fullmatch(line)
            words = TAIL.sub("", match[3]) if match else line
            if match and match[1]:
                found.parents.setdefault(words, []).append(parent)
            elif match:
                parent = words
                found.boxes.setdefault(words, set()).add(match[2] or "")
        found.places.setdefault(words, []).append(section)
        found.order.setdefault(section, []).append(words)
    return found


def said(words: str) -> str:
    return words.lower().rstrip(".")


def alike(one: str, other: str) -> bool:
    """Whether two texts have half of their words in common."""
    words, others = Counter(one.split()), Counter(other.split())
    return 2 * (words & others).total() >= 0.5 * (words.total() + others.total())


class Oracle:
    """What must be true of a merge of one triple."""

    def __init__(self, triple: Triple) -> None:
        self.triple = triple
        self.in_file: Counter[str] = Counter()
        self.anywhere: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.free: set[str] = set()
        """words of which nothing is asked but that they are somewhere"""
        self.unclear: list[Item] = []
        """items that may have been edited, or deleted"""
        self.section: dict[str, set[str]] = {}
        self.boxes: dict[str, str] = {}
        self.parent: dict[str, set[str]] = {}
        self.conflicting = 0
        """items or headings that both edited in different ways: conflicts that nobody could avoid"""
        self.returning = 0
        """what was written into sections that the other side had removed: told of, though it stands"""
        for section in triple.base.sections:
            for item in section.items:
                self._old(item)
        self._added()
        self._count_sections()

    # --- What to expect ---

    def _old(self, base: Item) -> None:
        it = self.triple
        ours, theirs = it.ours.item(base.id), it.theirs.item(base.id)
        if base.id in it.mine.doubled | it.yours.doubled:
            self._doubled(base, ours, theirs)
            return
        if self._may_be_edited(base.id):
            self._unclear(base, ours, theirs)
        elif ours is None and theirs is None:
            self._gone(base)
        elif ours is None or theirs is None:
            self._one_deleted(base, ours, theirs)
        else:
            self._both_have(base, ours, theirs)

    def _may_be_edited(self, id: int) -> bool:
        """Whether a side deleted an item and added one so like it that nobody can say it was not edited."""
        base, home = self.triple.base.item(id), self.triple.base.home(id)
        for note, did in (
            (self.triple.ours, self.triple.mine),
            (self.triple.theirs, self.triple.yours),
        ):
            if base and home and id in did.deleted:
                section = next(
                    (section for section in note.sections if section.id == home.id), None
                )
                added = [
                    item for item in (section.items if section else ()) if item.id in did.added
                ]
                if any(alike(base.words, item.words) for item in added):
                    return True
        return False

    def _unclear(self, base: Item, ours: Item | None, theirs: Item | None) -> None:
        """Nothing is asked of the item but that what was written to it is somewhere."""
        self.unclear.append(base)
        for old in [base, *base.kids]:
            self.free.add(old.words)
        for item in (ours, theirs):
            for written in [item, *item.kids] if item else ():
                if written.words not in self.free:
                    self.anywhere[written.words] += 1
                    self.most[written.words] += 1

    def _gone(self, item: Item) -> None:
        for words in [item.words, *(kid.words for kid in item.kids)]:
            self.most.setdefault(words, 0)

    def _one_deleted(self, base: Item, ours: Item | None, theirs: Item | None) -> None:
        left, did = (ours, self.triple.mine) if ours else (theirs, self.triple.yours)
        assert left
        if base.id in did.moved:
            self.free |= {left.words, *(kid.words for kid in left.kids)}
        elif left == base:
            self._gone(base)
        else:
            self._stays(base, left, left, left, only=True)

    def _both_have(self, base: Item, ours: Item, theirs: Item) -> None:
        words = (
            theirs.words if theirs.words != base.words or ours.words == base.words else ours.words
        )
        merged = Item(base.id, words, base.kind, theirs.box if theirs.box != base.box else ours.box)
        if len({base.words, ours.words, theirs.words}) == 3:
            self.conflicting += 1
            self.anywhere[ours.words] += 1
            self.most[ours.words] += 1
            merged.box = theirs.box
            if ours.box != base.box:
                merged.box = "?"
        self._stays(base, merged, ours, theirs, only=False)

    def _stays(self, base: Item, merged: Item, ours: Item, theirs: Item, *, only: bool) -> None:
        (self.anywhere if merged is ours and only else self.in_file)[merged.words] += 1
        self.most[merged.words] += 1
        if merged.words != base.words:
            self.most.setdefault(base.words, 0)
        self.section[merged.words] = self._sections(base.id)
        if merged.box != "?":
            self.boxes[merged.words] = merged.box
        mine, yours = ({kid.id: kid for kid in item.kids} for item in (ours, theirs))
        for kid in base.kids:
            self._old_kid(kid, mine.get(kid.id), yours.get(kid.id), merged.words)
        known = {kid.id for kid in base.kids}
        for kid in ours.kids if only else [*ours.kids, *theirs.kids]:
            if kid.id not in known:
                self.in_file[kid.words] += 1
                self.most[kid.words] += 1
                self.parent[kid.words] = {merged.words}

    def _old_kid(self, base: Item, ours: Item | None, theirs: Item | None, parent: str) -> None:
        texts = {base.words, *(kid.words for kid in (ours, theirs) if kid)}
        if ours and theirs and len(texts) == 3:
            self.conflicting += 1
            self.anywhere[ours.words] += 1
            self.most[ours.words] += 1
        left = theirs if theirs and (theirs.words != base.words or not ours) else ours
        dropped = left is None or ((ours is None or theirs is None) and left.words == base.words)
        if dropped or (left and left.words != base.words):
            self.most.setdefault(base.words, 0)
        if left and not dropped:
            self.in_file[left.words] += 1
            self.most[left.words] += 1
            self.parent[left.words] = {parent}

    def _doubled(self, base: Item, ours: Item | None, theirs: Item | None) -> None:
        versions = {item.words for item in (ours, theirs) if item}
        if versions == {base.words} and ours == theirs == base:
            self.in_file[base.words] += 2
            self.most[base.words] += 2
            return
        self.free.add(base.words)
        for item in (ours, theirs):
            if item and item.words != base.words:
                self.anywhere[item.words] += 1
                self.most[item.words] += 1
            self.free.update(kid.words for kid in (item.kids if item else ()))

    def _sections(self, id: int) -> set[str]:
        """The names of the sections that an item may stand in."""
        it = self.triple
        homes = [note.home(id) for note in (it.base, it.ours, it.theirs)]
        base, ours, theirs = (home.id if home else None for home in homes)
        if theirs is None or ours is None:
            section = ours if theirs is None else theirs
        else:
            section = theirs if theirs != base else ours
        assert section
        return self._any_name() if self._may_be_renamed(section) else self._names(section)

    def _any_name(self) -> set[str]:
        return {one.name for one in [*self.triple.ours.sections, *self.triple.theirs.sections]}

    def _names(self, section: int) -> set[str]:
        notes = self.triple.base, self.triple.ours, self.triple.theirs
        base, ours, theirs = (
            next((one.name for one in note.sections if one.id == section), None) for note in notes
        )
        if theirs is None or ours is None:
            return {name for name in (base, ours, theirs) if name is not None}
        return {theirs if theirs != base else ours}

    def _added(self) -> None:
        it = self.triple
        mine, yours = self._new(it.ours, it.mine), self._new(it.theirs, it.yours)
        for item, names in yours:
            self._new_item(item, names, self.in_file)
        theirs = Counter(said(item.words) for item, _ in yours)
        for item, names in mine:
            if theirs[said(item.words)]:
                theirs[said(item.words)] -= 1
                if all(item.words != other.words for other, _ in yours):
                    self.most.setdefault(item.words, 0)
            else:
                self._new_item(item, names, self.anywhere)

    def _new_item(self, item: Item, names: set[str], needed: Counter[str]) -> None:
        needed[item.words] += 1
        self.most[item.words] += 1
        clear = not any(alike(item.words, old.words) for old in self.unclear)
        if clear:
            self.section.setdefault(item.words, set()).update(names)
        for kid in item.kids:
            needed[kid.words] += 1
            self.most[kid.words] += 1
            if clear:
                self.parent[kid.words] = {item.words}

    def _count_sections(self) -> None:
        it = self.triple
        for section in it.mine.renamed & it.yours.renamed:
            names = [
                one.name
                for note in (it.ours, it.theirs)
                for one in note.sections
                if one.id == section
            ]
            self.conflicting += len(set(names)) > 1
        for note, removed in ((it.ours, it.yours.removed), (it.theirs, it.mine.removed)):
            for section in note.sections:
                old = next((one for one in it.base.sections if one.id == section.id), None)
                self.returning += (
                    section.id in removed and old is not None and section.items != old.items
                )

    def _new(self, note: Note, did: Did) -> list[tuple[Item, set[str]]]:
        found = []
        for section in note.sections:
            names = {section.name} if section.id in did.new_sections else self._names(section.id)
            if self._may_be_renamed(section.id):
                names = self._any_name()
            found += [(item, names) for item in section.items if item.id in set(did.added)]
        return found

    def _may_be_renamed(self, id: int) -> bool:
        """Whether a side removed an empty section and began one: nobody can say that it was not renamed."""
        empty = any(section.id == id and not section.items for section in self.triple.base.sections)
        sides = (self.triple.mine, self.triple.yours)
        return empty and any(id in did.removed and did.new_sections for did in sides)

    # --- The verdict ---

    def faults(self, result: bytes, conflicts: bytes) -> list[str]:
        """What is wrong with a merge; nothing, or a sentence for each."""
        found, told = read(result), read(conflicts)
        faults = []
        for words, count in self.in_file.items():
            if words not in self.free and found.count(words) < count:
                faults.append(f"lost: {words!r} is there {found.count(words)} times, not {count}")
        for words, count in self.anywhere.items():
            if words not in self.free and found.count(words) + told.count(words) < count:
                faults.append(f"lost: {words!r} is in no conflict either")
        for words, count in self.most.items():
            if words not in self.free and found.count(words) > count:
                faults.append(
                    f"too often: {words!r} is there {found.count(words)} times, not {count}"
                )
        return faults + self._misplaced(found)

    def _misplaced(self, found: Read) -> list[str]:
        faults = []
        for words, names in self.section.items():
            if words not in self.free and not names.issuperset(found.places.get(words, ())):
                faults.append(
                    f"wrong section: {words!r} is in {found.places[words]}, not {sorted(names)}"
                )
        for words, box in self.boxes.items():
            if words not in self.free and found.boxes.get(words, {box}) != {box}:
                faults.append(f"wrong box: {words!r} has {found.boxes[words]}, not {box!r}")
        for words, parents in self.parent.items():
            if words not in self.free and not parents.issuperset(found.parents.get(words, ())):
                faults.append(
                    f"wrong parent: {words!r} is below {found.parents[words]}, not {sorted(parents)}"
                )
        return faults + self._misordered(found)

    def _misordered(self, found: Read) -> list[str]:
        """Lines of theirs stand in their order, where ours did not move anything."""
        it = self.triple
        faults = []
        for section in it.theirs.sections:
            if section.id in it.mine.reordered | it.yours.renamed | it.mine.renamed:
                continue
            theirs = [item.words for item in section.items if item.id not in it.mine.moved]
            both = {words for words in theirs if found.count(words) == 1} - self.free
            wanted = [words for words in theirs if words in both]
            stands = [words for words in found.order.get(section.name, ()) if words in both]
            if [words for words in wanted if words in stands] != stands:
                faults.append(f"wrong order: {stands} and not {wanted}")
        return faults
