"""The blocking classes of the registry, made from ``_async`` by ``tools/twins.py``."""
