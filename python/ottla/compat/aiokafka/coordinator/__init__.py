"""Group membership: assignors and their protocol."""
