"""``python -m ottla.demo``: a million events to twelve partitions and back, as Arrow and in Spark.

Without ``OTTLA_BOOTSTRAP``, it starts a cluster of three mock brokers in this process.
"""
