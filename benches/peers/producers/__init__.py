"""One file per client, with its ``CALLS`` to produce the same records.

Common settings: ``acks=all``, idempotence if the client supports it, ``linger.ms`` 5, batches of
up to 1,000,000 bytes, the codec's default level.
"""
