"""Checks the values that a program passes to a call: a wrong one raises UsageError.

Without it a wrong type would fail somewhere inside, with an error that names no argument.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import wraps
from types import FunctionType, NoneType, UnionType
from typing import Any, Literal, TypeVar, Unpack, get_args, get_origin, get_type_hints

from vault_memory.errors import UsageError
from vault_memory.rules.paths.scopes import check_scopes

Kind = TypeVar("Kind", bound=type)
CHECKED = "checks_arguments"
"""An attribute of a call that checks its arguments, and of those that lead to it"""
LONGEST_NAME = 255
"""Bytes of a part of a path"""
LONGEST_SHOWN = 60
"""Characters of a wrong value that an error shows"""
NOUNS = {
    str: "a text",
    bytes: "bytes",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    date: "a date, such as `date(2026, 1, 31)` or `2026-01-31`",
    datetime: "a time, such as `datetime.now()`",
    NoneType: "None",
}
LISTS = (Sequence, Collection, Iterable)
QUOTED = {
    "Progress | None": Callable[..., None] | None,
    "Iterable[Op | Mapping[str, object]]": Iterable[object],
}
"""Annotations whose types a module names in quotes → what is checked"""
SIMPLE = frozenset({str, bytes, bool, int, float, datetime, NoneType})
"""Types whose values need no look beyond their type"""
STORED = ("entity", "name", "subject", "predicate", "object", "user")
"""Arguments that a database looks up, as UTF-8"""


def checked_calls(kind: Kind) -> Kind:
    """Check the arguments of all public calls of a class. A class decorator.

    `INTERNAL` of the class names those that other parts call, with values they have made.
    """
    internal = getattr(kind, "INTERNAL", ())
    for name, member in list(vars(kind).items()):
        is_public = name == "__call__" or not name.startswith("_")
        # A call of a part is checked there.
        is_checked = hasattr(member, CHECKED)
        if (
            isinstance(member, FunctionType)
            and is_public
            and not is_checked
            and name not in internal
        ):
            setattr(kind, name, _checked(member))
    return kind


def _checked(call: FunctionType) -> Callable[..., Any]:
    """Return a call that checks its arguments first."""
    code = _unwrapped(call).__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    if not names:
        return call
    positional = names[: code.co_argcount - 1]
    checks: Mapping[str, tuple[Any, frozenset[type]]] | None = None

    @wraps(call)
    def run(self: object, *arguments: Any, **keywords: Any) -> Any:
        nonlocal checks
        # Made at the first call: a start imports many calls and makes few. Fault: a table that
        # is filled in place would be incomplete for another thread.
        if checks is None:
            checks = _checks_of(call)
        values = list(arguments)
        # Too many arguments are left to the call, whose error names their number.
        for place, name in enumerate(positional[: len(values)]):
            # Most values have the right type, and need no further look.
            if name in checks and type(values[place]) not in checks[name][1]:
                values[place] = _read(name, values[place], checks[name][0])
        for name in checks.keys() & keywords:
            if type(keywords[name]) not in checks[name][1]:
                keywords[name] = _read(name, keywords[name], checks[name][0])
        return call(self, *values, **keywords)

    setattr(run, CHECKED, True)
    return run


def _unwrapped(call: Any) -> FunctionType:
    while hasattr(call, "__wrapped__"):
        call = call.__wrapped__
    function: FunctionType = call
    return function


def _checks_of(call: FunctionType) -> dict[str, tuple[Any, frozenset[type]]]:
    """Return the annotations of the arguments that this module knows, each with its exact types.

    A value of an exact type is right without a further look.
    """
    return {
        name: (annotation, _exact_types(name, annotation))
        for name, annotation in _annotations(call).items()
        if _can_check(annotation)
    }


def _annotations(call: FunctionType) -> dict[str, Any]:
    """Return the annotations of a call, those of its keywords included."""
    annotations = dict[str, Any]()
    for name, annotation in call.__annotations__.items():
        if name == "return":
            continue
        origin: object = get_origin(annotation)
        if origin is Unpack:
            (keywords,) = get_args(annotation)
            annotations.update(get_type_hints(keywords))
        elif isinstance(annotation, str):
            annotations[name] = QUOTED.get(annotation, annotation)
        else:
            annotations[name] = annotation
    return annotations


def _exact_types(name: str, annotation: Any) -> frozenset[type]:
    """Return the types whose values are right without a further look."""
    choices = _choices(annotation)
    # A text that is stored, or is a path, has letters that are checked.
    has_letters = name in STORED or any(map(_is_path, choices))
    simple = SIMPLE - {str} if has_letters else SIMPLE
    return simple.intersection(choices)


def _can_check(annotation: object) -> bool:
    """Return whether an annotation has a type that this module knows."""
    # Fault: a text names a type that is not imported here, and is compared with none.
    if isinstance(annotation, str):
        return False
    if annotation in NOUNS or _is_options(annotation) or _is_path(annotation):
        return True
    if isinstance(annotation, UnionType):
        return all(map(_can_check, get_args(annotation)))
    origin = get_origin(annotation)
    return origin in (Literal, Callable) or origin in LISTS


def _is_path(annotation: object) -> bool:
    """Return whether an object is a path, or a class of paths."""
    return hasattr(annotation, "__fspath__")


def _is_options(annotation: object) -> bool:
    """Return whether an annotation is a class of options: a named tuple."""
    return (
        isinstance(annotation, type)
        and issubclass(annotation, tuple)
        and hasattr(annotation, "_fields")
    )


def _read(name: str, value: Any, annotation: Any) -> Any:
    """Return a value of the annotated type. Raises UsageError."""
    if _is_options(annotation) and isinstance(value, annotation):
        return _read_options(value)
    choices = _choices(annotation)
    if any(map(_is_path, choices)):
        check_path(name, value)
    for choice in choices:
        read_value = _converted(name, value, choice)
        if read_value is not _NOT_READ:
            return read_value
    raise wrong_value(name, value, annotation)


def _read_options(options: Any) -> Any:
    """Return options with values of the annotated types. Raises UsageError."""
    annotations = type(options).__annotations__
    changes = {}
    for name, value in zip(options._fields, options, strict=True):
        annotation = annotations[name]
        if _can_check(annotation):
            read_value = _read(name, value, annotation)
            if read_value is not value:
                changes[name] = read_value
    return options._replace(**changes) if changes else options


_NOT_READ = object()


def _choices(annotation: Any) -> tuple[Any, ...]:
    if isinstance(annotation, UnionType):
        return get_args(annotation)
    return (annotation,)


def _converted(name: str, value: Any, kind: Any) -> Any:
    """Return a value as one of `kind`, or `_NOT_READ`."""
    origin: Any = get_origin(kind)
    if origin in LISTS:
        return _read_list(name, value, kind)
    if origin is Callable:
        return value if callable(value) else _NOT_READ
    read = _READERS.get(origin or kind)
    if read is not None:
        return read(name, value)
    return value if isinstance(value, kind) else _NOT_READ


def _read_text(name: str, value: object) -> object:
    if not isinstance(value, str):
        return _NOT_READ
    if name in STORED:
        _check_letters(name, value)
    return value


def _read_whole_number(name: str, value: object) -> object:
    # True is a whole number, too, and no call means it.
    return value if type(value) is int else _NOT_READ


def _read_number(name: str, value: object) -> object:
    return value if type(value) in (int, float) else _NOT_READ


def _check_letters(name: str, text: str) -> None:
    """Raise UsageError for a text that has no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"`{name}` is not valid Unicode: {shown_value(text)}",
            hint=f"pass `{name}` without halves of surrogate pairs",
            argument=name,
        ) from None


