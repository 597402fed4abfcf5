"""The calls of ``Admin``, a class for each subject.

``tools/twins.py`` makes the package ``asynchronous``, the calls of ``AsyncAdmin``, from it.
"""
