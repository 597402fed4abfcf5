"""The calls of ``AsyncAdmin``, made from those of ``Admin`` by ``tools/async_admin.py``."""
