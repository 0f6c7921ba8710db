"""Snapshots of what others rely on: names, signatures, schemas, keys, codes."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import apsw

import vault_memory
from tests.goldens import product
from tests.goldens.sandbox import Sandbox
from vault_memory import config, markdown

Definition = ast.FunctionDef | ast.AsyncFunctionDef


# --- Names and signatures ---


def public_names(module: Any) -> str:
    """Every public name of a module, with the signature of a function and the parts of a class."""
    lines = []
    for name in sorted(module.__all__):
        # A function with a cache is a function for those who call it.
        value = inspect.unwrap(getattr(module, name))
        if inspect.isclass(value):
            lines += [f"class {name}", *(f"    {line}" for line in class_parts(value))]
        elif inspect.isfunction(value):
            lines.append(f"def {name}{signature(definition_of(value))}")
        else:
            lines.append(f"{name} = {value!r}")
    return "\n".join(lines) + "\n"


def class_parts(kind: type) -> list[str]:
    """The fields of a record, and the public calls and properties of a class, those it inherits included."""
    fields: dict[str, str] = {}
    calls: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("vault_memory"):
            continue
        [body] = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(body, ast.ClassDef)
        for node in body.body:
            if isinstance(node, ast.AnnAssign) and is_record(kind):
                name = ast.unparse(node.target)
                default = f" = {ast.unparse(node.value)}" if node.value else ""
                fields[name] = f"{name}: {annotation(node.annotation)}{default}"
            elif isinstance(node, Definition) and (node.name == "__init__" or node.name[0] != "_"):
                calls[node.name] = call_line(node, inspect.getmodule(base))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                # A call of a part that is one of the class, too.
                name = ast.unparse(node.targets[0])
                function = inspect.unwrap(getattr(kind, name))
                if inspect.isfunction(function):
                    module = inspect.getmodule(function)
                    calls[name] = call_line(definition_of(function), module)
    return [*fields.values(), *(calls[name] for name in sorted(calls))]


def is_record(kind: type) -> bool:
    """Whether the annotated names of a class are its fields."""
    return any(
        hasattr(kind, name) for name in ("__dataclass_fields__", "__struct_fields__", "_fields")
    )


def definition_of(function: Callable[..., Any]) -> Definition:
    """The function as it stands in the source."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    [node] = ast.parse(source).body
    assert isinstance(node, Definition)
    return node


def call_line(node: Definition, module: Any) -> str:
    """A method in one line, with what its decorators make of it."""
    expand_keywords(node.args, module)
    names = {ast.unparse(decorator) for decorator in node.decorator_list}
    kinds = [name for name in ("property", "classmethod", "staticmethod") if name in names]
    return " ".join([*kinds, f"def {node.name}{signature(node)}"])


def expand_keywords(arguments: ast.arguments, module: Any) -> None:
    """Names the keywords of a signature that are the fields of a class."""
    keywords = arguments.kwarg and re.fullmatch(
        r"Unpack\[(\w+)\]", annotation(arguments.kwarg.annotation or ast.Name(""))
    )
    if not keywords:
        return
    [body] = ast.parse(textwrap.dedent(inspect.getsource(getattr(module, keywords[1])))).body
    assert isinstance(body, ast.ClassDef)
    for node in body.body:
        if isinstance(node, ast.AnnAssign):
            arguments.kwonlyargs.append(ast.arg(ast.unparse(node.target), node.annotation))
            arguments.kw_defaults.append(ast.Constant(...))
    arguments.kwarg = None


def signature(node: Definition) -> str:
    """Arguments and result; the types as text, however they are quoted in the source."""
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg) and argument.annotation is not None:
            argument.annotation = ast.Name(annotation(argument.annotation))
    result = f" -> {annotation(node.returns)}" if node.returns else ""
    return f"({ast.unparse(node.args)}){result}"


def annotation(node: ast.expr) -> str:
    """A type without quotes and without the names of modules."""
    text = ast.unparse(node)
    if "Literal" not in text:
        text = text.replace("'", "")
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)


# --- Configuration and errors ---


def configuration_keys() -> str:
    """Each table with its keys, types and defaults."""
    out: list[str] = []
    waiting: list[tuple[str, Any]] = [("(top)", config.Config)]
    seen = set()
    while waiting:
        title, table = waiting.pop(0)
        if title in seen:
            continue
        seen.add(title)
        out.append(f"[{title}]")
        for name, kind in get_type_hints(table).items():
            default = table._field_defaults.get(name, "required")
            if config.is_table(kind):
                waiting.append((name, kind))
                continue
            out.append(f"{name}: {type_text(kind)} = {default!r}")
            inner = (part for part in getattr(kind, "__args__", ()) if config.is_table(part))
            waiting += [(part.__name__, part) for part in inner]
        out.append("")
    reserved = " ".join(sorted(config.RESERVED))
    return "\n".join(
        [
            *out,
            f"prefix of the environment: {config.ENVIRONMENT_PREFIX}",
            f"reserved: {reserved}",
            "",
        ]
    )


