"""Where and when a job gets its machines: training queues of AWS Batch."""
