"""The version of kafka-python whose interface this package has."""

__version__ = "3.0.7"
