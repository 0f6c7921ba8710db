"""Makes small faults in modules, one at a time, and counts how many the nearest tests notice.

    python tools/mutants.py vault_memory/index --count 20 --seed 1
    python tools/mutants.py vault_memory/index/store.py --tests tests/index

The faults are made in a copy of the project in a temporary folder; the work tree is never changed.
The nearest test files are those that name the module, the function and what else it defines most
often, among those that run the line with the fault, where any does.
A test run that fails, or takes too long, notices the fault. Deep tests are not run.
"""

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from tools import line_recorder  # noqa: E402

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "__pycache__", ".*_cache", ".hypothesis"
)
TIMEOUT_SECONDS = 300
NEAREST = 2
CANDIDATES = 10
"""So many test files are run once to see which lines of a module they reach"""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
REMOVABLE = ast.Expr | ast.Assign | ast.AugAssign | ast.Raise | ast.Continue | ast.Break


@dataclass(frozen=True)
class Mutant:
    """One fault: the node that it replaces, and what stands there instead."""

    path: Path
    node: ast.expr | ast.stmt
    replacement: str
    kind: str

    def text(self, source: str) -> str:
        """Returns the module with the fault; all other bytes stay."""
        raw = source.encode()
        starts = [0]
        for line in raw.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        begin = starts[self.node.lineno - 1] + self.node.col_offset
        end_line, end_column = self.node.end_lineno, self.node.end_col_offset
        assert end_line is not None
        assert end_column is not None
        end = starts[end_line - 1] + end_column
        return (raw[:begin] + self.replacement.encode() + raw[end:]).decode()


def find_mutants(path: Path) -> Iterator[Mutant]:
    """Yields every fault that can be made in the functions of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    nodes = {id(node): node for function in functions for node in _parts(function)}
    for node in nodes.values():
        for kind, changed in _faults(node):
            # In parentheses, so that an operator around it binds as before.
            text = changed if isinstance(node, ast.stmt) else f"({changed})"
            yield Mutant(path, node, text, kind)


def _parts(function: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yields what is in a function, but for annotations, f-strings, patterns and docstrings."""
    for name, value in ast.iter_fields(function):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.JoinedStr | ast.pattern) or _is_docstring(child):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            if isinstance(child, ast.AST):
                yield from _parts(child)


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _faults(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yields the kind and the text of each fault for a node."""
    changed = copy.deepcopy(node)
    if isinstance(changed, ast.Compare):
        changed.ops[0] = COMPARISONS[type(changed.ops[0])]()
        yield "comparison", ast.unparse(changed)
    elif isinstance(changed, ast.BoolOp):
        changed.op = ast.Or() if isinstance(changed.op, ast.And) else ast.And()
        yield "and/or", ast.unparse(changed)
    elif isinstance(changed, ast.UnaryOp) and isinstance(changed.op, ast.Not):
        yield "not", ast.unparse(changed.operand)
    elif isinstance(changed, ast.Constant):
        if isinstance(changed.value, bool):
            yield "constant", str(not changed.value)
        elif isinstance(changed.value, int):
            yield "constant", str(changed.value + 1)
    elif isinstance(changed, REMOVABLE):
        yield "removed", "pass"


def candidate_tests(module: Path, root: Path, line: int) -> list[Path]:
    """Returns the test files that mirror the module, name it and the function of the line, and use it most."""
    relative = module.relative_to(root).with_suffix("")
    dotted = ".".join(relative.parts).removesuffix(".__init__")
    stem = dotted.rpartition(".")[2]
    spellings = {stem, stem.replace("_", "-")}
    package = relative.parts[1:-1]
    definitions = [
        node
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    ]
    own_names = {node.name for node in definitions}
    functions = {
        node.name
        for node in definitions
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    }
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in sorted((root / "tests").rglob("test_*.py"))
    }
    words = {path: set(re.findall(r"\w+", text)) for path, text in texts.items()}
    files_with_name = Counter(
        name for file_words in words.values() for name in file_words & own_names
    )
    scores: Counter[Path] = Counter()
    for path, text in texts.items():
        folders = path.parent.relative_to(root / "tests").parts
        # A generic test, such as one of start-up times, names many modules once.
        scores[path] += 4 * (re.search(rf"\b{re.escape(dotted)}\b", text) is not None)
        # A name that many tests have, such as `open`, says little.
        scores[path] += sum(min(4, 20 // files_with_name[name]) for name in own_names & words[path])
        scores[path] += sum(min(8, 60 // files_with_name[name]) for name in functions & words[path])
        scores[path] += 3 * any(spelling in text for spelling in spellings)
        scores[path] += 8 * (stem in path.stem)
        scores[path] += 4 * (folders == package)
        scores[path] += 6 * (folders[:1] == package[:1])
        mentions = len(re.findall(rf"\b{re.escape(dotted.rpartition('.')[0])}\b", text))
        scores[path] += min(4, mentions)
    return [path for path, score in scores.most_common(CANDIDATES) if score]


@dataclass
class LinesRun:
    """Which lines of a module a test file runs, in the process of the tests."""

    root: Path
    _lines: dict[tuple[Path, Path], frozenset[int]] = field(default_factory=dict)

    def of(self, module: Path, test: Path) -> frozenset[int]:
        """Runs the test file once, and returns the numbers of the lines."""
        key = module, test
        if key not in self._lines:
            self._lines[key] = self._record(module, test)
        return self._lines[key]

    def _record(self, module: Path, test: Path) -> frozenset[int]:
        with tempfile.NamedTemporaryFile(prefix="lines-") as file:
            settings = {
                line_recorder.MODULE_VARIABLE: str(module),
                line_recorder.FILE_VARIABLE: file.name,
            }
            run_tests([test], self.root, settings, "-p", "tools.line_recorder")
            return frozenset(map(int, Path(file.name).read_text("ascii").split()))


def nearest_tests(mutant: Mutant, lines_run: LinesRun) -> list[Path]:
    """Returns the first two test files that run the line of the fault, else the first two."""
    candidates = candidate_tests(mutant.path, lines_run.root, mutant.node.lineno)
    end = mutant.node.end_lineno or mutant.node.lineno
    lines = range(mutant.node.lineno, end + 1)
    reaching = []
    for test in candidates:
        if not lines_run.of(mutant.path, test).isdisjoint(lines):
            reaching.append(test)
        if len(reaching) == NEAREST:
            return reaching
    others = [test for test in candidates if test not in reaching]
    return (reaching + others)[:NEAREST]


def environment_of(root: Path) -> dict[str, str]:
    """Returns the environment in which Python finds the package of the copy first."""
    return {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


def run_tests(tests: list[Path], root: Path, settings: dict[str, str], *options: str) -> int:
    """Runs test files in the copy. Returns the exit code, or 1 when they take too long."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        *options,
        *map(str, tests),
    ]
    try:
        result = subprocess.run(
            command,
            cwd=root,
            env=environment_of(root) | settings,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return 1
    return result.returncode


def notices(tests: list[Path], root: Path) -> bool:
    """Runs test files in the copy. Returns whether one of them fails."""
    return run_tests(tests, root, {}) != 0


def check_copy(root: Path) -> None:
    """Raises SystemExit when Python would import the package from elsewhere."""
    code = "import vault_memory; print(vault_memory.__file__)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=environment_of(root),
        capture_output=True,
        text=True,
    )
    if not result.stdout.startswith(str(root)):
        raise SystemExit(
            f"error: the tests would not run against the copy: {result.stdout.strip()}"
        )


