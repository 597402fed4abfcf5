"""The option `--clients`, which selects the clients that are compared at their defaults."""

from __future__ import annotations

import argparse

from benches.peers import go_program, runner

CLIENTS = ("ottla", "confluent-kafka", "Java", "franz-go")


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the option `--clients`."""
    parser.add_argument(
        "--clients", type=_clients, default=list(CLIENTS), help=f"any of {','.join(CLIENTS)}"
    )


def prepare(clients: list[str]) -> None:
    """Build compiled clients, so that a missing tool is reported before brokers start."""
    if "franz-go" in clients:
        go_program.program()


def _clients(text: str) -> list[str]:
    chosen = runner.parse_names(text)
    unknown = [name for name in chosen if name not in CLIENTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {unknown[0]}; known: {', '.join(CLIENTS)}")
    return chosen
