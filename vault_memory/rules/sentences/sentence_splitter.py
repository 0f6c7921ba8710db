"""Cuts a text into sentences: the only place that decides where a sentence ends. Pure.

A point of an abbreviation, of an ordinal number or of a quotation ends no sentence that goes on.
Where it is not clear, the sentence goes on: half a sentence may say the opposite.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache

from vault_memory.rules.conversations import quotation_marks
from vault_memory.rules.sentences import abbreviations

_END = re.compile(
    r"(?<![.!?…؟।])(?P<signs>[.!?…؟।]++)(?P<closing>[\"'”’»“›)*_]*+)(?=\s|\Z)"
    r"|[。！？｡]++(?P<run_closing>[」』”》）’\"]*+)"
    r"|[\r\n]+"
)
_PARENTHESES = re.compile(r"(?<![:;=8-])\([^()\n]{0,200}+\)")
"""Not the mouth of a smiley"""
_MARKER = re.compile(r"[ \t]*(?:[-*+•]|(?P<number>\d{1,3})[.)])[ \t]+(?=(?P<word>\S*))")
_BEFORE = re.compile(
    r"(?:(?P<before>\S{1,24})[ \t]++)?(?P<word>[^\s\u3000-\u9fff\uff00-\uffef]{1,24})\Z"
)
"""The word before a point; letters without spaces before it do not belong to it"""
_NAME_BEFORE = re.compile(r"[a-zа-яß-ÿ,] +[A-ZÀ-ÞА-Я][\w-]*\Z")
LONGEST_BEFORE = 40
"""Letters before a point that are looked at"""
LONGEST_FOLLOWING = 40
"""Letters after it"""
LONG = 2_000
"""Letters from which on the sentences of a text are not cached"""


def split_sentences(text: str) -> list[str]:
    """Returns the sentences of a text with their punctuation, without markers of lists."""
    spans = (text[start:end].strip() for start, end in sentence_spans(text))
    return [sentence for sentence in spans if sentence]


def sentence_spans(text: str) -> Iterable[tuple[int, int]]:
    """Returns start and end of each sentence, with the blanks around it."""
    return _cached_spans(text) if len(text) < LONG else _spans(text)


# Several steps of a night split each turn.
@lru_cache(maxsize=512)
def _cached_spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(_spans(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    quoted = _enclosed(text) if _END.search(text) else []
    starts = [start for start, _ in quoted]
    start = _after_marker(text, 0)
    for match in _END.finditer(text):
        if match.end() <= start:
            continue
        is_line_end = match[0][0] in "\r\n"
        if not is_line_end:
            nearest = bisect_right(starts, match.start()) - 1
            last = quoted[nearest][1] if nearest >= 0 else 0
            # Fault: points within a quotation cut the sentence around it.
            if match.end() < last or _goes_on(text, start, match, is_quoted=match.start() < last):
                continue
        yield start, match.end()
        start = _after_marker(text, match.end()) if is_line_end else match.end()
    yield start, len(text)


def _enclosed(text: str) -> list[tuple[int, int]]:
    """Returns begin and end of each quotation, and of what is in parentheses."""
    parentheses = (match.span() for match in _PARENTHESES.finditer(text))
    spans: list[tuple[int, int]] = []
    for span in sorted([*quotation_marks.quotations(text), *parentheses]):
        # Parentheses within a quotation are a part of it.
        if not spans or span[0] >= spans[-1][1]:
            spans.append(span)
    return spans


def without_end(sentence: str, ends: str = ".。 ") -> str:
    """Returns a sentence without its full stop; the point of an abbreviation stays."""
    return with_point(sentence.rstrip(ends), sentence)


def with_point(words: str, sentence: str) -> str:
    """Returns the last words of a sentence, with the point that belongs to the last one."""
    last = words.rpartition(" ")[2]
    start = sentence.rfind(words)
    has_point = sentence[start + len(words) :].startswith(".")
    if words and has_point and abbreviations.is_abbreviation(last):
        return f"{words}."
    return words


def _after_marker(text: str, start: int) -> int:
    """Returns where the text of a line begins, after the marker of an item of a list."""
    marker = _MARKER.match(text, start)
    if marker is None:
        return start
    # "5. June is my birthday" and "1. FC" begin with an ordinal number.
    if marker["number"] and abbreviations.follows_ordinal(marker["word"]):
        return start
    return marker.end()


def _goes_on(text: str, start: int, match: re.Match[str], *, is_quoted: bool) -> bool:
    """Returns whether the sentence goes on after what may be its end."""
    end = match.end()
    following = text[end : end + LONGEST_FOLLOWING].lstrip(" \t")
    if not following or following[0] in "\r\n":
        return False
    closing = match["closing"] or match["run_closing"] or ""
    if is_quoted and closing:
        return abbreviations.continues_quotation(following)
    if match["signs"] is None:
        return False
    before = text[max(start, match.start() - LONGEST_BEFORE) : match.start()]
    return _goes_on_after(match["signs"] + closing, before, following)


def _goes_on_after(signs: str, before: str, following: str) -> bool:
    if signs == ".":
        return _is_abbreviated(before, following)
    if signs == "!":
        # Fault: "Always use Yahoo! for search" is cut after the name.
        return following[0].islower() and _NAME_BEFORE.search(before) is not None
    is_ellipsis = set(signs) <= {".", "…"}
    return is_ellipsis and abbreviations.continues_quotation(following)


def _is_abbreviated(before: str, following: str) -> bool:
    point = _BEFORE.search(before)
    if point is None:
        return False
    spaced = abbreviations.SPACED.search(before)
    word = spaced[0] if spaced else point["word"]
    return abbreviations.sentence_goes_on(
        abbreviations.FullStop(word, point["before"] or "", following)
    )
