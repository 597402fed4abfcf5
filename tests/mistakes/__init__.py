"""Forty ordinary mistakes and broken set-ups: when, where and in which words they are reported."""
