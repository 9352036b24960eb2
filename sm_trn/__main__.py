"""``python -m sm_trn`` is ``sm-trn``."""

from .cli.__main__ import run

run()
