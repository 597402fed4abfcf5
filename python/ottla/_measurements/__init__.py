"""What the command line and the console compute from observations of a cluster.

Invariant: nothing here prints, and nothing imports the command line or the console.
"""
