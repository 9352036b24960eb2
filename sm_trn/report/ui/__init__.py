"""The live page: jobs as they change, in a browser on this machine. One poller answers all tabs.

Needs the extra ``ui``. Nothing here is loaded by ``import sm_trn``.
"""
