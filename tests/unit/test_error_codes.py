"""Error codes in the Python package: by name only, and what follows from them by Rust's table.

Invariant: no file of the package compares an error code with a number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla._core import error_codes, proves_no_change, repetition_of
from ottla.errors import ErrorCode

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "ottla"
CODES = {"code", "error_code"}


def bare_numbers(source: str) -> Iterator[str]:
    """Yield each expression that has a number, or a constant that is one, for an error code."""
    tree = ast.parse(source)
    constants = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value and _has_number(node.value)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            found = any(map(_is_code, sides)) and any(_is_number(s, constants) for s in sides)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            of_code = name in {"error_of_code", "repetition_of", "proves_no_change"}
            numbers = [argument for argument in node.args[:1] if of_code]
            numbers += [k.value for k in node.keywords if k.arg in CODES]
            found = any(_is_number(number, constants) for number in numbers)
        elif isinstance(node, ast.Match):
            found = _is_code(node.subject) and any(
                isinstance(value, ast.MatchValue) and _is_number(value.value, constants)
                for case in node.cases
                for value in ast.walk(case.pattern)
            )
        else:
            continue
        if found:
            yield ast.unparse(node)


def _is_code(node: ast.expr) -> bool:
    """Return whether an expression is ``code``, ``x.error_code``, ``x["error_code"]`` …"""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in CODES
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name in CODES
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name in CODES
    return False


def _has_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return _has_number(operand)
        case ast.Set(elts=items) | ast.Tuple(elts=items) | ast.List(elts=items):
            return any(map(_has_number, items))
        case ast.Call(args=args):
            return any(map(_has_number, args))
    return False


def _is_number(node: ast.expr, constants: set[str]) -> bool:
    return _has_number(node) or (isinstance(node, ast.Name) and node.id in constants)


@pytest.mark.parametrize(
    "source",
    [
        "error.code == 3",
        "body['error_code'] != -1",
        "body.get('error_code') in (3, 5)",
        "UNKNOWN = 3\nx = error.code == UNKNOWN",
        "PASSING = frozenset({3, 5})\nx = code in PASSING",
        "error_of_code(47)",
        "failed(code=47)",
        "match error.code:\n    case 3 | 5:\n        pass",
    ],
)
def test_the_check_finds(source: str) -> None:
    assert list(bare_numbers(source))


def test_no_code_is_a_bare_number() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}: {expression}"
        for path in PACKAGE.rglob("*.py")
        # The layers for programs of other clients have those clients' numbers.
        if path.relative_to(PACKAGE).parts[0] != "compat"
        for expression in bare_numbers(path.read_text())
    }
    assert not found, "use ottla.errors.ErrorCode"


def test_names_are_those_of_the_engine() -> None:
    assert [(code.name, code.value) for code in ErrorCode] == error_codes()


def test_repetition_and_proofs_are_those_of_the_engine() -> None:
    assert repetition_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) == "propagation"
    assert repetition_of(ErrorCode.NOT_CONTROLLER) == "always"
    assert not proves_no_change(ErrorCode.NOT_CONTROLLER)
    assert repetition_of(ErrorCode.UNKNOWN_SERVER_ERROR) == "passing"
    assert repetition_of(ErrorCode.TOPIC_AUTHORIZATION_FAILED) == "never"
    # A code that no release has yet.
    assert repetition_of(32_000) == "never"
