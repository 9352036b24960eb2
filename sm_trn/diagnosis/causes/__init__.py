"""Why a job went wrong: an open dictionary of causes (``dictionary.json``), and which of them came first."""
