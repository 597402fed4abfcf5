"""The options of reads and writes: their names, values and defaults, and the topics they select."""
