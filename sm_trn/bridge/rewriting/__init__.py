"""Programs for SDK v2 written for SDK v3: the program is changed, run under both, and written where both send the same job."""
