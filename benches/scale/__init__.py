"""One client of a cluster that is as large as they come."""
