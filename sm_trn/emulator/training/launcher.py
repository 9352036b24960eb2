"""The choice of what starts the script on a host: the training toolkit, or our own launcher where there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ..container.archive import UnsafeArchive, unpack
from ..container.layout import INSIDE
from ..container.transfer import TransferError
from ..objects import parse_s3_uri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..api.shapes import Body
    from ..container.layout import Where
    from ..objects import Objects

LAUNCH: Final = INSIDE / "launch.py"
NOTE: Final = "the interpreter has no sagemaker-training toolkit; the emulator's own launcher stands in for it"


def arguments(python: str, *, toolkit: bool) -> tuple[str, ...]:
    return (python, "-m", "sm_trn_toolkit") if toolkit else (python, str(LAUNCH))


def unpack_source(objects: Objects, request: Body, places: Sequence[Where]) -> None:
    """Bring the job's code to /opt/ml/code of every host, which the toolkit does by itself. Raises TransferError."""
    text = (request.get("HyperParameters") or {}).get("sagemaker_submit_directory", '""')
    try:
        uri = str(json.loads(text))
    except ValueError:
        uri = text
    if not uri.startswith("s3://"):
        return
    try:
        for where in places:
            with objects.open(*parse_s3_uri(uri)) as packed:
                unpack(packed, where.ml / "code")
    except KeyError as error:
        raise TransferError(f"ClientError: the source {uri!r} does not exist") from error
    except UnsafeArchive as error:
        raise TransferError(f"ClientError: the source {uri!r} cannot be unpacked: {error}") from error
