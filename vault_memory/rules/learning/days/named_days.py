"""Puts calendar days in place of dates such as "1 June", "le 1er juin" or "6月1日". Pure.

Action items are due on a day. Relative days ("tomorrow", "by Friday") are resolved elsewhere.
"""

import re
from datetime import date
from functools import cache, partial

from vault_memory.rules.search.stopwords import MONTH_NUMBERS

_YEAR = r"(?:,? ?(?:de |del )?(?P<y>\d{4}))?"


def with_named_days(text: str, today: date) -> str:
    """Returns the text with ISO days; without a year, the next one from the day of speech."""
    return _named_day().sub(partial(_in_iso_form, today), text)


def _in_iso_form(today: date, match: re.Match[str]) -> str:
    # A day, a month and a year have one group in each form.
    fields = {name[0]: text for name, text in match.groupdict().items() if text}
    month_name = fields["m"].casefold()
    try:
        month = MONTH_NUMBERS.get(month_name) or int(month_name)
        day = date(int(fields.get("y", today.year)), month, int(fields["d"]))
        if day < today and "y" not in fields:
            day = day.replace(year=today.year + 1)
    except ValueError:
        # Fault: "31 June" is no day.
        return match[0]
    return day.isoformat()


@cache
def _named_day() -> re.Pattern[str]:
    names = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
    forms = (
        rf"(?:the )?(?P<d1>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? (?P<m1>{names})(?!\w)",
        rf"(?<!\w)(?P<m2>{names}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:])",
        r"(?P<m3>\d{1,2})月(?P<d3>\d{1,2})[日号號]?",
        r"(?P<d4>\d{1,2})\.\s?(?P<m4>\d{1,2})\.",
    )
    return re.compile(rf"(?<![\d.])(?:{'|'.join(forms)}){_YEAR}", re.IGNORECASE)
