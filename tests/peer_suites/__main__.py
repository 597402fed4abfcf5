"""`make peer-suites`: run the suites of other clients with the control and with ottla's stand-ins.

    python -m tests.peer_suites [SUITE ...] [--no-repeat] [--stored] [--write]
    python -m tests.peer_suites --list | --checkouts

Returns 1 if a test passes with the control, fails with ottla's stand-in and is not listed; if an
entry of the list is stale; or if a suite could not run. The report is .ottla-build/peers/report.md.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.peer_suites import report, runner, sources
from tests.peer_suites.comparison import Comparison
from tests.peer_suites.suite import Checkout, Suite
from tests.peer_suites.suites import SUITES

_NOT_RUN = "no result is stored"


def main(arguments: Sequence[str]) -> int:
    """Run the selected suites, or all."""
    # As Ctrl-C does, it ends the process of a suite, and its broker.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = _parse(arguments)
    if options.list:
        print("\n".join(f"{suite.name:30}{suite.title}" for suite in SUITES))
        return 0
    if options.checkouts:
        print("\n".join(_clone_commands()))
        return 0
    selected = [suite for suite in SUITES if not options.suites or suite.name in options.suites]
    failed: list[str] = []
    results: dict[str, Comparison | str] = {}
    for suite in selected:
        if options.stored:
            result = runner.stored(suite) or _NOT_RUN
        else:
            result = _run(suite, repeat=not options.no_repeat)
        results[suite.name] = result
        problems = [f"{suite.name}: not run: {result}"]
        if isinstance(result, Comparison):
            problems = report.failures(result, runner.details(suite))
        print("".join(f"  FAILED {problem}\n" for problem in problems), end="", flush=True)
        failed += [suite.name] if problems else []
        # After each suite, so that a run that ends early leaves a report.
        text = report.render([(each, _last(each, results)) for each in SUITES])
        report.REPORT.parent.mkdir(parents=True, exist_ok=True)
        report.REPORT.write_text(text)
    if options.write:
        report.write(text)
    print(f"\n{report.render([(suite, results[suite.name]) for suite in selected])}")
    # Also a line that `make deep` prints.
    print(f"=== {len(selected) - len(failed)} suites passed, {len(failed)} failed ===")
    return int(bool(failed))


def _run(suite: Suite, repeat: bool) -> Comparison | str:
    print(f"\n{suite.name}: {suite.title}", flush=True)
    started = time.monotonic()
    try:
        return runner.run(suite, repeat)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        return str(error)
    finally:
        print(f"  {time.monotonic() - started:.0f} s", flush=True)


def _last(suite: Suite, results: dict[str, Comparison | str]) -> Comparison | str:
    """Return the result of this run, or of the last one that had the suite."""
    if suite.name in results:
        return results[suite.name]
    return runner.stored(suite) or _NOT_RUN


def _clone_commands() -> list[str]:
    checkouts = {s.source.name: s.source for s in SUITES if isinstance(s.source, Checkout)}
    return [
        command
        for checkout in checkouts.values()
        for command in sources.clone_commands(checkout, sources.checkout_directory(checkout))
    ]


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.peer_suites",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="only these (see --list)")
    parser.add_argument("--no-repeat", action="store_true", help="run no failed test again")
    parser.add_argument("--stored", action="store_true", help="run nothing: compare the last runs")
    parser.add_argument("--write", action="store_true", help="write the documentation's results")
    parser.add_argument("--list", action="store_true", help="list the suites")
    parser.add_argument("--checkouts", action="store_true", help="print how to provide the files")
    options = parser.parse_args(arguments)
    unknown = set(options.suites) - {suite.name for suite in SUITES}
    if unknown:
        names = ", ".join(suite.name for suite in SUITES)
        parser.error(f"no such suites: {', '.join(sorted(unknown))}; there are {names}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
