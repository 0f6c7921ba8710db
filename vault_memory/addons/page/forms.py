"""Reads the fields of a form or of a URL into the struct that a view takes, and texts of notes.

A browser changes line ends and drops a first newline. So only the lines of a text that differ come
from the form. All other lines keep their bytes: line ends, byte order mark, absent last newline.
"""

import re
from base64 import b64decode, b64encode
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_origin
from urllib.parse import parse_qsl

import anyio
import msgspec
from starlette.requests import ClientDisconnect, Request

from vault_memory.errors import UsageError, VaultMemoryError
from vault_memory.markdown.merging.line_merge import hunks

FORM_TYPE = "application/x-www-form-urlencoded"
LARGEST_FORM = 64 << 10
"""Bytes of a form"""
LARGEST_TEXT = 2 << 20
"""Bytes of the form with the text of a note"""
MOST_FIELDS = 1_000
PATIENCE_SECONDS = 30.0
"""For a complete form to arrive"""
OPEN_AGAIN = "open the view again, and press the button there"

Fields = TypeVar("Fields", bound=msgspec.Struct)


class FormTooLong(VaultMemoryError):
    """The form has more bytes than the page reads."""

    http_status = 413


class FormIncomplete(VaultMemoryError):
    """The form did not arrive."""

    http_status = 408


class NotAForm(VaultMemoryError):
    """The body is not what a form of the page sends."""

    http_status = 415


class NoFields(msgspec.Struct):
    """A view or a button that needs no fields."""


class IdFields(msgspec.Struct):
    """The thing that a view shows, or that a button is about."""

    id: str


class AskedFields(msgspec.Struct, kw_only=True):
    """A form whose words may be a secret, which the page asks about."""

    keep_secret: bool = False
    """whether the person said that the note keeps it"""

    def words(self) -> tuple[str, list[str]]:
        """Returns the heading, or the subject of a fact, and what is below it."""
        fields = msgspec.to_builtins(self)
        if "line" in fields:
            return fields["heading"], [fields["line"]]
        line = f"{fields['predicate']}: {fields['object']}"
        return fields.get("subject", ""), [line]


class Form(dict[str, list[str]]):
    """The values of each field, in the order in which they were sent."""

    def take(self, name: str) -> str:
        """Removes a field. Returns its last value, or "" without the field."""
        values = self.pop(name, [""])
        return values[-1]


async def read_form(request: Request, longest: int) -> Form:
    """Returns the fields of a form. Raises NotAForm, FormTooLong, FormIncomplete."""
    content_type = request.headers.get("content-type", "").partition(";")[0]
    if content_type.strip().lower() != FORM_TYPE:
        raise NotAForm("this is no form of the page", hint=OPEN_AGAIN)
    body = await _read_body(request, longest)
    try:
        # Fault: a name with bytes that are not UTF-8 would become the name of another note.
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as error:
        raise UsageError(f"the form is damaged: {error}", hint=OPEN_AGAIN) from None
    return _by_name(pairs)


async def _read_body(request: Request, longest: int) -> bytes:
    body = bytearray()
    try:
        with anyio.fail_after(PATIENCE_SECONDS):
            async for block in request.stream():
                body += block
                # Fault: a body without an end would fill the memory.
                if len(body) > longest:
                    raise FormTooLong(
                        f"a form has {longest} bytes at most",
                        hint="shorten the text, or change the file in an editor",
                    )
    except (TimeoutError, ClientDisconnect):
        raise FormIncomplete("the form is incomplete", hint="send it again") from None
    return bytes(body)


def _by_name(pairs: Iterable[tuple[str, str]]) -> Form:
    form = Form()
    for name, value in pairs:
        form.setdefault(name, []).append(value)
    return form


