"""The steps of each regular expression grow with the length of a hostile text, and not with its square.

The package is read for every call of `re`. An expression that is written down is tried as it is; one
that is put together is tried as it is compiled while the package works.
"""

import ast
import importlib
import multiprocessing
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import vault_memory
from tests.effort import FULL
from tests.every import every
from tests.rules.hostile_texts import hostile_texts
from vault_memory import VaultMemory
from vault_memory.models.llm import phrase_rules

PACKAGE = Path(vault_memory.__file__).parent
CALLS = {
    "compile": 1,
    "match": 2,
    "search": 2,
    "fullmatch": 2,
    "findall": 2,
    "finditer": 2,
    "split": 3,
    "sub": 4,
}
"""Function of `re` → the place of its flags"""
LETTERS = 10_000 if FULL else 5_000
WHOLE = "vault_memory.rules.paths.globs"
"""Puts expressions together that match whole paths only"""
SENTENCES = (
    "vault_memory.models.llm.phrase_tables",
    "vault_memory.models.llm.phrase_values",
    "vault_memory.models.llm.channel_phrases",
)
"""Modules whose expressions meet sentences only, each of at most `phrase_rules.LONGEST` letters"""
SHORT = 300
"""Letters of the texts among which the worst ones are looked for"""
WORST = 3
"""Texts of one expression that are tried at their full length"""
LONG, PART_OF_LONG = 3_000, 6
"""Of an expression of so many letters, which makes thousands of texts, a short run tries a part"""
CPU_SECONDS = 3.0
"""Of this process, for one text; what needs more hangs"""
LEAST_SECONDS = 0.1
"""CPU seconds from which the growth of the steps counts; a linear expression needs a hundredth"""
NOTICED = 12
"""Times the CPU seconds that a plain expression needs at that moment for steps as the square of its text"""
ROUNDS = 3
"""Measurements that all have to tell of it: a busy machine takes longer for some"""
SHORTER = 4
"""How many times shorter the text is whose steps are compared"""
MOST_GROWTH = 9
"""Steps that grow with the length are 4 times as many, those that grow with its square 16 times"""


class Expression(NamedTuple):
    """An expression, and how the package uses it."""

    regex: "re.Pattern[Any]"
    method: str
    place: str


PLAIN = Expression(re.compile("a*b"), "search", "")


class TooSlow(Exception):
    """The expression did not end."""


@cache
def written() -> tuple[Expression, ...]:
    """Every expression that stands in the source."""
    return tuple(_written())


def _written() -> Iterator[Expression]:
    for file in sorted(PACKAGE.rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if "import re\n" not in source or file.stem == "__main__":
            continue
        name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and _is_of_re(call.func):
                expression = _expression(call, source, vars(module))
                if expression is not None:
                    regex, methods = expression
                    for method in methods:
                        yield Expression(regex, method, f"{name}:{call.lineno}")


def _is_of_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in CALLS
    )


def _expression(
    call: ast.Call, source: str, names: dict[str, Any]
) -> tuple["re.Pattern[Any]", set[str]] | None:
    assert isinstance(call.func, ast.Attribute)
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    flags += call.args[CALLS[call.func.attr] :][:1]
    try:
        pattern, *given = (eval(ast.unparse(part), dict(names)) for part in (call.args[0], *flags))
    except NameError:
        # It is put together within a function.
        return None
    regex = re.compile(pattern, *given)
    return regex, _methods(call, source)


