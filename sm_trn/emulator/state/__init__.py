"""This room keeps what outlives the process: the database, its versions, and the limit of the state folder."""
