"""The parts of the soak, one process each."""
