"""Stands in for the framework package of the PyTorch images, which is what gives the toolkit its launchers."""
