"""Commands for this machine: the emulator, rehearsals, the quickstart."""
