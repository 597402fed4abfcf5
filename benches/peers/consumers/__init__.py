"""One file for each client: its ways to consume."""
