"""Common mistakes and faulty set-ups: how soon, where and with which message they are reported."""
