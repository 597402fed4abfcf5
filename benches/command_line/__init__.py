"""Ten daily tasks of an operator: the commands of four tools, and the seconds that they take.

- ``tasks``: the tasks, and each tool's command for them.
- ``run``: runs them on real brokers, and prints a table.
"""
