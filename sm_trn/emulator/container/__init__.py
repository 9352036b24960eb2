"""This room emulates containers on this machine: their folders, their isolation, their processes and their data."""
