"""This room keeps the logs and metrics of jobs and models, and answers CloudWatch Logs' operations on them."""
