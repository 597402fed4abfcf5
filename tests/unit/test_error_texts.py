"""No text that leaves the process contains the debug output of an error.

A library's ``Debug`` output, and the ``repr`` of a Python exception, may quote all of the input
that could not be read: a private key, or a record. Texts contain an error's message instead.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.jars import REPOSITORY

MACRO = re.compile(
    r"\b(?:format|format_args|write|writeln|print|println|eprintln|panic|assert\w*|unreachable|bail"
    r"|trace|debug|info|warn|error|event)!\s*\(|#\[error\("
)
# A string, which may contain brackets, or a character; lifetimes have no closing quote.
LITERAL = re.compile(
    r'r#"(?P<raw>.*?)"#|"(?P<text>(?:[^"\\]|\\.)*)"|\'(?:[^\'\\]|\\.[^\']*)\'', re.DOTALL
)
PLACEHOLDER = re.compile(r"\{(?P<name>\w*):[^{}]*\?\}")
# The fields of an event that are printed by Debug: `?name`, `name = ?value`.
FIELD = re.compile(r"(?:^|[,(=]\s*)\?(?P<name>[\w.]+)")
ERRORS = re.compile(
    r"\b(?:e|err|errors?|\w+_err(?:or)?|cause|source|why|reason|failed|failures?|ended|result|outcome|inner)\b"
)


def rust_files() -> list[Path]:
    """Return the sources of the engine, without tests."""
    found = (REPOSITORY / "rust").glob("*/src/**/*.rs")
    return [
        path for path in sorted(found) if "tests" not in path.stem and "tests" not in path.parts
    ]


def without_tests(source: str) -> str:
    """Return a source without its comments and its module of tests."""
    source = re.split(r"^#\[cfg\((?:all\()?test\b", source, maxsplit=1, flags=re.MULTILINE)[0]
    return re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)


def calls(source: str) -> list[tuple[str, str]]:
    """Return each call of a macro that makes text: its strings, and its other arguments."""
    found = []
    for match in MACRO.finditer(source):
        depth, at, strings, rest = 1, match.end(), [], []
        while depth and at < len(source):
            if literal := LITERAL.match(source, at):
                strings.append(literal["text"] or literal["raw"] or "")
                rest.append('""')
                at = literal.end()
                continue
            depth += {"(": 1, ")": -1}.get(source[at], 0)
            rest.append(source[at])
            at += 1
        found.append((" ".join(strings), "".join(rest)))
    return found


def debugged_errors(source: str) -> list[str]:
    """Return the names of errors that a Rust source prints by their Debug output."""
    found = []
    for strings, arguments in calls(without_tests(source)):
        for placeholder in PLACEHOLDER.finditer(strings):
            name = placeholder["name"]
            # Without a name, it may be any of the arguments.
            found += ERRORS.findall(name if name and not name.isdigit() else arguments)
        for field in FIELD.finditer(arguments):
            found += ERRORS.findall(field["name"].rpartition(".")[2])
    return found


def test_rust_prints_no_error_by_debug() -> None:
    found = {
        str(path.relative_to(REPOSITORY)): names
        for path in rust_files()
        if (names := debugged_errors(path.read_text()))
    }
    assert found == {}


def test_the_check_finds_what_it_looks_for() -> None:
    for text in (
        'format!("damaged: {error:?}")',
        'format!("damaged: {error:#?}")',
        'format!("{key}: {:?}", parse(text).unwrap_err())',
        'Err(invalid(format!("{}: {:?}", "(", error)))',
        'tracing::warn!(target: "x", ?error, "the files cannot be used")',
        'tracing::warn!(target: "x", why = ?error, "the files cannot be used")',
        '#[error("no certificate: {source:?}")]',
        'write!(f, r#"{failure:?}"#)',
    ):
        assert debugged_errors(text), text
    for text in (
        'format!("{name:?} is unknown: {error}")',
        'format!("{:?}: {error}", self.kind)',
        'tracing::warn!(files = ?self.files, %error, "cannot be used")',
        '// format!("{error:?}")',
    ):
        assert not debugged_errors(text), text


def exceptions_by_repr(tree: ast.AST) -> list[int]:
    """Return the lines where a text contains the repr of an exception."""
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    names = {name for name in caught if name} | {"error", "exception", "cause", "exc"}

    def is_exception(node: ast.expr) -> bool:
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        return name.lstrip("_") in names

    found = []
    for node in ast.walk(tree):
        match node:
            case ast.FormattedValue(value=value, conversion=114) if is_exception(value):
                found.append(node.lineno)
            case ast.Call(func=ast.Name(id="repr"), args=[value]) if is_exception(value):
                found.append(node.lineno)
    return found


def test_python_prints_no_exception_by_repr() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for path in sorted((REPOSITORY / "python").rglob("*.py"))
        for line in exceptions_by_repr(ast.parse(path.read_text()))
    ]
    assert found == []
    assert exceptions_by_repr(ast.parse('f"{self._error!r}"')) == [1]
    assert exceptions_by_repr(ast.parse("repr(error)")) == [1]
