"""Measures how the code reads, and holds the figures to a table that only gets stricter.

    python tools/code_style.py                       print the figures of vault_memory
    python tools/code_style.py --worst N             also print N places for each figure
    python tools/code_style.py --by package          one line for each package, or for each file
    python tools/code_style.py --check               fail when a figure is worse than in the table
    python tools/code_style.py --tighten             write better figures into the table

Every figure is better when it is lower, except the share of comment lines.
"""

import argparse
import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from module_style import ModuleStyle, read_package
from package_structure import (
    class_sizes,
    facade_size,
    flat_sizes,
    import_graph,
    largest_cycle,
    repeated_classes,
    repeated_stems,
)

PROJECT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_suffix(".toml")

MAX_COMPLEXITY = 10
MAX_PARAMETERS = 6
HIGHER_IS_BETTER = frozenset({"comment_lines_percent"})
NOT_LIMITED = frozenset({"modules", "code_lines"})
MARGIN = 0.03
"""A figure that is better than the table by more than this share should be written into it"""
SMALLEST_MODULE = 20
"""Shorter modules, in code lines, are left out of the lists of the worst"""

Figures = dict[str, float]


def style_figures(modules: list[ModuleStyle]) -> Figures:
    """Returns the figures that are sums over modules."""
    functions = [function for module in modules for function in module.functions]
    code = sum(module.code_lines for module in modules) or 1
    names = sum(module.names for module in modules) or 1
    words = sum(module.docstring_words for module in modules) or 1
    complex_functions = sum(function.complexity > MAX_COMPLEXITY for function in functions)
    vague = sum(module.vague.total() for module in modules)
    archaic = sum(module.archaic.total() for module in modules)
    return {
        "modules": len(modules),
        "code_lines": code,
        "functions_above_complexity_10_percent": _share(complex_functions, len(functions) or 1),
        "functions_above_6_parameters": sum(
            function.parameters > MAX_PARAMETERS for function in functions
        ),
        "lines_above_100_columns": sum(module.long_lines for module in modules),
        "fmt_skip": sum(module.format_skips for module in modules),
        "vague_names_percent": _share(vague, names),
        "archaic_per_1000_docstring_words": round(1000 * archaic / words, 2),
        "comment_lines_percent": _share(sum(module.comment_lines for module in modules), code),
        "own_imports_inside_functions": sum(module.local_imports for module in modules),
    }


def _share(count: int, total: int) -> float:
    return round(100 * count / total, 2)


def structure_figures(modules: list[ModuleStyle]) -> Figures:
    """Returns the figures of names and imports, which need the whole package."""
    methods, public = facade_size(modules)
    return {
        "module_stems_used_twice": len(repeated_stems(modules)),
        "class_names_used_twice": len(repeated_classes(modules)),
        "largest_import_cycle": len(largest_cycle(import_graph(modules))),
        "most_modules_in_one_package": max(flat_sizes(modules).values(), default=0),
        "facade_methods": methods,
        "facade_public_names": public,
        "most_methods_in_a_class": max(class_sizes(modules).values(), default=0),
    }


# --- The table --------------------------------------------------------------------------------


def read_table(path: Path) -> Figures:
    """Reads the figures that must be kept. Raises OSError, tomllib.TOMLDecodeError."""
    table: Figures = tomllib.loads(path.read_text(encoding="utf-8"))["figures"]
    return table


def is_worse(name: str, value: float, limit: float) -> bool:
    """Tells whether a figure breaks its limit. An equal figure keeps it."""
    return value < limit if name in HIGHER_IS_BETTER else value > limit


def compare(figures: Figures, table: Figures) -> tuple[list[str], list[str]]:
    """Returns a line for each figure that is worse than the table, and for each much better one."""
    worse, better = [], []
    for name, limit in table.items():
        value = figures[name]
        if is_worse(name, value, limit):
            worse.append(f"{name}: {value:g}, and the table allows {limit:g}")
        elif abs(value - limit) > MARGIN * max(abs(limit), 1):
            better.append(f"{name}: {value:g} is better than {limit:g}")
    return worse, better


def tightened(figures: Figures, table: Figures) -> Figures:
    """Returns the stricter of the measured figure and the table, for each figure."""
    strict = {name: value for name, value in figures.items() if name not in NOT_LIMITED}
    for name, limit in table.items():
        if name in strict and is_worse(name, strict[name], limit):
            strict[name] = limit
    return strict


def table_text(figures: Figures) -> str:
    """Returns the table as TOML."""
    head = (
        "# The figures of how vault_memory reads. `make check` fails when a figure gets worse.\n"
        "# `python tools/code_style.py --tighten` writes better figures; it never loosens one.\n\n"
        "[figures]\n"
    )
    return head + "".join(f"{name} = {value:g}\n" for name, value in figures.items())


