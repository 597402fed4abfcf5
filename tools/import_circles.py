"""Lists the import circles of each Rust crate and of the Python package, by file and by folder.

A circle between a module and its own parent or child is allowed, since they form one unit. An
import through a re-export (`pub use`) counts as an import of the module that defines the name, so a
facade such as `requests/mod.rs` adds no circle. Any other circle fails the check unless `ALLOWED`
gives a reason, and so does an entry of `ALLOWED` that is no longer a circle.

The top folders of a crate or package form a ladder: a folder imports only those below it. A module
directly below the root counts as a folder.

    tools/import_circles.py            check, as `make check` does
    tools/import_circles.py --graph    also print every import
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ("protocol", "arrow", "gssapi", "schema", "client", "mock", "capsules", "python")

# The allowed circles, each as its modules or folders in order, with the reason.
ALLOWED: dict[tuple[str, ...], str] = {
    ("client/", "http", "security"): "OAUTHBEARER gets its tokens from an endpoint over HTTPS",
}

Graph = dict[str, set[str]]

COMMENTS_AND_STRINGS = re.compile(
    r'//[^\n]*|/\*.*?\*/|r#*"(?:.|\n)*?"#*|"(?:\\.|[^"\\])*"', re.DOTALL
)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub )?mod \w+ *\{.*", re.DOTALL)
USE = re.compile(r"(?P<pub>pub(?:\([^)]*\))?\s+)?\buse\s+(?P<tree>[^;]+);")
PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod (\w+);", re.MULTILINE)


def expand(tree: str) -> Iterator[tuple[str, str]]:
    """Yield each path of a use tree with its name: `a::{b, c as d}` -> (a::b, b), (a::c, d)."""
    tree = tree.strip()
    if "{" not in tree:
        path, _, alias = tree.partition(" as ")
        path = path.strip().removesuffix("::self")
        yield path, alias.strip() or path.rsplit("::", 1)[-1]
        return
    prefix, rest = tree.split("{", 1)
    depth, part = 0, ""
    for char in rest[: rest.rindex("}")] + ",":
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            if part.strip():
                yield from expand(prefix + part.strip())
            part = ""
        else:
            part += char


class Crate:
    """The modules of one crate, by path within it ("" is lib.rs), and the names in each."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.source = ROOT / "rust" / name / "src"
        self.texts = {
            self.module_of(path): TESTS.sub("", COMMENTS_AND_STRINGS.sub(" ", path.read_text()))
            for path in sorted(self.source.rglob("*.rs"))
            if path.name != "tests.rs"
        }
        self.names: dict[str, dict[str, str]] = {}
        for module, text in self.texts.items():
            names = {m: self.join(module, m) for m in MODULE.findall(text)}
            for use in USE.finditer(text):
                names |= {alias: self.absolute(module, path) for path, alias in expand(use["tree"])}
            self.names[module] = names

    def module_of(self, path: Path) -> str:
        parts = list(path.relative_to(self.source).with_suffix("").parts)
        if parts[-1] in ("mod", "lib"):
            parts.pop()
        return "::".join(parts)

    @staticmethod
    def join(module: str, name: str) -> str:
        return f"{module}::{name}" if module else name

    def absolute(self, module: str, path: str) -> str:
        """Return `path` of `module` from the crate's root; `::path` if of another crate."""
        first, _, rest = path.partition("::")
        if first == "crate":
            return rest
        if first == "self":
            return self.join(module, rest)
        if first == "super":
            parent = "::".join(module.split("::")[:-1])
            return self.absolute(parent, f"self::{rest}" if rest else "self")
        child = self.join(module, first)
        return self.join(module, path) if child in self.texts else f"::{path}"

    def defining(self, path: str, seen: frozenset[str] = frozenset()) -> str | None:
        """Return the module that defines `path`, through re-exports; None if in another crate."""
        if path.startswith("::") or path in seen:
            return None
        parts, module = path.split("::"), ""
        while parts and self.join(module, parts[0]) in self.texts:
            module = self.join(module, parts.pop(0))
        if parts and (target := self.names[module].get(parts[0])) is not None:
            return self.defining("::".join([target, *parts[1:]]), seen | {path})
        return module

    def graph(self) -> Graph:
        graph: Graph = {}
        for module, text in self.texts.items():
            uses = [use["tree"] for use in USE.finditer(text) if not use["pub"]]
            used = {path for tree in uses for path, _ in expand(tree)}
            used |= set(PATH.findall(USE.sub(" ", text)))
            # `child::name`, as a parent may write it.
            children = [m for m in self.texts if m.rpartition("::")[0] == module and m]
            for child in children:
                name = child.rsplit("::", 1)[-1]
                used |= set(re.findall(rf"(?<![\w:])({name}::\w+)", USE.sub(" ", text)))
            targets = {self.defining(self.absolute(module, path)) for path in used}
            graph[module] = {t for t in targets if t is not None and t != module}
        return graph


