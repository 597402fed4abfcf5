"""Planning, on the driver: which offsets a batch or a micro-batch reads, and in which tasks."""
