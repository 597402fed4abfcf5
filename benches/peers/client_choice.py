"""The clients that are compared at their defaults, and the option `--clients` that chooses."""

from __future__ import annotations

import argparse

from benches.peers import go_program, turns

CLIENTS = ("ottla", "confluent-kafka", "Java", "franz-go")


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add --clients, the clients that take part."""
    parser.add_argument(
        "--clients", type=_clients, default=list(CLIENTS), help=f"of {','.join(CLIENTS)}"
    )


def prepare(clients: list[str]) -> None:
    """Build the clients that are compiled, so that a missing tool is reported before brokers
    start."""
    if "franz-go" in clients:
        go_program.program()


def _clients(text: str) -> list[str]:
    chosen = turns.names(text)
    unknown = [name for name in chosen if name not in CLIENTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {unknown[0]}; known: {', '.join(CLIENTS)}")
    return chosen
