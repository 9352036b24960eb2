"""Marks by which the lines of a log that matter are found."""

BRACE = "{"
COMPILER = "PARALLEL_COMPILE||:"  # in front of what neuron_parallel_compile says
HEAD = 500_000  # characters; the toolkit and the compiler's wrapper speak before the script does
