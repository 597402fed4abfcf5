"""What several parts of ottla need and no application imports.

Invariant: nothing here imports a package of ottla beside ``_core``, ``errors`` and itself.
"""
