"""The words that a record may hold: those of AWS's own models of its services, and those of this package's requests.

A word that is in neither may be anybody's secret. It must not know which answer a word stands in.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from botocore.loaders import Loader

_SERVICES = ("sagemaker", "logs")
_WORD = re.compile(r"[A-Za-z0-9_]+")
# Words of answers that no model has: S3's error codes, the toolkit's, and those of the probes' own requests.
_MORE = """
    absent accessdenied aborted algo algorithmerror amazon appears beside clienterror conformance cpu executeuserscripterror early
    epoch exceeded exit expired exited failing file files generated image insufficient internalservererror interrupted invalidrange
    kept launching line lines longer loss method methodnotallowed missing model nosuchbucket nosuchkey notfound nothing overlong
    owner plain preparing pytorch read ready request resource resources retained retry retrying reuse run runtime s3 saved script sh
    signature signaturedoesnotmatch sm sourcedir spot standard started stopped text train training trn tar gz traceback uploading
    valueerror wait waiting wrong py py39 octet got wanted put listbucket permissions satisfiable backwards sagemaker_program
    sagemaker_submit_directory sagemaker_job_name sagemaker_container_log_level sagemaker_region refused 1a ready
"""
_LONGEST = 40  # characters of the longest member's name that is a word


@functools.cache
def vocabulary() -> frozenset[str]:
    """Every word in lower case. Words with more than three digits are none: they are numbers of somebody's."""
    loader, found = Loader(), set(_MORE.split())
    for service in _SERVICES:
        for text in _texts(loader.load_service_model(service, "service-2")):
            found.update(word.lower() for word in _WORD.findall(text))
    return frozenset(word for word in found if len(word) <= _LONGEST and sum(map(str.isdigit, word)) <= 3)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
