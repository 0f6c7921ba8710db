"""Shortens long runs of letters without a blank: images in base64, paths of drawings, tokens.

No person searches for them, and they would fill the chunks of a note. Scripts that write no blanks
between words, such as Japanese and Thai, are text and stay complete.
"""

import re

from vault_memory.markdown.chunking.splitter import LONGEST_RUN

_KEPT = 64
"""Of a run that is longer, the most letters that stay at its beginning, and at its end"""

_RUN = re.compile(
    # Two bytes of UTF-8 reach from Latin to Arabic: all of them write blanks. The first two
    # conditions let a run begin at its first letter only, so the time is linear.
    rb"(?<![!-~])(?<![\xc3-\xdf][\x80-\xbf])(?:[!-~]|[\xc3-\xdf][\x80-\xbf]){%d,}+"
    % (LONGEST_RUN + 1)
)
_WORDS = re.compile(r"(?:[^\W_]{1,20}+(?![^\W_])|[\W_])*+")
"""Words that a person writes, up to the first one that is too long for that"""
_CLOSING = re.compile(r"[)>\"'].*")
_DATA = "base64,"


def without_long_runs(raw: bytes) -> bytes:
    """Return a text with its long runs shortened, on the same lines.

    What a person can read stays: the text and the host of a link, and what follows its end.
    """
    return _RUN.sub(_shortened, raw)


def _shortened(match: re.Match[bytes]) -> bytes:
    run = match[0].decode()
    # Fault: a line below a heading, the edge of a table and a row of links are no data.
    if not any(map(str.isalnum, run)) or "]]" in run:
        return match[0]
    words = _WORDS.match(run, 0, _KEPT)
    beginning, data, _ = words[0].partition(_DATA) if words else ("", "", "")
    closing = _CLOSING.search(run, len(run) - _KEPT)
    return f"{beginning}{data}…{closing[0] if closing else ''}".encode()
