"""The same records produced by each client: every file lists its ``WAYS``.

Alike for all: ``acks=all``, idempotence where the client has it, ``linger.ms`` 5, batches of up to
1,000,000 bytes, the codec's default level.
"""
