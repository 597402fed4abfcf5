"""The soak: a long run with faults that shows that nothing grows and nothing is lost.

Each part is a process of its own (`parts`), which writes what was acknowledged, delivered and
accepted to files (`ledger`). The run (`run`) injects faults, samples the processes, and judges
both: `deliveries` the numbers, `growth` the memory, descriptors and threads.
"""
