"""``python -m ottla.demo``: a million events to twelve partitions and back, as Arrow and in Spark.

Without ``OTTLA_BOOTSTRAP`` it runs against a three-broker cluster in this process.
"""
