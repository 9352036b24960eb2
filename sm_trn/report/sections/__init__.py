"""What is known and can be said of the jobs of one workload: rows, percentages, findings. Draws and writes nothing."""
