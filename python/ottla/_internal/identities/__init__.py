"""Identities for OAUTHBEARER, one a file; ``ottla.identities`` has the public names."""
