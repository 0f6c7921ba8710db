"""Leaves out of a turn what others wrote: mails, quoted lines, code, output of tools, and material.

A person pastes a letter and asks "is it spam?". The letter is not what the person says. What is
left out becomes `[…]` on a line of its own; all other lines are those of the turn. Quotations
inside of a sentence remain: `quotation_marks.unquoted` hides them from the search for phrases.

The words of mails and requests come from the tables `[others]` of all languages. Their grammar is
that of `policy_cues`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from vault_memory.errors import ConfigError
from vault_memory.rules.conversations.quotation_marks import HIDDEN, is_title, unquoted
from vault_memory.rules.learning.policy.code_words import fold
from vault_memory.rules.learning.policy_cues import phrase_pattern

LISTS = (
    "headers",
    "forwarded",
    "forwards",
    "wrote",
    "selves",
    "works_on",
    "material",
    "invents",
    "minutes",
    "leads",
    "pointers",
    "questions",
    "answers",
    "greetings",
    "closings",
)
"""The lists of the table `[others]`; every language has all of them"""
CUT = "\n[…]\n"
"""In place of what others wrote"""
LONGEST_LINE = 200
"""Characters of a line that announces a mail"""
LONGEST_CLOSING = 3
"""Lines at the end of a letter: regards, a name, and a place"""
LONGEST_NAME = 30
"""Characters that may follow "Kind regards" on its line"""
LONGEST_SAYING = 24
"""Characters beside a quotation in which "Eve said" may be"""
MOST_COLONS = 20
"""Colons of a line that may follow "Eve wrote" """
MOST_JSON = 8
"""Places at which output of a tool is looked for"""

_FENCED = re.compile(
    r"```[^`\n]*\n.*?(?:```|\Z)|^~~~[^\n]*\n.*?(?:^~~~|\Z)", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|\[quote\b.*?(?:\[/quote\]|\Z)", re.DOTALL | re.I)
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w:-]{0,40})\s*>")
_TAG = re.compile(r"<(?:!doctype|/?([A-Za-z][\w:-]{0,40}))(?:\s[^<>]{0,400})?/?>", re.I)
_JSON = re.compile(r"[\[{](?=\s*[\"{\[])")
_JSON_KEY = re.compile(r"[\[{]\s*(?:\{\s*)?\"[^\"\n]{1,80}\"\s*:")
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？…]*|[.!?。！？…]+")
_CLAUSE_END = re.compile(r"[.!?。！？]\s|[。！？]")
_COLON = re.compile(r"[:：](?!\d|//)")
_SPEAKER = re.compile(
    r"(?:[-*•] )?(?:[\[(]?\d[\d:.,/ -]{0,24}[\])]?[ –-]{0,3})?\*{0,2}"
    r"(?:[^\W\d_a-zà-ÿа-я][\w.'’-]{0,24}(?: [^\W\d_a-zà-ÿа-я][\w.'’-]{0,24}){0,2})"
    r"\*{0,2} ?[:：]\*{0,2} \S"
)
"""A line of a conversation: ``[10:02] Eve: hello``"""
_STAMPED = re.compile(
    r"[^\W\d_a-zà-ÿа-я][\w.'’-]{0,24}(?: [^\W\d_a-zà-ÿа-я][\w.'’-]{0,24}){0,2}"
    r"[ \t]{0,4}[,—–|·-]?[ \t]{0,4}\[?(?:[^\W\d_]{2,12},? (?:[^\W\d_]{1,3} )?)?"
    r"(?:\d{1,4}[./-]\d{1,2}(?:[./-]\d{2,4})?,? )?\d{1,2}[:.]\d{2}(?: ?[AaPp]\.?[Mm]\.?)?\]?:?"
)
"""The line above a message of a chat: ``Eve  12:03 PM``, ``Eve — Today at 12:03``"""
_DASHES = re.compile(r"[-–—_=]{2,}")
_QUOTES = (">", "|", "&gt;", "//", "/*", "*/", "#!", "%%", ";;")
"""Beginnings of a quoted line, and of a comment in code"""
_SENTENCE_ENDS = ".!?:。！？："
_MARKERS = " \t\r\n*_>|#-–—=•"


class OwnWords(NamedTuple):
    """What a person says in a turn."""

    text: str
    is_pasted: bool
    """whether the turn has several paragraphs, or a text to work on: who wrote it is uncertain"""


class OthersWords:
    """The words of all languages by which texts of others are recognized."""

    def __init__(self, tables: Iterable[Mapping[str, Any]]) -> None:
        """`tables` are tables `[others]`. Raises ConfigError for a missing list."""
        lists: dict[str, list[str]] = {name: [] for name in LISTS}
        for table in tables:
            for name in LISTS:
                if not isinstance(table.get(name), list):
                    raise ConfigError(
                        f"the table `[others]` has no list `{name}`",
                        hint=f"its lists are {', '.join(LISTS)}",
                    )
                lists[name] += map(fold, table[name])
        any_of = {name: _any_of(phrases) for name, phrases in lists.items()}
        self._header = re.compile(rf"(?:{any_of['headers']})\s?[:：]")
        self._prefix = re.compile(rf"(?:^|[:：.!?。！？]\s*)(?:{any_of['forwards']})\s?[:：]")
        self._announced = re.compile(any_of["forwarded"])
        self._wrote = re.compile(any_of["wrote"])
        self._begins_with_self = re.compile(rf"\A\W*+(?:{any_of['selves']})")
        self._ends_with_self = re.compile(rf"(?:{any_of['selves']})\W*\Z")
        self._works_on = re.compile(any_of["works_on"])
        self._material = re.compile(any_of["material"])
        self._invents = re.compile(any_of["invents"])
        self._minutes = re.compile(any_of["minutes"])
        self._lead = re.compile(any_of["leads"])
        self._pointer = re.compile(any_of["pointers"])
        self._ends_with_pointer = re.compile(rf"(?:{any_of['pointers']})[ \"'»”]?\Z")
        self._question = re.compile(rf"(?:{any_of['questions']})\s?[:：]")
        self._answer = re.compile(rf"(?:{any_of['answers']})\s?[:：]")
        self._greeting = re.compile(rf"(?:{any_of['greetings']})")
        self._closing = re.compile(rf"(?:{any_of['closings']})")

    def own(self, text: str) -> OwnWords:
        """Returns what the person says in a turn, and whether it is uncertain."""
        is_pasted = _PARAGRAPHS.search(text.strip()) is not None
        own = self._without_mails(_without_blocks(text))
        own, has_material = self._without_material(own)
        return OwnWords(own, is_pasted or has_material)

    def spoken(self, text: str) -> str:
        """Returns a text of the same length in which the words of others are hidden.

        Names and titles remain: "My cat is called 'Miro'."
        """
        return unquoted(text, shows=self._is_name)

    def _is_name(self, text: str, start: int, end: int) -> bool:
        before = fold(text[max(0, start - LONGEST_SAYING) : start])
        after = fold(text[end : end + LONGEST_SAYING])
        # Fault: in "Eve said 'I hate it'" the short quotation is no title.
        is_said = self._wrote.search(before) or self._wrote.search(after)
        return is_title(text, start, end) and not is_said

    # ---- mails, quoted lines and conversations ----------------------------------------------

    def _without_mails(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        mails = (row for row in range(len(lines)) if self._begins_mail(lines, row))
        mail = next(mails, self._begin_of_letter(lines))
        if mail is not None:
            lines[mail:] = [CUT]
        own: list[str] = []
        hides_paragraph = False
        for line in _without_quoted_lines(lines):
            hides_paragraph = hides_paragraph and bool(line.strip())
            if hides_paragraph:
                continue
            end = self._end_of_own_words(line)
            own.append(line[:end])
            if end == len(line):
                continue
            own.append(CUT)
            # What is below "Eve wrote:" is a mail, up to the end of the turn.
            if not line[end:].strip() or self._is_forward(line):
                break
            hides_paragraph = True
        return "".join(own)

    def _begin_of_letter(self, lines: list[str]) -> int | None:
        """Returns the line with which a letter begins: one that ends with regards and a name."""
        rows = [row for row, line in enumerate(lines) if line.strip()]
        last = [fold(lines[row].strip(_MARKERS)) for row in rows[-LONGEST_CLOSING:]]
        if len(rows) < 2 or not any(map(self._is_closing, last)):
            return None
        greetings = (
            row
            for row in rows
            if lines[row].rstrip().endswith((",", "!", ":", "，", "：", "！"))
            and self._greeting.match(fold(lines[row].strip(_MARKERS)))
        )
        return next(greetings, 0)

    def _is_closing(self, folded: str) -> bool:
        match = self._closing.match(folded)
        return match is not None and len(folded) - match.end() <= LONGEST_NAME

    def _begins_mail(self, lines: list[str], number: int) -> bool:
        """Returns whether a line begins a mail, or is the line above a signature."""
        line = lines[number]
        if line.rstrip() == "--":
            return True
        is_last = number + 1 == len(lines)
        if not is_last and _STAMPED.fullmatch(line.strip()[:LONGEST_LINE]):
            return True
        bare = line.strip(_MARKERS)
        if not bare or len(bare) > LONGEST_LINE:
            return False
        folded = fold(bare)
        if self._header.match(folded):
            following = (fold(row.strip(_MARKERS)) for row in lines[number + 1 : number + 3])
            if "@" in bare or any(map(self._header.match, following)):
                return True
        if not self._announced.search(folded):
            return False
        is_separator = _DASHES.match(line.strip()) is not None
        return is_separator or folded.endswith((":", "："))

    def _is_forward(self, line: str) -> bool:
        return self._prefix.search(fold(line)) is not None

    def _end_of_own_words(self, line: str) -> int:
        """Returns where the words of another begin in a line: after "Fwd:" or "Eve wrote:"."""
        folded = line.lower()
        prefix = self._prefix.search(folded)
        if prefix:
            return prefix.end()
        # Fault: "Q: where do you live? A: I live in Oslo" is a conversation of others.
        question = self._question.search(folded)
        if question and self._answer.search(folded, question.end()):
            return question.end()
        for colon in islice(_COLON.finditer(folded), MOST_COLONS):
            begin = max(0, colon.start() - LONGEST_LINE)
            clause = _CLAUSE_END.split(folded[begin : colon.start()])[-1]
            is_address = clause.rstrip().endswith(">") and "@" in clause
            if is_address or self._is_anothers(clause):
                return colon.end()
        return len(line)

    def _is_anothers(self, clause: str) -> bool:
        """Returns whether a clause says that another person says something."""
        verb = self._wrote.search(clause)
        if verb is None:
            return False
        # "As I wrote: …" are the person's own words.
        return not (
            self._ends_with_self.search(clause, 0, verb.start())
            or self._begins_with_self.match(clause[verb.end() :])
        )

    # ---- texts to work on -----------------------------------------------------------------------

    def _without_material(self, text: str) -> tuple[str, bool]:
        """Returns a turn without the text that it asks to work on, and whether it asks so."""
        spans = _paragraph_spans(text)
        for index, (start, end) in enumerate(spans):
            request = self._request_in(text[start:end])
            if request is not None:
                is_last = index + 1 == len(spans)
                return _cut_material(text, (start, end), request, is_last=is_last)
        return text, False

    def _request_in(self, paragraph: str) -> "_WorkRequest | None":
        """Returns the first sentence of a paragraph that asks to work on a text."""
        hidden = unquoted(paragraph)
        for match in _SENTENCE.finditer(hidden):
            sentence = fold(match[0])
            if self._invents.search(sentence):
                return _WorkRequest(match.start(), match.end(), is_invention=True)
            end = match.end()
            colon = _COLON.search(hidden, match.start(), end)
            asks = self._asks_for_work(sentence)
            is_deictic = bool(
                self._material.search(sentence)
                or self._minutes.search(sentence)
                or (asks and self._pointer.search(sentence))
                or (colon and self._points_to(hidden[match.start() : colon.start()]))
            )
            if not is_deictic and not asks:
                continue
            if colon:
                end = colon.end()
            is_line = hidden[end : end + 1] == "\n" and not colon
            return _WorkRequest(
                match.start(),
                end,
                has_colon=colon is not None or is_line,
                has_quotation=HIDDEN in match[0],
                is_deictic=is_deictic,
            )
        return None

    def _points_to(self, clause: str) -> bool:
        """Returns whether the words before a colon point to the text after it: "I got this:"."""
        last = fold(clause[-LONGEST_SAYING:]).rstrip()
        # "Remember this: …" are the person's own words.
        if self._lead.search(last):
            return False
        return self._ends_with_pointer.search(last) is not None

    def _asks_for_work(self, sentence: str) -> bool:
        verb = self._works_on.search(sentence)
        # "Note to self: …" is no text of another.
        if verb is None or self._ends_with_self.search(verb[0]):
            return False
        if sentence.rstrip().endswith(("?", "？", ":", "：")):
            return True
        # "I review books" tells what the person does.
        return not self._begins_with_self.match(sentence)


class _WorkRequest(NamedTuple):
    """A sentence that asks to work on a text, by its place in the paragraph."""

    start: int
    end: int
    """after its colon, if it has one"""
    is_invention: bool = False
    """whether it asks for a story, in which nothing is meant"""
    has_colon: bool = False
    """whether the text follows at once"""
    has_quotation: bool = False
    is_deictic: bool = False
    """whether it points to a text: "this letter" """


START = r"\A\W*+"


def _cut_material(
    text: str, paragraph: tuple[int, int], request: _WorkRequest, *, is_last: bool
) -> tuple[str, bool]:
    """Returns a turn without the text of a request, and whether the request means any.

    `is_last`: no paragraph follows that of the request.
    """
    start, end = paragraph
    begin, stop = start + request.start, start + request.end
    has_following = bool(text[stop:end].strip())
    if request.is_invention:
        return text[:begin] + CUT, True
    if has_following and request.has_colon:
        return text[:stop] + CUT, True
    if not is_last:
        # Fault: the words beside the request may begin a line of the material.
        return text[:end] + CUT, True
    if request.has_quotation or not request.is_deictic:
        return text, request.has_quotation
    # The text that is meant is in the same paragraph: after the request, or before it.
    if has_following:
        return text[:stop] + CUT, True
    return CUT + text[begin:stop], True


def _any_of(phrases: Iterable[str]) -> str:
    ordered = sorted(set(phrases), key=len, reverse=True)
    patterns = []
    for phrase in ordered:
        is_start = phrase.startswith("^")
        text = phrase.removeprefix("^").strip()
        first = text.lstrip("(~ ")[:1]
        edge = "" if "\u3040" <= first <= "\u9fff" else r"(?<!\w)"
        patterns.append(f"{START if is_start else edge}{phrase_pattern(text)}")
    return "|".join(patterns) or "(?!)"


def _without_quoted_lines(lines: list[str]) -> list[str]:
    """Leaves out quoted lines, and those of a conversation between others."""
    is_conversation = sum(map(_is_spoken, lines)) > 1
    own: list[str] = []
    for line in lines:
        # Fault: a program breaks a long quoted line, and the second part has no mark.
        goes_on = own[-1:] == [CUT] and line.strip(_MARKERS)[:1].islower()
        if not (goes_on or _is_quoted(line) or (is_conversation and _is_spoken(line))):
            own.append(line)
        elif own[-1:] != [CUT]:
            own.append(CUT)
    return own


def _is_quoted(line: str) -> bool:
    return line.lstrip().startswith(_QUOTES)


def _is_spoken(line: str) -> bool:
    return _SPEAKER.match(" ".join(line.split())) is not None


def _paragraph_spans(text: str) -> list[tuple[int, int]]:
    spans = []
    start = 0
    for gap in _PARAGRAPHS.finditer(text):
        spans.append((start, gap.start()))
        start = gap.end()
    spans.append((start, len(text)))
    return [span for span in spans if text[slice(*span)].strip(_MARKERS + "[…]")]


def _without_blocks(text: str) -> str:
    """Leaves out code, output of tools, and HTML."""
    text = _COMMENT.sub(CUT, _FENCED.sub(CUT, text))
    text = _without_json(text)
    return _without_html(text)


def _without_json(text: str) -> str:
    decoder = json.JSONDecoder()
    segments: list[str] = []
    position = 0
    # Fault: each of a thousand open brackets would be read up to the end of the text.
    for match in list(_JSON.finditer(text))[:MOST_JSON]:
        start = match.start()
        if start < position:
            continue
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            # Output that was cut off has no end.
            if not _JSON_KEY.match(text, start):
                continue
            end = len(text)
        start, end = _whole_lines(text, start, end)
        segments += [text[position:start], CUT]
        position = end
    return "".join([*segments, text[position:]])


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns a span that leaves no half of a sentence before it or after it."""
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start].rstrip()
    if before and before[-1] not in _SENTENCE_ENDS:
        start = line
    following = re.compile(r"[^\n]*").match(text, end)
    after = following[0].lstrip() if following else ""
    if after and not after[0].isupper():
        end += len(following[0]) if following else 0
    return start, end


def _without_html(text: str) -> str:
    closed = {name.lower() for name in _CLOSING_TAG.findall(text)}
    tags = [tag.span() for tag in _TAG.finditer(text) if not tag[1] or tag[1].lower() in closed]
    if not tags:
        return text
    start, end = _whole_lines(text, tags[0][0], tags[-1][1])
    return text[:start] + CUT + text[end:]
