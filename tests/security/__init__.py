"""One broker with all kinds of valid and broken secured listeners."""