def form_fields(
    form: Mapping[str, list[str]], path: Mapping[str, str], shape: type[Fields]
) -> Fields:
    """Returns a form as the struct of its action. Raises UsageError."""
    values: dict[str, Any] = dict(path)
    lists = _list_fields(shape)
    for name, texts in form.items():
        # Fault: with two values, a check could read one and the call the other.
        if name in path or (len(texts) > 1 and name not in lists):
            raise UsageError(f"the form has `{name}` twice", hint=OPEN_AGAIN)
        values[name] = texts if name in lists else texts[0]
    unknown = sorted(values.keys() - set(shape.__struct_fields__))
    if unknown:
        raise UsageError(f"the form has an unknown field `{unknown[0]}`", hint=OPEN_AGAIN)
    return _converted(values, shape)


def query_fields(
    query: Iterable[tuple[str, str]], path: Mapping[str, str], shape: type[Fields]
) -> Fields:
    """Returns the fields of a URL as the struct of its view; others are ignored.

    Raises UsageError.
    """
    lists = _list_fields(shape)
    values: dict[str, Any] = {}
    for name, text in query:
        if name in lists:
            values.setdefault(name, []).append(text)
        else:
            values[name] = text
    return _converted({**values, **path}, shape)


def _list_fields(shape: type[msgspec.Struct]) -> set[str]:
    """Returns the fields that may be sent several times."""
    fields = msgspec.structs.fields(shape)
    return {field.name for field in fields if get_origin(field.type) is tuple}


def _converted(values: Mapping[str, Any], shape: type[Fields]) -> Fields:
    try:
        return msgspec.convert(values, shape, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"the request is not understood: {error}", hint=OPEN_AGAIN) from None


def encoded(raw: bytes) -> str:
    """Returns bytes for a hidden field: browsers change line ends in any field."""
    return b64encode(raw).decode()


def decoded(field: str) -> bytes:
    """Returns the bytes of a hidden field. Raises UsageError."""
    try:
        return b64decode(field, validate=True)
    except ValueError:
        raise UsageError("the form lacks the text that it showed", hint=OPEN_AGAIN) from None


_NEWLINE = re.compile(r"\r\n|\r|\n")


def form_text(raw: bytes) -> str:
    """Returns what stands between the tags of the text field, before escaping, for a UTF-8 note."""
    text = raw.removeprefix(BOM_UTF8).decode().replace("\r\n", "\n")
    # Fault: a parser of HTML drops a newline right after the start tag.
    return f"\n{text}" if text.startswith("\n") else text


def bytes_of(form: str, base: bytes) -> bytes:
    """Returns the note that a posted text field means; `base` are the bytes that the form showed.

    Raises UsageError for a text that UTF-8 cannot encode.
    """
    mark = BOM_UTF8 if base.startswith(BOM_UTF8) else b""
    lines = [_encoded(line) for line in _NEWLINE.split(form)]
    # Without an LF behind it, a CR belongs to the line.
    lines_and_ends = re.split(rb"(\r?\n)", base.removeprefix(mark))
    ends = _ends(lines, lines_and_ends[::2], lines_and_ends[1::2])
    # The last line has no end: after a last newline it is an empty line.
    ends[-1] = b""
    return mark + b"".join(map(bytes.__add__, lines, ends))


def _encoded(line: str) -> bytes:
    try:
        return line.encode()
    except UnicodeEncodeError:
        raise UsageError(
            "the text is not valid Unicode",
            hint="remove the letter that is half of a surrogate pair",
        ) from None


def _ends(
    lines: Sequence[bytes], base_lines: Sequence[bytes], base_ends: list[bytes]
) -> list[bytes]:
    """Returns an end for each line: that of its line in the note, else that of the line above.

    The last line of the note has no end.
    """
    kinds = set(base_ends)
    if len(kinds) < 2:
        return [*kinds, b"\n"][:1] * len(lines)
    all_ends = [*base_ends, base_ends[-1]]
    ends: list[bytes] = []
    base_end = 0
    for first, end, form_first, form_end in hunks(base_lines, lines):
        count = form_end - form_first
        ends += all_ends[base_end:first] + all_ends[first:end][:count]
        above = ends[-1] if ends else max(kinds, key=base_ends.count)
        ends += [above] * (count - (end - first))
        base_end = end
    return ends + all_ends[base_end:]
