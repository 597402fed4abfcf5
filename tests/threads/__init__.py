"""Many threads on the same objects: `python -m tests.threads`.

It needs ottla and the standard library alone, so that it runs where the packages of the tests have
no builds: on Pythons without a global lock. The gate runs the same (tests/mock/test_threads.py).
"""
