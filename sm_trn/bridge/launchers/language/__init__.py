"""Python as a launcher is written in it: values, statements, calls, and objects of the SDK."""
