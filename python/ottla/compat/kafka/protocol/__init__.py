"""The wire protocol, of which only the names of offsets and isolation levels are public."""
