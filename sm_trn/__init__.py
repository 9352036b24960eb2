"""sm_trn: check a training job offline, rehearse it here, launch it unchanged, compare what it cost."""

__version__ = "0.1.0"
