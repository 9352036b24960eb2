"""What outlives the process: the database, its versions, its limit."""
