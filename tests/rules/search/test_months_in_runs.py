"""Months of scripts without blanks, with and without a year, and the periods around today."""

from datetime import UTC, datetime

from tests.every import every
from vault_memory.rules.search import date_expressions

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@every(
    ("query", "first", "last"),
    [
        ("5月我们聊了什么？", "2026-05-01", "2026-05-31"),
        ("５月份我们聊了什么？", "2026-05-01", "2026-05-31"),
        ("五月我们聊了什么", "2026-05-01", "2026-05-31"),
        ("十二月我们聊了什么", "2025-12-01", "2025-12-31"),
        ("去年5月我们聊了什么", "2025-05-01", "2025-05-31"),
        ("2024年十一月聊了什么", "2024-11-01", "2024-11-30"),
        ("5月12日我们聊了什么？", "2026-05-12", "2026-05-12"),
        ("十月二十三号聊了什么", "2026-10-23", "2026-10-23"),
        ("5月に何を話した？", "2026-05-01", "2026-05-31"),
        ("昨年の12月に何を話した？", "2025-12-01", "2025-12-31"),
        ("5월에 무슨 얘기를 했지?", "2026-05-01", "2026-05-31"),
        ("작년 5월 3일에 무슨 얘기를 했지?", "2025-05-03", "2025-05-03"),
        ("上个月我们聊了什么", "2026-10-01", "2026-10-31"),
        ("先月何を話した？", "2026-10-01", "2026-10-31"),
        ("지난달에 무슨 얘기를 했지?", "2026-10-01", "2026-10-31"),
        ("去年我们聊了什么", "2025-01-01", "2025-12-31"),
    ],
)
def test_a_month_without_blanks_is_named(query: str, first: str, last: str):
    [days] = date_expressions.named(query, now=NOW)

    assert (days.first.isoformat(), days.last.isoformat()) == (first, last)


@every("query", ["3个月前", "13月", "0月", "月亮很圆", "25月", "每月"])
def test_what_is_no_month_names_no_day(query: str):
    assert date_expressions.named(query, now=NOW) == ()
