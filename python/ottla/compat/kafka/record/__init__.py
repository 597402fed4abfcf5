"""Records on the wire, of which only the base class is public."""
