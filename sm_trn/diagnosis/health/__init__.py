"""How a job is: one verdict from its status, its log, its numbers and what its machines do. Time is an argument."""
