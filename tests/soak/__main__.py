"""The command line of the soak.

    python -m tests.soak --minutes 360 [--rate N] [--seed N] [--report DIR] [--page]

It exits with 1, and a sentence for each problem, if something grew, was lost or failed.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from pathlib import Path

from tests.soak.faults import KINDS
from tests.soak.page import write_page
from tests.soak.plan import Plan
from tests.soak.run import soak

_REPORTS = Path(".ottla-build/soak")


def main() -> int:
    """Run the soak; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=360, help="of load and faults: 360")
    parser.add_argument("--rate", type=int, default=100, help="numbers a second: 100")
    parser.add_argument("--seed", type=int, help="of all that is random; another one each time")
    parser.add_argument("--pause", type=float, default=30, help="mean seconds between faults: 30")
    parser.add_argument("--interval", type=float, default=5, help="seconds between samples: 5")
    parser.add_argument("--report", type=Path, default=_REPORTS, help=f"directory: {_REPORTS}")
    parser.add_argument("--only", action="append", choices=KINDS, default=[], help="this fault")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks/soak.md")
    arguments = parser.parse_args()
    seed = random.randrange(1_000_000) if arguments.seed is None else arguments.seed
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    # Brokers that are killed are no news here.
    logging.getLogger("ottla").setLevel(logging.ERROR)
    directory = arguments.report.resolve() / time.strftime("%Y%m%d-%H%M%S")
    directory.mkdir(parents=True)
    print(f"OTTLA_SEED={seed}; the files of this run are in {directory}", flush=True)
    outcome = soak(
        Plan(
            arguments.minutes,
            arguments.rate,
            seed,
            arguments.pause,
            arguments.interval,
            directory,
            arguments.only,
        )
    )
    if arguments.page:
        write_page(outcome)
    for problem in outcome.problems:
        print(f"FAILED: {problem}")
    minutes = outcome.seconds / 60
    verdict = f"{len(outcome.problems)} problems" if outcome.problems else "no problem"
    print(f"{verdict} in {minutes:.1f} minutes, {len(outcome.moments)} faults, seed {seed}")
    return int(bool(outcome.problems))


if __name__ == "__main__":
    sys.exit(main())
