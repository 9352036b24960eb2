"""What a job will take before it runs: memory, phases and cost as intervals with their basis, and which machines suit it."""
