"""One file per client, with its calls to consume."""
