"""The strategies of groups, by name."""
