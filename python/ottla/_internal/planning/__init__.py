"""Planning of bounded reads: ranges of offsets, how to split them, and bounds that queries set.

Shared by ``ottla.spark`` and the readers for polars, DuckDB, Ray and dask; needs none of them.
"""
