"""Counts what makes one module easy or hard to read."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_COLUMNS = 100
VAGUE_NAMES = frozenset(
    """
    one ones other others found known said told given held kept taken wanted asked meant shown
    fresh far stuff thing things some several rest what which done gone there here whole part parts
    piece pieces bit first_one last_one
    """.split()
)
"""Pronouns and participles that say nothing as the name of a variable or a parameter"""

ARCHAIC_PHRASES = (
    "whoever whatever whichever anew lest besides whom amiss heed\\w* nobody somebody".split()
    + "stands? stood lies lay tells? told mended? thrown?".split()
    + ["such that", "by and by", "once more", "is none", "are none", "is to be", "are to be"]
    + ["to be had", "as far as", "let go", "lets go", "let alone", "put back", "went back"]
    + ["just now", "taken in", "takes? in", "it is .{0,20} that", "made of"]
)
ARCHAIC = re.compile(rf"\b(?:{'|'.join(ARCHAIC_PHRASES)})\b", re.IGNORECASE)

Function = ast.FunctionDef | ast.AsyncFunctionDef
BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.AsyncFor,
    ast.ExceptHandler,
    ast.IfExp,
    ast.comprehension,
    ast.match_case,
)


@dataclass
class FunctionStyle:
    """What counts against one function."""

    name: str
    line: int
    complexity: int
    parameters: int


@dataclass
class ModuleStyle:
    """The counts of one module. `name` is the dotted name, without `__init__`."""

    path: Path
    name: str
    tree: ast.Module
    code_lines: int = 0
    comment_lines: int = 0
    long_lines: int = 0
    format_skips: int = 0
    names: int = 0
    docstring_words: int = 0
    local_imports: int = 0
    vague: Counter[str] = field(default_factory=Counter)
    archaic: Counter[str] = field(default_factory=Counter)
    functions: list[FunctionStyle] = field(default_factory=list)

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"


def read_package(folder: Path) -> list[ModuleStyle]:
    """Measures every module below a folder, in the order of their paths."""
    return [read_module(path, folder) for path in sorted(folder.rglob("*.py"))]


def read_module(path: Path, folder: Path) -> ModuleStyle:
    """Measures one module of the package in `folder`."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
    module = ModuleStyle(path, ".".join(parts).removesuffix(".__init__"), tree)
    docstrings = list(find_docstrings(tree))
    _count_lines(module, source, docstrings)
    nodes = list(ast.walk(tree))
    module.format_skips = source.count("fmt: skip")
    names = list(_names(nodes))
    module.names = len(names)
    module.vague.update(name for name in names if name in VAGUE_NAMES)
    prose = " ".join(_text(docstring) for docstring in docstrings)
    module.docstring_words = len(re.findall(r"\w+", prose))
    module.archaic.update(phrase.lower() for phrase in ARCHAIC.findall(prose))
    for node in nodes:
        if isinstance(node, Function):
            module.functions.append(_measure_function(node))
            module.local_imports += sum(
                _is_own_import(child, folder.name) for child in ast.walk(node)
            )
    return module


def find_docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    """Yields every string that stands alone as a statement, also below an attribute."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):  # of a lambda and of a conditional expression
            continue
        for statement in body:
            if isinstance(statement, ast.Expr) and _is_string(statement.value):
                yield statement


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def complexity_of(function: ast.AST) -> int:
    """Returns one more than the number of decisions, those of nested functions included."""
    decisions = 0
    for node in ast.walk(function):
        if isinstance(node, BRANCHES):
            decisions += 1
        elif isinstance(node, ast.BoolOp):
            decisions += len(node.values) - 1
    return decisions + 1


def _text(docstring: ast.Expr) -> str:
    assert isinstance(docstring.value, ast.Constant)
    return str(docstring.value.value)


def _count_lines(module: ModuleStyle, source: str, docstrings: Iterable[ast.Expr]) -> None:
    """Sorts the lines into code and comments; blank lines and docstrings are neither."""
    inside_docstrings = {
        number
        for docstring in docstrings
        for number in range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1)
    }
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if not text or number in inside_docstrings:
            continue
        if text.startswith("#"):
            module.comment_lines += 1
            continue
        module.code_lines += 1
        module.long_lines += len(line) > MAX_COLUMNS


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yields the name of each assignment to a variable and of each parameter."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def _measure_function(function: Function) -> FunctionStyle:
    # Positional-only and variadic parameters are not counted, as in the figures of other projects.
    parameters = len(function.args.args) + len(function.args.kwonlyargs)
    return FunctionStyle(function.name, function.lineno, complexity_of(function), parameters)


def _is_own_import(node: ast.AST, package: str) -> bool:
    if not isinstance(node, ast.ImportFrom):
        return False
    return node.level > 0 or (node.module or "").split(".")[0] == package
