"""The structural three-way merge: what becomes of each section and unit, and in which order they stand."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from vault_memory.markdown.merging.alignment import (
    NONE,
    Alignment,
    fold_key,
    section_threads,
    unit_threads,
)
from vault_memory.markdown.merging.block_merge import (
    FieldConflict,
    Inside,
    Kind,
    join_unit,
    marked,
    without_below,
)
from vault_memory.markdown.merging.block_order import interleave
from vault_memory.markdown.merging.matching import Matched, unit_key
from vault_memory.markdown.merging.merged_text import write
from vault_memory.markdown.merging.moved_sections import Moves
from vault_memory.markdown.merging.parsed_note import Page, read_page

DEEPEST = 24
"""Items in items that are merged part by part"""

_timed = re.compile(
    rb"[ ]{0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?([0-2]?[0-9]:[0-5][0-9])(?![0-9])"
).match
RETURNED = "the section had been deleted"


class Piece(NamedTuple):
    """A unit of the result."""

    kind: str
    text: bytes
    page: Page | None
    """the version whose bytes it is, None for new ones"""
    unit: int
    """its number there"""
    thread: int
    """-1 for one that stands beside another"""


class Found(NamedTuple):
    """A clash, and the name of the section that it is in."""

    kind: Kind
    section: bytes
    clash: FieldConflict


class StructuralMerge:
    """One merge of three pages."""

    def __init__(
        self, base: Page, ours: Page, theirs: Page, mark: bytes | None, depth: int = 0
    ) -> None:
        self.base, self.ours, self.theirs = base, ours, theirs
        self.mark = mark
        self.depth = depth
        self.found: list[Found] = []
        mine, yours = Matched(base, ours), Matched(base, theirs)
        self.sections = section_threads(ours, theirs, len(base.sections), mine, yours)
        self.units = unit_threads(base, ours, theirs, mine, yours, self.sections)
        self.homes: dict[int, int] = {}
        """of each unit that stays the section it stands in"""
        self.pieces: dict[int, Piece] = {}
        self.beside: dict[int, list[Piece]] = {}
        """what stands behind it: ours, with a mark"""
        self.heads: dict[int, Piece | None] = {}
        """of each section that stays its heading; none for what is above the first one"""
        self.parents: dict[int, int] = {}

    def run(self) -> list[Piece] | None:
        """The pieces of the result in order; None where sections would lie in one another."""
        for thread in range(len(self.sections)):
            self._decide_section(thread)
        for thread, versions in enumerate(
            zip(self.units.base, self.units.ours, self.units.theirs, strict=True)
        ):
            self._decide_unit(thread, *versions)
        self._fold()
        self._find_homes()
        return self._in_order()

    # --- What stays ---

    def _decide_section(self, thread: int) -> None:
        if not thread:
            self.heads[0] = None
            return
        b, o, t = (
            self.sections.base[thread],
            self.sections.ours[thread],
            self.sections.theirs[thread],
        )
        texts = (
            _heading_text(self.base, b),
            _heading_text(self.ours, o),
            _heading_text(self.theirs, t),
        )
        base, ours, theirs = texts
        if theirs is None and ours is None:
            return
        if b != NONE and (
            (theirs is None and ours == base) or (ours is None and theirs == base)
        ):
            return
        if theirs is None or (theirs == base and ours is not None):
            self._keep_heading(thread, self.ours, o)
            return
        self._keep_heading(thread, self.theirs, t)
        if b != NONE and None not in (ours, base) and ours not in (base, theirs):
            clash = FieldConflict(theirs, ours or b"", "both renamed the section")
            self.found.append(Found("heading", self.theirs.sections[t].name, clash))

    def _keep_heading(self, thread: int, page: Page, section: int) -> None:
        unit = page.sections[section].unit
        self.heads[thread] = Piece("heading", page.units[unit].text, page, unit, thread)

    def _decide_unit(self, thread: int, b: int, o: int, t: int) -> None:
        if (o == NONE or t == NONE) and (
            o == t or (b != NONE and not self._was_changed(b, o, t))
        ):
            return
        side, number = (self.theirs, t) if t != NONE else (self.ours, o)
        kind, _, _, text = side.units[number]
        if kind == "heading":
            return
        home = self._home(b, o, t)
        if o != NONE and t != NONE and text != (ours := self.ours.units[o].text):
            base = self.base.units[b].text if b != NONE else _in_common(ours, text)
            if text == base:
                side, number, (kind, _, _, text) = self.ours, o, self.ours.units[o]
            elif ours != base:
                self._join(thread, base, o, t, home)
                return
        self._put(thread, home, Piece(kind, text, side, number, thread))

    def _put(self, thread: int, home: int, piece: Piece) -> None:
        self.homes[thread] = home
        self.pieces[thread] = piece

    def _was_changed(self, b: int, o: int, t: int) -> bool:
        """Whether the side that still has a unit edited it, or moved it out of a section that is still there."""
        page, unit, of_side, places = (
            (self.theirs, t, self.sections.of_theirs, self.sections.theirs)
            if t != NONE
            else (self.ours, o, self.sections.of_ours, self.sections.ours)
        )
        if unit_key(page, unit) != unit_key(self.base, b):
            return True
        home = self.base.home[b]
        return of_side[page.home[unit]] != home and places[home] != NONE

    def _home(self, b: int, o: int, t: int) -> int:
        if t == NONE:
            return self.sections.of_ours[self.ours.home[o]]
        home = self.sections.of_theirs[self.theirs.home[t]]
        if o == NONE or b == NONE or home != self.base.home[b]:
            return home
        return self.sections.of_ours[self.ours.home[o]]

    def _join(self, thread: int, base: bytes, o: int, t: int, home: int) -> None:
        b = self.units.base[thread]
        versions = (
            self.base.units[b] if b != NONE else self.theirs.units[t],
            self.ours.units[o],
            self.theirs.units[t],
        )
        _, ours, theirs = (unit.text for unit in versions)
        joined = join_unit(
            {unit.kind for unit in versions}, base, ours, theirs, self._merge_inside
        )
        kind = versions[2].kind
        stays = joined.text == versions[2].text
        self._put(
            thread,
            home,
            Piece(
                kind,
                joined.text,
                self.theirs if stays else None,
                t if stays else 0,
                thread,
            ),
        )
        if joined.beside is not None and self.mark is not None:
            beside = marked(versions[1].kind, joined.beside, self.mark)
            self.beside[thread] = [
                Piece(beside_kind, text, None, 0, -1) for beside_kind, text in beside
            ]
        name = self._name(home)
        self.found += [
            Found("item" if kind == "item" else "text", name, clash)
            for clash in joined.clashes
        ]

    def _merge_inside(self, base: bytes, ours: bytes, theirs: bytes) -> Inside | None:
        pages = [read_page(text) for text in (base, ours, theirs)]
        if (
            self.depth >= DEEPEST
            or pages[0] is None
            or pages[1] is None
            or pages[2] is None
        ):
            return None
        if any(page.front or page.bom for page in pages if page):
            return None
        inner = StructuralMerge(pages[0], pages[1], pages[2], self.mark, self.depth + 1)
        pieces = inner.run()
        text = write(inner, pieces) if pieces is not None else None
        return (
            None
            if text is None
            else Inside(text, [found.clash for found in inner.found])
        )

    def _name(self, section: int) -> bytes:
        for page, places in (
            (self.theirs, self.sections.theirs),
            (self.ours, self.sections.ours),
        ):
            if places[section] != NONE:
                return page.sections[places[section]].name
        return b""

    # --- Two that say the same ---

    def _fold(self) -> None:
        """What ours wrote is left out where theirs wrote the same elsewhere."""
        from_ours = [
            thread for thread, piece in self.pieces.items() if piece.page is self.ours
        ]
        mine = [
            thread
            for thread in from_ours
            if self._wrote(thread, self.ours, self.units.ours)
        ]
        if not mine:
            return
        yours = [
            thread
            for thread in self.pieces
            if self._wrote(thread, self.theirs, self.units.theirs)
        ]
        waiting = Counter(
            fold_key(self.theirs, self.units.theirs[thread]) for thread in yours
        )
        for thread in mine:
            said = fold_key(self.ours, self.units.ours[thread])
            if waiting[said] > 0:
                waiting[said] -= 1
                del self.pieces[thread], self.homes[thread]

    def _wrote(self, thread: int, page: Page, places: Sequence[int]) -> bool:
        """Whether a side wrote this item: it is not in the base with that text."""
        b, number = self.units.base[thread], places[thread]
        if number == NONE or page.units[number].kind != "item":
            return False
        both = self.units.ours[thread] != NONE and self.units.theirs[thread] != NONE
        if b == NONE:
            return not both
        return page.units[number].text != self.base.units[b].text

    # --- Where it stands ---

    def _find_homes(self) -> None:
        """No unit without its section: it goes where its neighbours went, or the section comes back."""
        moved = Moves(self)
        returned: defaultdict[int, list[bytes]] = defaultdict(list)
        for thread, home in self.homes.items():
            if home not in self.heads:
                self.homes[thread] = home = moved.units_went(home)
            if home not in self.heads:
                returned[home].append(self.pieces[thread].text)
        for section, texts in returned.items():
            self._bring_back(section)
            self.found.append(
                Found(
                    "section",
                    self._name(section),
                    FieldConflict(b"\n".join(texts), b"", RETURNED),
                )
            )
        tops = [
            number
            for number, heading in enumerate(self.base.sections)
            if heading.level == 1
        ]
        title = tops[0] if len(tops) == 1 else NONE  # it need not come back
        waiting = [thread for thread in self.heads if thread]
        for thread in waiting:
            parent = self._parent(thread)
            if parent not in self.heads:
                parent = 0 if parent == title else moved.sections_went(parent)
            if parent not in self.heads:
                self._bring_back(parent)
                waiting.append(parent)
            self.parents[thread] = parent

    def _bring_back(self, section: int) -> None:
        o, t = self.sections.ours[section], self.sections.theirs[section]
        page, number = (self.theirs, t) if t != NONE else (self.ours, o)
        self._keep_heading(section, page, number)

    def _parent(self, thread: int) -> int:
        b, o, t = (
            self.sections.base[thread],
            self.sections.ours[thread],
            self.sections.theirs[thread],
        )
        base = self.base.sections[b].parent if b != NONE else NONE
        ours = (
            self.sections.of_ours[self.ours.sections[o].parent] if o != NONE else NONE
        )
        theirs = (
            self.sections.of_theirs[self.theirs.sections[t].parent]
            if t != NONE
            else NONE
        )
        return ours if t == NONE or (theirs == base and o != NONE) else theirs

    def _in_order(self) -> list[Piece] | None:
        units = self._by_place(
            self.homes,
            self.units,
            self._unit_stands,
            self._unit_gives_way,
            self._is_earlier,
        )
        parents = [heading.parent for heading in self.base.sections]
        sections = self._by_place(
            self.parents,
            self.sections,
            lambda thread, place: thread < len(parents) and parents[thread] == place,
            lambda mine, waiting: True,
            lambda waiting, mine: False,
        )
        pieces: list[Piece] = []
        todo, count = [0], 0
        while todo:
            section = todo.pop()
            count += 1
            head = self.heads[section]
            if head is not None:
                pieces.append(head)
            for thread in units.get(section, ()):
                pieces.append(self.pieces[thread])
                pieces += self.beside.get(thread, ())
            todo += reversed(sections.get(section, ()))
        return pieces if count == len(self.heads) else None

    def _unit_stands(self, thread: int, place: int) -> bool:
        """Whether a unit was in that section and ours has not edited it: then its place tells what ours moved."""
        if thread >= len(self.base.units) or self.base.home[thread] != place:
            return False
        return (
            self.ours.units[self.units.ours[thread]].text
            == self.base.units[thread].text
        )

    def _unit_gives_way(self, mine: int, waiting: int) -> bool:
        return self.pieces[waiting].kind != "item" or self.pieces[mine].kind == "item"

    def _is_earlier(self, waiting: int, mine: int) -> bool:
        """Of two items that begin with the time of day, as in a log; the same on whichever side they were added."""
        one, other = _time(self.pieces[waiting].text), _time(self.pieces[mine].text)
        return bool(one and other) and (one, self.pieces[waiting].text) < (
            other,
            self.pieces[mine].text,
        )

    def _by_place(
        self,
        places: dict[int, int],
        threads: Alignment,
        stands: Callable[[int, int], bool],
        gives_way: Callable[[int, int], bool],
        earlier: Callable[[int, int], bool],
    ) -> dict[int, list[int]]:
        """What stands at each place, in the order of theirs, or of ours where only they changed it."""
        ours, theirs = (
            _grouped(places, threads.of_ours),
            _grouped(places, threads.of_theirs),
        )
        found = {}
        for place in {**theirs, **ours}:
            mine, yours = ours.get(place, []), theirs.get(place, [])
            if mine == yours:
                found[place] = yours
                continue
            both = set(mine) & set(yours)
            known = {one for one in both if stands(one, place)}
            if _rises(one for one in yours if one in known) and not _rises(
                one for one in mine if one in known
            ):
                found[place] = interleave(mine, yours, gives_way, lead_first=False)
            else:
                found[place] = interleave(yours, mine, gives_way, earlier)
        return found


def _in_common(ours: bytes, theirs: bytes) -> bytes:
    """The base of two that were added with the same words: those, as ours, so that theirs stand."""
    return without_below(ours) if b"\n" in ours or b"\n" in theirs else ours


def _heading_text(page: Page, section: int) -> bytes | None:
    return page.units[page.sections[section].unit].text if section != NONE else None


def _grouped(places: dict[int, int], threads: Iterable[int]) -> dict[int, list[int]]:
    groups: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for thread in threads:
        if thread in places:
            groups[places[thread]][thread] = None
    return {place: list(group) for place, group in groups.items()}


def _time(item: bytes) -> bytes:
    found = _timed(item)
    return found[1].rjust(5, b"0") if found else b""


def _rises(numbers: Iterable[int]) -> bool:
    last = -1
    for number in numbers:
        if number < last:
            return False
        last = number
    return True
