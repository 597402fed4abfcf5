"""Histories of clients under load, and a checker that names what is wrong in them.

- ``events``: what clients did and saw, as JSON lines.
- ``checker``: a pure function from events to anomalies.
- ``workload``: producers and a consumer that write a history, with seeded faults.
"""
