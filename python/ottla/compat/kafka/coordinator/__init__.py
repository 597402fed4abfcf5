"""Group membership, of which only the assignors are public."""
