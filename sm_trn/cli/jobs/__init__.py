"""Commands for jobs that run or ran, and what they share."""