def type_text(kind: Any) -> str:
    """A type without the names of our modules."""
    text = kind.__name__ if type(kind) is type else str(kind)
    return re.sub(r"vault_memory[\w.]*\.", "", text)


def error_codes() -> str:
    """Each code with its exit code and its HTTP status."""
    rows = set()
    for kind in product.error_classes():
        if "code" in vars(kind) and kind is not vault_memory.VaultMemoryError:
            continue
        code = kind.__new__(kind).code
        rows.add(f"{code}: exit {kind.exit_code}, HTTP {kind.http_status}")
    return "\n".join(sorted(rows)) + "\n"


# --- Schemas ---


def as_json(value: object) -> str:
    """Readable, in the order of the product."""
    text = json.dumps(with_sorted_choices(value), indent=1, ensure_ascii=False) + "\n"
    return text.replace(vault_memory.__version__, "<VERSION>")


def with_sorted_choices(value: Any) -> Any:
    """A schema in one order: msgspec lists definitions and the choices of a Literal as a set gives them."""
    if isinstance(value, dict):
        parts = {name: with_sorted_choices(part) for name, part in value.items()}
        for table in ("schemas", "$defs"):
            if table in parts:
                parts[table] = dict(sorted(parts[table].items()))
        return (
            parts | {"enum": sorted(parts["enum"])}
            if isinstance(parts.get("enum"), list)
            else parts
        )
    return [with_sorted_choices(part) for part in value] if isinstance(value, list) else value


def database_schemas(folder: Path) -> str:
    """The tables and indexes of every database that the program keeps."""
    sandbox = Sandbox(folder)
    sandbox.take_sample()
    sandbox.run(
        "record", "The lamp needs oil", "--session", "s1", "--role", "user", "--user", "mira"
    )
    sandbox.run("append", "Users/mira/lantern/config/USER.md", "Preferences", "likes figs")
    sandbox.run("index")
    files = {file.name: file for file in sorted(sandbox.state.rglob("*.sqlite"))}
    files |= {file.name: file for file in sync_databases(folder / "devices")}
    return "\n".join(line for name in sorted(files) for line in schema_lines(name, files[name]))


def sync_databases(folder: Path) -> Iterator[Path]:
    """The state of sync, as a device keeps it."""
    from tests.sync.devices import pair

    one, other, _ = pair(folder)
    for device in (one, other):
        device.stop()
    yield from one.state.rglob("sync.sqlite")


def schema_lines(name: str, file: Path) -> Iterator[str]:
    """The schema of one file, one object a paragraph."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        yield f"=== {name} (user_version {connection.pragma('user_version')})"
        yield f"application_id {connection.pragma('application_id')}"
        rows = connection.execute(
            "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
        ).fetchall()
    finally:
        connection.close()
    for kind, title, sql in rows:
        yield f"{kind} {title}\n{textwrap.dedent(str(sql or '(made by SQLite)'))}\n"


def metric_names(folder: Path) -> str:
    """Each number of `/metrics` with its type and its labels, without its value and its help."""
    sandbox = Sandbox(folder)
    sandbox.take_sample()
    sandbox.run("index")
    sandbox.run("sleep")
    with sandbox.here(), product.VaultMemory.open(sandbox.vault) as memory:
        text = product.metrics_text(memory)
    lines = set()
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            lines.add(line.removeprefix("# "))
        elif not line.startswith("#"):
            lines.add(re.sub(r'version="[^"]*"', 'version="<VERSION>"', line.rpartition(" ")[0]))
    return "\n".join(sorted(lines)) + "\n"


GOLDENS: dict[str, Callable[[Path], str]] = {
    "surface/names.txt": lambda folder: public_names(vault_memory),
    "surface/markdown_names.txt": lambda folder: public_names(markdown),
    "surface/configuration.txt": lambda folder: configuration_keys(),
    "surface/errors.txt": lambda folder: error_codes(),
    "surface/openapi.json": lambda folder: as_json(product.openapi()),
    "surface/mcp.json": lambda folder: as_json(product.tools_and_resources()),
    "surface/databases.txt": database_schemas,
    "surface/metrics.txt": metric_names,
}
"""Name of the stored file → what makes its text, in an empty folder"""
