"""An emulated container on this machine: its folders, isolation, processes and data."""