def _methods(call: ast.Call, source: str) -> set[str]:
    """How an expression is used; "search" where nobody can tell."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr != "compile":
        return {call.func.attr}
    assert call.end_lineno is not None
    lines = source.splitlines()
    behind = lines[call.end_lineno - 1][call.end_col_offset or 0 :]
    bound = re.match(r"\.(\w+)", behind)
    if bound:
        return {bound[1]}
    target = re.match(r"\s*(\w+)\b[^=]*=", lines[call.lineno - 1])
    # An expression that is compiled on first use is returned by a function.
    function = re.match(r"def (\w+)\(", lines[call.lineno - 2])
    name = target[1] if target else f"{function[1]}()" if function else ""
    sources = [source] if name.startswith("_") else _sources()
    use = re.compile(rf"\b{re.escape(name)}\.(\w+)") if name else None
    uses = {found for text in sources for found in use.findall(text)} if use else set()
    return uses & set(CALLS) or {"search"}


@cache
def _sources() -> list[str]:
    return [file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")]


def put_together(tmp_path: Path) -> list[Expression]:
    """Every expression that the package compiles in a small life, of a process of its own.

    A process that has lived before has compiled some of them already.
    """
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawned) as process:
        compiled = process.submit(compiled_in_a_life, tmp_path).result()
    return [
        Expression(
            re.compile(pattern, flags), "fullmatch" if place.startswith(WHOLE) else "search", place
        )
        for place, pattern, flags in compiled
    ]


def compiled_in_a_life(tmp_path: Path) -> list[tuple[str, str | bytes, int]]:
    """The module and line, the pattern and the flags of each expression that this process compiles."""
    compiled: list[tuple[str, str | bytes, int]] = []
    compiler: Any = sys.modules["re._compiler"]
    original: Callable[..., Any] = compiler.compile

    def compile(pattern: Any, flags: int = 0) -> Any:
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_globals["__name__"].startswith("re"):
            frame = frame.f_back
        name = frame.f_globals["__name__"] if frame else ""
        if name.startswith("vault_memory.") and isinstance(pattern, str | bytes):
            compiled.append((f"{name}:{frame.f_lineno}", pattern, int(flags)))
        return original(pattern, flags)

    re.purge()
    compiler.compile = compile
    try:
        small_life(tmp_path)
    finally:
        compiler.compile = original
    return compiled


SAID = (
    "Please remember that I like green tea, and my sister Anna moved to Lisbon.",
    "Ich wohne seit Mai in Wien. Bitte merke dir: kein Fleisch am Montag!",
    "Recuerda que mi hermano vive en Madrid desde 2019.",
    "Souviens-toi que je préfère le train.",
    "Запомни, пожалуйста: я живу в Казани.",
    "请记住我喜欢喝茶。 My PIN is 4417.",
)


def small_life(tmp_path: Path) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if "VAULT_MEMORY" not in key},
        "VAULT_MEMORY_STATE": str(tmp_path / "state"),
        "VAULT_MEMORY_EMBEDDING_KIND": "off",
        "VAULT_MEMORY_BRAIN_KIND": "rules",
    }
    root = tmp_path / "vault"
    (root / "memory").mkdir(parents=True)
    (root / "USER.md").write_text("# Mira\n\n## Likes\n\n- tea\n- the sea\n")
    with VaultMemory.open(root, environment=environment) as memory:
        for text in SAID:
            memory.record_turn(session="s", role="user", user="mira", text=text)
        memory.end_session("s", user="mira")
        memory.sleep()
        memory.search("what does Mira like since May?", scopes=["user:main"])
        memory.search("tea", scopes=["user:main"], paths=["memory/*", "**/U*.md"])
        memory.context("what did I say last week?", scopes=["user:main"])
        memory.apply("USER.md", [{"op": "append", "heading": "Likes", "line": "- figs"}])
        memory.forget("the sea")


def _tried(expression: Expression, text: Any) -> float:
    """The CPU seconds of one use. Raises TooSlow."""
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    before = time.thread_time()
    try:
        method = expression.method
        if method in ("match", "fullmatch", "search"):
            getattr(expression.regex, method)(text)
        else:
            for _ in expression.regex.finditer(text):
                pass
        return time.thread_time() - before
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _texts(expression: Expression, length: int) -> Iterator[Any]:
    pattern, flags = expression.regex.pattern, expression.regex.flags
    if isinstance(pattern, bytes):
        for text in hostile_texts(pattern.decode("latin-1"), 0, length):
            yield text.encode("utf-8", "replace")
    else:
        yield from hostile_texts(pattern, flags, length)


def _grows_too_fast(expression: Expression) -> bool:
    """Whether one of the worst hostile texts takes far longer than its length says."""
    letters = phrase_rules.LONGEST if expression.place.startswith(SENTENCES) else LETTERS
    step = 1 if FULL or len(expression.regex.pattern) < LONG else PART_OF_LONG
    times = {
        number: _tried(expression, text)
        for number, text in enumerate(_texts(expression, SHORT))
        if number % step == 0
    }
    worst = sorted(times, key=times.__getitem__)[-WORST:]

    def seconds(number: int, length: int) -> float:
        return _tried(expression, next(islice(_texts(expression, length), number, None)))

    def stands_out(number: int) -> bool:
        needed = seconds(number, letters)
        return (
            needed > LEAST_SECONDS
            and needed > NOTICED * _tried(PLAIN, "a" * letters)
            and needed > MOST_GROWTH * seconds(number, letters // SHORTER)
        )

    return any(all(stands_out(number) for _ in range(ROUNDS)) for number in worst)


def _too_slow(expressions: Sequence[Expression]) -> list[str]:
    def interrupt(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, interrupt)
    slow = []
    try:
        for expression in dict.fromkeys(expressions):
            try:
                is_slow = _grows_too_fast(expression)
            except TooSlow:
                is_slow = True
            if is_slow:
                slow.append(f"{expression.place}: {expression.regex.pattern!r}")
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return slow


def test_no_expression_that_is_written_down_grows_with_the_square() -> None:
    expressions = written()

    assert len(expressions) > 300
    assert _too_slow(expressions) == []


def test_no_expression_that_is_put_together_grows_with_the_square(tmp_path: Path) -> None:
    known = {(regex.pattern, regex.flags) for regex, _, _ in written()}
    expressions = [
        expression
        for expression in put_together(tmp_path)
        if (expression.regex.pattern, expression.regex.flags) not in known
    ]

    assert len(expressions) > 30
    assert _too_slow(expressions) == []


@every(
    "pattern",
    [
        r"(a+)+b",
        r"(?:\w+\s?)+$",
        r"(a|a)*b",
        r"-{2,}[^\n]*x[^\n]*y[^\n]*-{2,}z",
        r"\w+(?:-\w+)+",
        r"[ \t]*\|?[ \t]*x",
    ],
)
def test_an_expression_that_is_too_slow_is_found(
    monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    # They take minutes.
    monkeypatch.setattr(sys.modules[__name__], "CPU_SECONDS", 0.5)
    expression = Expression(re.compile(pattern), "search", "")

    assert _too_slow([expression]) != []
