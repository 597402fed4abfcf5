"""The versions that ottla names: their tests, their last results, and the runner.

    python -m tests.matrix [ROW ...]      # `make matrix ARGS='python-3.13 kafka-3.9'`

A row is one version of Python, Spark or Kafka with what the gate runs on its own versions. Results
are kept in `results.json`, which only the runner writes; README and docs/reference/matrix.md are
made from it (tools/matrix_page.py). A row that did not run is shown as such.
"""
