"""One file per client, with its calls that decode values with a schema to Arrow."""
