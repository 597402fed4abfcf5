"""Exactly-once writes: each task prepares a transaction, and the driver decides and commits them.

- ``task_identity``: which query, run, batch, partition and attempt a task is; transactional ids.
- ``decision``: the record that decides a batch. ``decision_log``: the topic that has decisions and
  the markers of tasks.
- ``task``: writes the rows of one task. ``recovery``: what a worker does first in each run.
- ``driver``: decides a batch and ends its transactions, or aborts them.

Invariant: a transaction is committed only after a durable decision names it, and a batch is written
again only after each transaction of its last decision has ended. docs/design/transactions.md has
the argument.
"""
