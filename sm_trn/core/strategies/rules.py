"""The rules that strategies share: what is looked for, and why. Strategies import this table, never one another."""

from ..specs.problems import Severity, rules_of

ERROR, WARNING, INFO = (Severity.ERROR,), (Severity.WARNING,), (Severity.INFO,)

_RULES = rules_of(__package__)
DIST002 = _RULES["DIST002"]
DIST003 = _RULES["DIST003"]
DIST004 = _RULES["DIST004"]
DIST005 = _RULES["DIST005"]
DIST006 = _RULES["DIST006"]
DIST007 = _RULES["DIST007"]
DIST010 = _RULES["DIST010"]
DIST011 = _RULES["DIST011"]
DIST012 = _RULES["DIST012"]
DIST013 = _RULES["DIST013"]
DIST014 = _RULES["DIST014"]
DIST015 = _RULES["DIST015"]
DIST016 = _RULES["DIST016"]
DIST017 = _RULES["DIST017"]
DIST018 = _RULES["DIST018"]
DIST019 = _RULES["DIST019"]
DIST023 = _RULES["DIST023"]
