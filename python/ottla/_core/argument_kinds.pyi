"""Stubs of what kind of argument a value is, in rust/python/src/argument_kinds.rs."""

def is_bool(value: object) -> bool:
    """Return whether a value is a bool, of Python or numpy.

    Args:
        value: any value.
    """

def is_index(value: object) -> bool:
    """Return whether a value is an integer, such as numpy's, and no bool.

    Args:
        value: any value.
    """

def is_text(value: object) -> bool:
    """Return whether a value is a str or bytes, which iterate over their letters.

    Args:
        value: any value.
    """
