"""Clients of all kinds behind a gateway, on real brokers that they cannot reach themselves."""
