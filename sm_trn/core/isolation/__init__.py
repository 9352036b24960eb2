"""Processes kept to themselves by what Linux has. The emulator starts training containers with it, the recorder launchers.

``container_init.py`` and ``seal.py`` are programs of their own, which import the standard library alone.
"""
