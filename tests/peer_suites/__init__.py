"""The test suites of other clients, run on those clients (the control) and on ottla's stand-ins.

`make peer-suites` runs them; docs/compare/peer-suites.md has the results, and says how to read
them. The suites are neither part of the repository nor changed: they are unpacked in .ottla-build.
"""
