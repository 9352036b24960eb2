"""Targets that run a job's script where SageMaker does not: machines of one's own, Slurm, HyperPod on EKS."""
