"""The tables of configuration keys."""

def config_row_of(name: str) -> str | None:
    """Return the configuration key that a name sets, whichever client's name it is, or None."""

def config_rows() -> list[tuple[str, str, str, tuple[int, int] | None, str]]:
    """Return every key of the configuration: name, type, default, bounds and meaning."""

def foreign_config_rows() -> list[tuple[str, str, str | None, str]]:
    """Return the keys of other clients, with what each means here, for the table in the docs."""
