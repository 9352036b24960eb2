"""Guards at work: jobs that run are held against their guards, and what a guard says is told or done."""
