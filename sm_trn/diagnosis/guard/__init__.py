"""Whether a running job still gets on: its own rhythm, learned from its log, and what it is held against. Time is an argument."""