def check(figures: Figures, path: Path) -> int:
    """Prints how the figures compare with the table. Returns 1 when one is worse."""
    worse, better = compare(figures, read_table(path))
    for line in better:
        print(line)
    if better:
        print("hint: keep it so: python tools/code_style.py --tighten")
    for line in worse:
        print(f"error: {line}", file=sys.stderr)
    if worse:
        print("hint: find the places: python tools/code_style.py --worst 10", file=sys.stderr)
    return 1 if worse else 0


# --- Output -----------------------------------------------------------------------------------


def print_groups(modules: list[ModuleStyle], folder: Path, by: str) -> None:
    """Prints the main figures of each file or package, the longest first."""
    groups: dict[str, list[ModuleStyle]] = defaultdict(list)
    for module in modules:
        place = module.path if by == "file" else module.path.parent
        groups[str(place.relative_to(folder.parent))].append(module)
    print("  code  complex  vague%  archaic  local imports")
    for name, group in sorted(groups.items(), key=lambda item: -_code(item[1])):
        figures = style_figures(group)
        print(
            f"{figures['code_lines']:6.0f}"
            f"{figures['functions_above_complexity_10_percent']:9.1f}"
            f"{figures['vague_names_percent']:8.1f}"
            f"{figures['archaic_per_1000_docstring_words']:9.1f}"
            f"{figures['own_imports_inside_functions']:15.0f}  {name}"
        )


def _code(modules: Iterable[ModuleStyle]) -> int:
    return sum(module.code_lines for module in modules)


def print_worst(modules: list[ModuleStyle], count: int) -> None:
    """Prints the places that pull each figure most."""
    long_enough = [module for module in modules if module.code_lines >= SMALLEST_MODULE]

    def rank(title: str, key: Callable[[ModuleStyle], float], words: str | None = None) -> None:
        print(f"\n{title}")
        for module in sorted(long_enough, key=key, reverse=True)[:count]:
            if key(module):
                detail = dict(getattr(module, words).most_common(6)) if words else ""
                print(f"  {key(module):6.1f}  {module.path} {detail}")

    rank("Lines over 100 columns:", lambda module: module.long_lines)
    rank("`fmt: skip`:", lambda module: module.format_skips)
    rank("Vague names:", lambda module: module.vague.total(), "vague")
    rank("Archaic words in docstrings:", lambda module: module.archaic.total(), "archaic")
    rank("Own imports inside functions:", lambda module: module.local_imports)
    functions = [(function, module) for module in modules for function in module.functions]
    print("\nComplex functions:")
    for function, module in sorted(functions, key=lambda pair: -pair[0].complexity)[:count]:
        print(f"  {function.complexity:6}  {module.path}:{function.line} {function.name}")
    print("\nFunctions with many parameters:")
    for function, module in sorted(functions, key=lambda pair: -pair[0].parameters)[:count]:
        print(f"  {function.parameters:6}  {module.path}:{function.line} {function.name}")
    print_structure(modules, count)


def print_structure(modules: list[ModuleStyle], count: int) -> None:
    """Prints repeated names, the largest cycle, and the largest packages and classes."""
    for title, places in (
        ("Module stems", repeated_stems(modules)),
        ("Class names", repeated_classes(modules)),
    ):
        print(f"\n{title} used in several places:")
        for name, homes in sorted(places.items(), key=lambda item: -len(item[1]))[:count]:
            print(f"  {len(homes):6}  {name}: {', '.join(homes)}")
    print("\nThe largest import cycle:")
    for name in largest_cycle(import_graph(modules)):
        print(f"          {name}")
    print("\nModules flat in one package, methods in one class:")
    for sizes in (flat_sizes(modules), class_sizes(modules)):
        for name, size in sizes.most_common(count):
            print(f"  {size:6}  {name}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", type=Path, nargs="?", default=PROJECT / "vault_memory")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="list N places")
    parser.add_argument("--by", choices=("package", "file"), help="one line for each")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--table", type=Path, default=TABLE, help=f"default: {TABLE.name}")
    parser.add_argument("--check", action="store_true", help="compare with the table")
    parser.add_argument("--tighten", action="store_true", help="write better figures")
    options = parser.parse_args(arguments)

    modules = read_package(options.package)
    figures = style_figures(modules) | structure_figures(modules)
    if options.check:
        return check(figures, options.table)
    if options.tighten:
        table = read_table(options.table) if options.table.exists() else {}
        options.table.write_text(table_text(tightened(figures, table)), encoding="utf-8")
    elif options.json:
        print(json.dumps(figures))
    elif options.by:
        print_groups(modules, options.package, options.by)
    else:
        for name, value in figures.items():
            print(f"{name:40} {value:g}")
    if options.worst:
        print_worst(modules, options.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())
