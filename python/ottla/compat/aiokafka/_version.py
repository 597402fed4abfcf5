"""The version of aiokafka whose interface this package has."""

__version__ = "0.14.0"
