"""The assignors: how the partitions of topics are distributed over the members of a group."""
