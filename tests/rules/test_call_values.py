"""Arguments of calls are checked by tables that are made at the first call."""

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from tests.effort import few
from tests.every import every
from vault_memory.errors import UsageError
from vault_memory.rules import call_values
from vault_memory.rules.call_values import checked_calls

THREADS = 4


@pytest.mark.usefixtures("frequent_switches")
def test_the_first_calls_of_several_threads_are_checked_alike() -> None:
    for _ in range(few(400)):

        @checked_calls
        class Counter:
            def count(self, text: str, *, limit: int = 0, start: int = 0) -> int:
                return len(text) + limit + start

        begin = threading.Barrier(THREADS)
        counts: list[int] = []
        counter = Counter()

        def ask() -> None:
            begin.wait()  # noqa: B023
            counts.append(counter.count("tea", limit=1, start=2))  # noqa: B023

        threads = [threading.Thread(target=ask) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [6] * THREADS


class Options(NamedTuple):
    """What a call takes beside its text."""

    day: date | None = None
    limit: int = 0


@checked_calls
class Calls:
    """Calls with an argument of each kind."""

    INTERNAL = ("inner",)

    def text(self, text: str) -> object:
        return text

    def whole(self, limit: int) -> object:
        return limit

    def number(self, share: float) -> object:
        return share

    def flag(self, quiet: bool) -> object:
        return quiet

    def day(self, day: date | None = None) -> object:
        return day

    def moment(self, now: datetime | None) -> object:
        return now

    def path(self, place: str | Path) -> object:
        return place

    def name(self, name: str) -> object:
        return name

    def listed(self, scopes: Sequence[str] | None) -> object:
        return scopes

    def values(self, values: Iterable[object]) -> object:
        return list(values)

    def mode(self, mode: Literal["fast", "slow"]) -> object:
        return mode

    def hook(self, hook: Callable[[], None] | None) -> object:
        return hook

    def options(self, options: Options = Options()) -> object:  # noqa: B008
        return options

    def unknown(self, other: "Calls") -> object:
        return other

    def inner(self, limit: int) -> object:
        return limit

    def _own(self, limit: int) -> object:
        return limit


NOW = datetime(2026, 5, 25, 18, 40, tzinfo=UTC)


@every(
    ("call", "value", "read"),
    [
        ("text", "tea", "tea"),
        ("whole", 3, 3),
        ("number", 3, 3),
        ("number", 0.5, 0.5),
        ("flag", True, True),
        ("day", None, None),
        ("day", date(2026, 5, 25), date(2026, 5, 25)),
        ("day", NOW, date(2026, 5, 25)),
        ("day", "2026-05-25", date(2026, 5, 25)),
        ("day", "2026-05-25T18:40:00+00:00", date(2026, 5, 25)),
        ("moment", NOW, NOW),
        ("path", "a/b.md", "a/b.md"),
        ("path", Path("a"), Path("a")),
        ("name", "\u00c4pfel", "\u00c4pfel"),
        ("listed", ["user:a"], ["user:a"]),
        ("listed", ("user:a",), ("user:a",)),
        ("listed", None, None),
        ("values", [1, "a"], [1, "a"]),
        ("mode", "other", "other"),
        ("hook", None, None),
        ("hook", print, print),
        ("options", Options("2026-05-25", 3), Options(date(2026, 5, 25), 3)),  # type: ignore[arg-type]
        ("options", Options(), Options()),
        ("unknown", 7, 7),
        ("inner", "x", "x"),
        ("_own", "x", "x"),
    ],
)
def test_a_right_value_is_read_as_what_the_call_takes(call: str, value: Any, read: Any) -> None:
    assert getattr(Calls(), call)(value) == read


@every(
    ("call", "value", "message"),
    [
        ("text", 3, "`text` is a text, not 3"),
        ("text", b"tea", "`text` is a text"),
        ("whole", True, "`limit` is a whole number, not True"),
        ("whole", 1.0, "`limit` is a whole number"),
        ("whole", "1", "`limit` is a whole number"),
        ("number", "1", "`share` is a number"),
        ("number", True, "`share` is a number"),
        ("flag", 1, "`quiet` is True or False"),
        ("day", 3, "or None, not 3"),
        ("day", "tomorrow", "`day` is a date, such as"),
        ("moment", date(2026, 5, 25), "`now` is a time, such as"),
        ("path", 3, "`place` is a path, not 3"),
        ("path", "a\0b", "`place` is no path"),
        ("path", "a/" + "b" * 256, "`place` is no path"),
        ("path", "\ud800", "`place` is no path"),
        ("name", "\ud800", "`name` is not valid Unicode"),
        ("name", 3, "`name` is a text"),
        ("listed", "user:a", "`scopes` is a list of scopes"),
        ("listed", {"user:a": 1}, "`scopes` is a list of texts or None"),
        ("listed", 3, "`scopes` is a list of texts or None"),
        ("listed", [3], "`scopes` is a text, not 3"),
        ("values", "ab", "`values` is a list, not 'ab'"),
        ("mode", 3, "`mode` is `fast` or `slow`, not 3"),
        ("hook", 3, "`hook` is a function or None"),
        ("options", Options(3), "`day` is a date"),  # type: ignore[arg-type]
        ("options", Options(None, "1"), "`limit` is a whole number"),  # type: ignore[arg-type]
        ("options", (None, 1), "`options` is a `Options`"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_argument(
    call: str, value: Any, message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        getattr(Calls(), call)(value)

    assert message in str(refused.value)
    assert (refused.value.hint or "").startswith(("pass `", "name at least one scope"))


def test_a_keyword_is_checked_as_a_place_is_and_too_many_are_left_to_the_call() -> None:
    with pytest.raises(UsageError, match="`limit` is a whole number"):
        Calls().whole(limit="x")
    assert Calls().day(day="2026-05-25") == date(2026, 5, 25)
    with pytest.raises(TypeError):
        Calls().whole(1, 2)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Calls().whole(other=1)  # type: ignore[call-arg]


def test_a_generator_of_texts_is_read_once_and_a_path_may_have_undecodable_bytes() -> None:
    assert Calls().listed(name for name in ("user:a", "user:b")) == ["user:a", "user:b"]  # type: ignore[arg-type]
    assert Calls().path("a\udcff") == "a\udcff"
    assert Calls().path("a/" + "b" * call_values.LONGEST_NAME)


def test_a_value_is_shown_shortened_and_a_broken_one_by_its_class() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    assert call_values.shown_value("a" * 58) == repr("a" * 58)
    assert call_values.shown_value("a" * 59) == repr("a" * 59)[:60] + "\u2026"
    assert call_values.shown_value(Broken()) == "a Broken"


def test_a_call_that_is_checked_once_is_not_checked_again() -> None:
    checked = Calls.whole

    class More:
        whole = checked

    assert checked_calls(More).whole is checked
