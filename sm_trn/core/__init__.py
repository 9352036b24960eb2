"""A training job as a value: what it is, what is wrong with it, how it is spelled, sent and watched. It knows no part."""

__version__ = "0.1.0"
