"""Daily tasks of an operator and common failures: what five tools need for them, and print.

- ``tools``: the tools, their versions and configuration files.
- ``tasks``: the tasks, and each tool's command for them.
- ``failures``: what goes wrong, and each tool's command that meets it.
- ``cluster``: brokers and data.
- ``measure``: runs commands.
- ``page``: writes docs/compare/command-line.md.
- ``run``: runs all of it on real brokers.
"""
