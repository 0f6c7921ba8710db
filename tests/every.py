"""Many cases of one test, tried in one loop: one message names all that fail.

    @every("text, expected", [("a", 1), ("b", 2)])
    def test_a_text_has_its_length(text: str, expected: int) -> None:

It is written as `pytest.mark.parametrize` is, and costs one test. So it is for cases that need nothing of their own:
no folder, and no change of the process.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

LONGEST_NAME = 200

Test = Callable[..., None]
Names = Callable[[Any], object] | Iterable[object] | None


def every(
    names: str | Sequence[str], cases: Iterable[Any], *, ids: Names = None
) -> Callable[[Test], Test]:
    """Return what makes one test of all its cases."""
    words = [word.strip() for word in names.split(",")] if isinstance(names, str) else list(names)
    cases = list(cases)
    listed = [_values(case, alone=len(words) == 1) for case in cases]
    titles = _titles(cases, listed, ids)
    # Fault: a table that has become empty would let its test pass.
    assert listed, f"no case of {names}"

    def looped(test: Test) -> Test:
        @functools.wraps(test)
        def tried(**others: Any) -> None:
            failed = []
            for title, values in zip(titles, listed, strict=True):
                try:
                    test(**dict(zip(words, values, strict=True)), **others)
                except (Exception, pytest.fail.Exception) as error:
                    failed.append(f"{title}\n{_shown(error)}")
            if failed:
                head = f"{len(failed)} of {len(listed)} cases of {', '.join(words)} fail:"
                pytest.fail("\n\n".join([head, *failed]), pytrace=False)

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in words]
        tried.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return tried

    return looped


def _values(case: Any, *, alone: bool) -> Sequence[Any]:
    if not isinstance(case, type(pytest.param())):
        return (case,) if alone else tuple(case)
    # Fault: a case that is marked to be left out would be tried.
    assert not case.marks, case
    return case.values


def _titles(cases: Sequence[Any], listed: Sequence[Sequence[Any]], ids: Names) -> list[str]:
    if ids is not None and not callable(ids):
        return [str(title) for title, _ in zip(ids, listed, strict=True)]
    name = ids or repr
    return [
        str(getattr(case, "id", "") or ", ".join(str(name(value)) for value in values))[
            :LONGEST_NAME
        ]
        for case, values in zip(cases, listed, strict=True)
    ]


def _shown(error: BaseException) -> str:
    """Where it failed and why; of a loop within the loop, the cases that failed there."""
    if isinstance(error, pytest.fail.Exception) and not error.pytrace:
        return str(error.msg)
    found = pytest.ExceptionInfo.from_exception(error)
    return str(found.getrepr(style="short", tbfilter=lambda info: info.traceback[1:]))
