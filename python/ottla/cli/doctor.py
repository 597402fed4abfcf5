"""``ottla doctor``: check the connections to a cluster, and report each failure with its fix."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any, TypedDict

from ottla.cli.options import add_cluster, add_json, configuration, style
from ottla.cli.output import print_json
from ottla.doctor import Facts, diagnose
from ottla.doctor.findings import EXIT_CODES, Finding
from ottla.doctor.render import render
from ottla.doctor.report import Report
from ottla.errors import ConfigError

_CODES = ", ".join(f"{code} {phase}" for phase, code in EXIT_CODES.items())


class DoctorReport(TypedDict):
    """What ``ottla doctor`` found.

    Attributes:
        ok: whether there is no error.
        exit_code: the exit code of the command.
        findings: the conclusions, errors first.
        facts: the results of the checks, as ``Report.to_dict()`` returns them.
    """

    ok: bool
    exit_code: int
    findings: list[Finding]
    facts: Facts


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "doctor",
        help="check every step of every connection, and explain failures",
        description="Check every bootstrap server and every broker step by step, as a client "
        "connects, and report each failure with its cause and its fix. Nothing is written to the "
        "cluster.",
        epilog=f"Exit code: 0 without errors, or that of the first phase with an error: {_CODES}.",
    )
    add_cluster(parser)
    parser.add_argument("--topic", "-t", help="check all partitions of this topic")
    parser.add_argument("--group", "-g", help="check the coordinator of this group")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for all checks (20)")
    parser.add_argument("--all", "-a", action="store_true", help="show every step of every broker")
    add_json(parser, "print the report as JSON")
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="also write the report as one HTML file; '-' writes only the HTML, to standard output",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the checks, print the report, and return its exit code."""
    file: Path | None = arguments.html
    to_output = file is not None and str(file) == "-"
    if to_output and arguments.json:
        raise ConfigError("--html - and --json exclude each other: both use standard output")
    if file is not None and not to_output:
        _check_file(file)
    report = diagnose(
        config=configuration(arguments),
        topic=arguments.topic,
        group=arguments.group,
        timeout=arguments.timeout,
    )
    if to_output:
        # Use the encoding that the document declares, whatever the terminal's encoding is.
        sys.stdout.flush()
        sys.stdout.buffer.write(report.to_html().encode())
        sys.stdout.buffer.flush()
    elif arguments.json:
        print_json(report.to_dict())
    else:
        verbose = dataclasses.replace(style(), verbose=arguments.all)
        print(render(report.facts, report.findings, verbose))
    if file is not None and not to_output:
        _write(file, report)
    return report.exit_code


def _check_file(file: Path) -> None:
    """Refuse a file that cannot be written, before the lengthy checks begin."""
    try:
        is_directory, has_directory = file.is_dir(), file.parent.is_dir()
    except OSError as error:
        raise ConfigError(f"--html {file}: {error.strerror}") from error
    if is_directory:
        raise ConfigError(f"--html {file}: this is a directory, expected the name of a file")
    if not has_directory:
        raise ConfigError(f"--html {file}: the directory {file.parent} does not exist")


def _write(file: Path, report: Report) -> None:
    try:
        file.write_text(report.to_html(), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--html {file}: {error.strerror}") from error