def run(options: argparse.Namespace, root: Path) -> int:
    """Makes the faults in the copy, one after the other. Returns how many nobody noticed."""
    check_copy(root)
    package = root / options.package.resolve().relative_to(PROJECT)
    modules = [package] if package.is_file() else sorted(package.rglob("*.py"))
    mutants = [mutant for module in modules for mutant in find_mutants(module)]
    chosen = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))
    healthy: dict[tuple[Path, ...], bool] = {}
    lines_run = LinesRun(root)
    killed = survived = 0
    for mutant in chosen:
        source = mutant.path.read_text(encoding="utf-8")
        tests = [root / path for path in options.tests or []] or nearest_tests(mutant, lines_run)
        key = tuple(tests)
        if key not in healthy:
            healthy[key] = bool(tests) and not notices(tests, root)
        place = f"{mutant.path.relative_to(root)}:{mutant.node.lineno}"
        if not healthy[key]:
            print(f"skipped   {place}: its tests fail without a fault", flush=True)
            continue
        try:
            mutant.path.write_text(mutant.text(source), encoding="utf-8")
            is_killed = notices(tests, root)
        finally:
            mutant.path.write_text(source, encoding="utf-8")
        killed += is_killed
        survived += not is_killed
        verdict = "killed  " if is_killed else "SURVIVED"
        change = f"{ast.unparse(mutant.node)} → {mutant.replacement}".replace("\n", " ")
        names = ", ".join(str(path.relative_to(root)) for path in tests)
        print(f"{verdict}  {place} [{mutant.kind}] {change:.120} ({names})", flush=True)
    total = killed + survived
    print(f"{killed} of {total} killed" + (f", {100 * killed / total:.0f} %" if total else ""))
    return survived


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", type=Path, help="a folder of modules, or one module")
    parser.add_argument("--count", type=int, default=20, help="how many faults (default: 20)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default: 1)")
    parser.add_argument("--tests", type=Path, nargs="+", help="run these in place of the nearest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder).resolve() / PROJECT.name
        shutil.copytree(PROJECT, root, ignore=NOT_COPIED, symlinks=True)
        run(options, root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
