"""Projects to begin with: from a model, data and a budget to a job file, its script and a machine, tried on the emulator."""
