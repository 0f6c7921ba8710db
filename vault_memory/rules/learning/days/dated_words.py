"""What a person asked to remember, as it is true later: with calendar days, and the words as a quote. Pure."""

from datetime import date

from vault_memory.rules.learning.days.relative_days import resolve_days
from vault_memory.rules.sentences.sentence_splitter import without_end

_QUOTES = str.maketrans(dict.fromkeys('"“”„', "'"))


def with_calendar_days(text: str, day: date) -> str:
    """Returns a text that was said on a local day, as a line says it for good.

    A day such as "tomorrow" becomes a date, and the person's own words follow as a quote. A text
    without such a day stays as it is.
    """
    resolved = resolve_days(text, day).text
    if resolved == text:
        return text
    # Fault: a quotation mark inside the quotation would end it too early.
    quote = without_end(text).translate(_QUOTES)
    return f'{without_end(resolved)} — "{quote}"'
