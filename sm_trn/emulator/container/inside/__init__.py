"""These programs run inside an emulated host, in the job's interpreter. They import nothing of this package."""
