"""The calls of ``AsyncAdmin``, made from those of ``Admin`` by ``tools/twins.py``."""