def check_path(name: str, value: object) -> None:
    """Raise UsageError for a value that no path can be. None is left to the call."""
    if value is None:
        return
    if not (isinstance(value, str) or _is_path(value)):
        raise UsageError(
            f"`{name}` is a path, not {shown_value(value)}",
            hint=f"pass `{name}` as a text or a `Path`",
            argument=name,
        )
    try:
        # The system gives bytes that are not UTF-8 as halves of surrogate pairs.
        path = str(value).encode(errors="surrogateescape")
    except UnicodeEncodeError:
        path = b"\0"
    is_too_long = any(len(segment) > LONGEST_NAME for segment in path.split(b"/"))
    if b"\0" in path or is_too_long:
        raise UsageError(
            f"`{name}` is no path: {shown_value(value)}",
            hint=f"pass `{name}` as the path of a file or folder",
            argument=name,
        )


def _read_list(name: str, value: Any, kind: Any) -> Any:
    # A text is a list of letters, and a mapping one of keys: no call means that.
    if name == "scopes" and isinstance(value, str):
        check_scopes(value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return _NOT_READ
    if get_args(kind) != (str,):
        return value
    # A generator can be read once: its texts are checked as a list.
    texts = value if isinstance(value, Collection) else list(value)
    for text in texts:
        if not isinstance(text, str):
            raise wrong_value(name, text, str)
    return texts


def read_day(name: str, value: Any) -> Any:
    """Return a date for a date, a time or a text of ISO 8601. Raises UsageError for a text."""
    match value:
        case datetime():
            return value.date()
        case date():
            return value
        case str():
            try:
                return datetime.fromisoformat(value).date()
            except ValueError:
                raise wrong_value(name, value, date) from None
    return _NOT_READ


_READERS: dict[Any, Callable[[str, Any], Any]] = {
    str: _read_text,
    # The call itself names the words that it takes.
    Literal: _read_text,
    int: _read_whole_number,
    float: _read_number,
    date: read_day,
}
"""Type → what returns a value of it, or `_NOT_READ`"""


def wrong_value(name: str, value: object, annotation: Any) -> UsageError:
    """Return the error for a value that a call cannot take."""
    expected = " or ".join(map(_noun, _choices(annotation)))
    return UsageError(
        f"`{name}` is {expected}, not {shown_value(value)}",
        hint=f"pass `{name}` as {expected}",
        argument=name,
    )


def _noun(kind: Any) -> str:
    if get_origin(kind) in LISTS:
        return "a list of texts" if str in get_args(kind) else "a list"
    if get_origin(kind) is Callable:
        return "a function"
    if get_origin(kind) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(kind))
    return NOUNS.get(kind) or f"a `{kind.__name__}`"


def shown_value(value: object) -> str:
    """Return a value as an error shows it."""
    try:
        text = repr(value)
    except Exception:
        # The value comes from outside, and its class may be broken.
        text = f"a {type(value).__name__}"
    if len(text) > LONGEST_SHOWN:
        return f"{text[:LONGEST_SHOWN]}…"
    return text
