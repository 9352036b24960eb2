"""Training queues of AWS Batch: queues, service environments, scheduling policies, quota shares, and the jobs that wait in them."""
