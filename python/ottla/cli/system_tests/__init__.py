"""The clients of Kafka's own system tests, with the same arguments, JSON lines and exit codes.

``verifiable-producer``, ``verifiable-consumer`` and ``transactional-copier`` take the arguments of
the Java classes of these names (``org.apache.kafka.tools``) and print the same events, so that a
test can mix both. Invariant: an event has the fields and the meaning of Java's.
"""
