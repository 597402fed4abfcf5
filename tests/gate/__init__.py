"""What runs the tiers of `make test` and `make deep`, and keeps what they found.

A gate test that fails runs once more, alone, when its tier is over. If it passes then, it is flaky:
it is listed with what the machine did meanwhile, and more than `MOST_FLAKY` of them fail the run.
"""
