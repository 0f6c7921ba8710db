"""Counts what a package repeats or entangles: file names, class names, imports, large classes."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from module_style import Function, ModuleStyle

FACADE = "VaultMemory"
"""The public class whose methods are counted, those of its base classes included"""


def repeated_stems(modules: list[ModuleStyle]) -> dict[str, list[str]]:
    """Returns the file names that more than one package has, with their modules."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        if not module.path.name.startswith("__"):
            places[module.path.stem].append(module.name)
    return {stem: names for stem, names in sorted(places.items()) if len(names) > 1}


def repeated_classes(modules: list[ModuleStyle]) -> dict[str, list[str]]:
    """Returns the class names that more than one module defines, with their modules."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for name in {node.name for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}:
            places[name].append(module.name)
    return {name: homes for name, homes in sorted(places.items()) if len(homes) > 1}


def flat_sizes(modules: list[ModuleStyle]) -> Counter[str]:
    """Counts the modules that lie directly in each package, `__init__` and the like left out."""
    return Counter(
        module.name.rpartition(".")[0]
        for module in modules
        if not module.path.name.startswith("__")
    )


def class_sizes(modules: list[ModuleStyle]) -> Counter[str]:
    """Counts the methods that each class defines itself."""
    sizes: Counter[str] = Counter()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                sizes[f"{module.name}.{node.name}"] = len(_methods(node))
    return sizes


def _methods(node: ast.ClassDef) -> set[str]:
    return {statement.name for statement in node.body if isinstance(statement, Function)}


def facade_size(modules: list[ModuleStyle]) -> tuple[int, int]:
    """Counts the methods of the public class and of its bases: all of them, and the public ones."""
    classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(node)
    methods = 0
    public: set[str] = set()
    waiting, seen = [FACADE], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in classes.get(name, []):
            own = _methods(node)
            methods += len(own)
            public |= {method for method in own if not method.startswith("_")}
            waiting += [base.id for base in node.bases if isinstance(base, ast.Name)]
    return methods, len(public)


# --- The graph of imports ---------------------------------------------------------------------


def import_graph(modules: list[ModuleStyle]) -> dict[str, set[str]]:
    """Returns which module names which, imports in functions and for type checkers included.

    `from a.b import C` counts as an import of `a.b.C` where that is a module, and of `a.b` else.
    """
    names = {module.name for module in modules}
    graph: dict[str, set[str]] = {}
    for module in modules:
        targets: set[str] = set()
        for node in ast.walk(module.tree):
            targets.update(target for target in _targets(node, module, names) if target in names)
        graph[module.name] = targets - {module.name}
    return graph


def _targets(node: ast.AST, module: ModuleStyle, names: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        source = _absolute(node, module)
        for alias in node.names:
            submodule = f"{source}.{alias.name}"
            yield submodule if submodule in names else source


def _absolute(node: ast.ImportFrom, module: ModuleStyle) -> str:
    """Returns the dotted name of what a relative import starts from."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    depth = len(parts) - node.level + module.is_package
    return ".".join([*parts[:depth], *([node.module] if node.module else [])])


def largest_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Returns the largest set of modules that all reach one another; empty without a cycle."""
    reachable = {name: _reach(graph, name) for name in graph}
    largest: list[str] = []
    for name in graph:
        circle = [other for other in reachable[name] if name in reachable[other]]
        if len(circle) > len(largest):
            largest = sorted(circle)
    return largest


def _reach(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached
