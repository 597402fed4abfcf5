"""How long a record takes: to its acknowledgement, and to the application that reads it.

Each client runs alone in its own process, in turns, on three brokers. CPU is that of the client's
process for each record, measured ones and those of the warm-up.
"""