def python_graph(package: Path) -> Graph:
    """Return the imports of a package's modules, including those in functions.

    Imports under `TYPE_CHECKING` do not count.
    """
    modules = {
        ".".join(p.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): p
        for p in sorted(package.rglob("*.py"))
    }
    graph: Graph = {}
    for module, path in modules.items():
        here = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
        targets: set[str] = set()
        tree = ast.parse(path.read_text())
        typing_only = {
            inner
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for part in node.body
            for inner in ast.walk(part)
        }
        for node in ast.walk(tree):
            if node in typing_only:
                continue
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = here[: len(here) - node.level + 1] if node.level else []
                base = base + (node.module.split(".") if node.module else [])
                for alias in node.names:
                    full = ".".join([*base, alias.name])
                    targets.add(full if full in modules else ".".join(base))
        graph[module] = {t for t in targets if t in modules and t != module}
    return graph


def folder_graph(graph: Graph, separator: str) -> Graph:
    """Return the imports between the top folders of a crate; its root is none of them."""
    # The name of the Python package is the first part of all its modules.
    depth = 1 if separator == "." else 0

    def top(module: str) -> str:
        return "".join(module.split(separator)[depth : depth + 1])

    folders: Graph = {}
    for module, targets in graph.items():
        others = {top(target) for target in targets} - {top(module), ""}
        if top(module):
            folders.setdefault(top(module), set()).update(others)
    return folders


def related(one: str, other: str, separator: str) -> bool:
    """Return whether one module contains the other."""
    first, second = (name + separator if name else "" for name in (one, other))
    return first.startswith(second) or second.startswith(first)


def circles(graph: Graph, separator: str) -> list[tuple[str, ...]]:
    """Return the shortest circle through each module that imports itself indirectly."""
    edges = {a: {b for b in bs if not related(a, b, separator)} for a, bs in graph.items()}
    found: set[tuple[str, ...]] = set()
    for start in sorted(edges):
        queue, before = [start], {start: ""}
        while queue:
            at = queue.pop(0)
            if start in edges.get(at, ()):
                circle = [at]
                while circle[0] != start:
                    circle.insert(0, before[circle[0]])
                least = circle.index(min(circle))
                found.add(tuple(circle[least:] + circle[:least]))
                break
            for following in sorted(edges.get(at, ())):
                if following not in before:
                    before[following] = at
                    queue.append(following)
    return sorted(found)


def main() -> int:
    graphs = [(name, Crate(name).graph(), "::") for name in CRATES]
    graphs.append(("ottla", python_graph(ROOT / "python/ottla"), "."))
    graphs += [
        (f"{name}/", folder_graph(graph, separator), separator) for name, graph, separator in graphs
    ]
    failed, seen = False, set()
    for name, graph, separator in graphs:
        if "--graph" in sys.argv:
            for module, targets in graph.items():
                named = ", ".join(target or "lib" for target in sorted(targets))
                print(f"{name}: {module or 'lib'} -> {named}")
        for circle in circles(graph, separator):
            key = (name, *circle)
            seen.add(key)
            reason = ALLOWED.get(key)
            failed |= reason is None
            path = " -> ".join((*circle, circle[0]))
            print(f"{name}: {path}" + (f"  (allowed: {reason})" if reason else ""))
    for key in ALLOWED.keys() - seen:
        failed = True
        print(f"no longer a circle, remove it from ALLOWED: {key}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
