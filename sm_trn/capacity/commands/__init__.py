"""The commands of capacity."""
