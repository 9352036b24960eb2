"""The commands of searches."""
