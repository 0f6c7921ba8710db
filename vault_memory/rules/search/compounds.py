"""Divided words and numbers of a text in one piece, such as `reindex` for `re-index`."""

from collections.abc import Iterator

from vault_memory.rules.search.tokens import FEWEST_DIGITS, LONGEST_TERM, compiled

_MOST_LETTERS, _MOST_GROUPS = 34, 16
"""Of a number in groups. An IBAN has up to 34 letters and digits"""
_ENDINGS = frozenset("s m d ll re ve".split())
"""What is no part of the word before its apostrophe"""
_ELISIONS = frozenset("c d j l m n s t qu".split())
"""What is no part of the word after its apostrophe"""


_DIVIDED_WORD = r"(?<![^\W_])[^\W_]++(?:['-][^\W_]++)++"
# The first digit is first: a search for it is quick.
_DAY = r"[0-9](?<!\w.)(?:\d{3}-\d\d-\d\d|\d?[./]\d{1,2}[./]\d{4})(?!\w)"
_GROUP = "([A-Za-z0-9]++)([^A-Za-z0-9]*+)"
# Quick: what a number has between its digits, or more. Most texts with digits have no number.
_ENOUGH_DIGITS = (
    r"[0-9](?:[A-Za-z]*+[^A-Za-z0-9]{0,3}+(?:(?:[xX]|[A-Z]{4})[^A-Za-z0-9]{1,3}+)*+[A-Za-z]*+[0-9])"
    f"{{{FEWEST_DIGITS - 1}}}"
)


def of(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the divided words and numbers of a text in one piece, each with its components."""
    joined: dict[str, tuple[str, ...]] = {}
    for word in compiled(_DIVIDED_WORD).finditer(text):
        _join_word(word[0].casefold(), joined)
    without_days = compiled(_DAY).sub(";", text)
    if compiled(_ENOUGH_DIGITS).search(without_days):
        for groups in _numbers_in(without_days):
            _join_groups(groups, joined)
    return joined


def _join_word(word: str, joined: dict[str, tuple[str, ...]]) -> None:
    """Adds a word without its hyphens and apostrophes."""
    stem, _, ending = word.rpartition("'")
    if ending in _ENDINGS:
        word = stem
    article, _, noun = word.partition("'")
    if article in _ELISIONS:
        word = noun
    components = word.replace("'", "-").split("-")
    compound = "".join(components)
    # Digits alone are a number or a day.
    if len(components) > 1 and len(compound) <= LONGEST_TERM and not compound.isdigit():
        joined.setdefault(compound, tuple(components))


def _numbers_in(text: str) -> Iterator[list[str]]:
    """Yields the groups of each number in a text without days, which have enough digits."""
    groups: list[str] = []
    for group, gap in compiled(_GROUP).findall(text):
        if groups and not _continues(group, groups):
            yield groups
            groups = []
        # The zero of `+49 (0) 461` is not dialled.
        is_dialled = group != "0" or not gap.startswith(")")
        if is_dialled and _continues(group, groups):
            groups.append(group.lower())
        if groups and not _may_be_inside(gap, groups):
            yield groups
            groups = []
    yield groups


def _continues(group: str, groups: list[str]) -> bool:
    """Returns whether letters and digits are the next group of a number."""
    if not group.isalpha():
        return True
    if group in ("x", "X"):
        # The last digit of an ISBN
        return bool(groups)
    # The country and the bank of an IBAN
    return group.isupper() and len(group) == (4 if groups else 2)


def _may_be_inside(gap: str, groups: list[str]) -> bool:
    """Returns whether a number may go on after a gap."""
    if len(gap) > 3 or gap.strip(" .()/+-"):
        return False
    # Two numbers are often parted by a stroke between blanks.
    is_wide = gap.strip() in ("/", "-") and len(gap) == 3
    return not (is_wide and sum(map(len, groups)) >= FEWEST_DIGITS)


def _join_groups(groups: list[str], joined: dict[str, tuple[str, ...]]) -> None:
    """Adds a number in one piece, and without its first groups, as it is dialled nearby."""
    # Most groups of digits are short numbers.
    if sum(map(len, groups)) < FEWEST_DIGITS:
        return
    components = tuple(groups)
    for start in range(min(len(components), _MOST_GROUPS)):
        compound = "".join(components[start:]).lstrip("0")
        digits = sum(map(str.isdigit, compound))
        is_number = digits >= FEWEST_DIGITS and len(compound) <= _MOST_LETTERS
        if is_number and compound not in components:
            joined.setdefault(compound, components)
