"""A stand-in for the framework package of the PyTorch images, which gives the toolkit its launchers."""
