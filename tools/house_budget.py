"""Holds each room of the package to a budget of syntax nodes that only gets smaller.

    python tools/house_budget.py                     print the nodes and the budget of each room
    python tools/house_budget.py --check             fail when a room is above its budget
    python tools/house_budget.py --tighten           write smaller figures into the table
    python tools/house_budget.py --move SOURCE ROOM  let a room use what another room gave up

A node is a statement or an expression of the syntax tree: neither air nor packing changes it.
A room is a folder or a module directly below the package; each add-on is a room of its own.
A room without a line in the table has no budget: `--move` gives it one.
"""

import argparse
import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_suffix(".toml")
ADDONS = "addons"
HEAD = """\
# The syntax nodes that each room of vault_memory may have. `make check` fails when a room has more.
# `python tools/house_budget.py --tighten` writes smaller figures; it never writes a larger one.

[nodes]
"""


def count_nodes(package: Path) -> Counter[str]:
    """Counts the statements and expressions of each room."""
    nodes: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        depth = 2 if parts[0] == ADDONS and len(parts) > 2 else 1
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes["/".join(parts[:depth])] += sum(
            isinstance(node, ast.stmt | ast.expr) for node in ast.walk(tree)
        )
    return nodes


def read_table(path: Path) -> dict[str, int]:
    """Reads the budgets. Raises OSError, tomllib.TOMLDecodeError."""
    budgets: dict[str, int] = tomllib.loads(path.read_text(encoding="utf-8"))["nodes"]
    return budgets


def write_table(path: Path, budgets: dict[str, int]) -> None:
    lines = (f'"{room}" = {nodes}\n' for room, nodes in sorted(budgets.items()))
    path.write_text(HEAD + "".join(lines), encoding="utf-8")


def check(nodes: Counter[str], budgets: dict[str, int]) -> int:
    """Prints the rooms that differ from their budgets. Returns 1 when one has more."""
    above = {room for room in nodes if nodes[room] > budgets.get(room, 0)}
    if any(nodes[room] < budget for room, budget in budgets.items()):
        print("hint: keep what was saved: python tools/house_budget.py --tighten")
    for room in sorted(above):
        message = f"{room}: {nodes[room]} nodes, and its budget is"
        print(f"error: {message} {budgets.get(room, 0)}", file=sys.stderr)
    if above:
        print(
            "hint: remove what nobody would miss, or let a room use what another room gave up: "
            "python tools/house_budget.py --move SOURCE ROOM",
            file=sys.stderr,
        )
    return 1 if above else 0


def move(
    nodes: Counter[str], budgets: dict[str, int], source: str, target: str
) -> dict[str, int] | None:
    """Returns budgets in which two rooms together have no more; None when they need more."""
    both = budgets.get(source, 0) + budgets.get(target, 0)
    if nodes[source] + nodes[target] > both:
        return None
    return budgets | {source: nodes[source], target: nodes[target]}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", type=Path, nargs="?", default=PROJECT / "vault_memory")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tighten", action="store_true")
    parser.add_argument("--move", nargs=2, metavar=("SOURCE", "ROOM"))
    options = parser.parse_args(arguments)

    nodes = count_nodes(options.package)
    budgets = read_table(options.table) if options.table.exists() else dict(nodes)
    if options.check:
        return check(nodes, budgets)
    if options.move:
        moved = move(nodes, budgets, *options.move)
        if moved is None:
            rooms = " and ".join(options.move)
            print(f"error: {rooms} have more nodes than both budgets", file=sys.stderr)
            return 1
        write_table(options.table, moved)
    elif options.tighten:
        smaller = {room: min(nodes[room], budgets[room]) for room in budgets}
        write_table(options.table, {room: count for room, count in smaller.items() if count})
    else:
        for room, count in [("all", nodes.total()), *nodes.most_common()]:
            budget = sum(budgets.values()) if room == "all" else budgets.get(room, 0)
            print(f"{count:8} {budget:8}  {room}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
