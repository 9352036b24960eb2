"""Where and when a job gets its machines: training queues of AWS Batch, other places when there is no room, training plans."""
