"""Registering: the steps of ``ottla.spark.register``, which runs on the driver."""
