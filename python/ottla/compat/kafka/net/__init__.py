"""The network layer of kafka-python, of which only the token providers are public."""
