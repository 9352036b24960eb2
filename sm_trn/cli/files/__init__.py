"""Commands for job files, and how their problems are shown."""
