"""Runs the tiers of `make test` and `make deep`, and reports their failures.

A failed test runs again, alone, after its tier. If it passes then, it is flaky: the report lists it
with the machine's pauses during its run, and more than `MAX_FLAKY` flaky tests fail the run.
"""
