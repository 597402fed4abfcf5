"""The schemas of the benchmarks of typed columns, and their records."""
