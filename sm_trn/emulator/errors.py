"""An AWS error is a code, a sentence and an HTTP status; this module writes it in each of AWS's wire protocols."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final
from xml.sax.saxutils import escape

# Why a job failed by no fault of its own, as the service says it.
INTERNAL_ERROR: Final = "InternalServerError: We encountered an internal error. Please try again."


class AwsError(Exception):
    """An error answer. It never leaves the emulator as an exception."""

    def __init__(self, code: str, message: str, status: int = 400, more: Mapping[str, str | int] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.more = more or {}  # further members of the error's shape


def validation(message: str) -> AwsError:
    """Return the error of a request that breaks a rule."""
    return AwsError("ValidationException", message)


def refused(code: str, message: str) -> AwsError:
    return AwsError(code, message, 403)


def body_of(fault: AwsError, protocol: str, request_id: str) -> tuple[str, bytes]:
    """Return content type and body of ``fault`` in ``protocol``: json, rest-json, query, rest-xml or cbor."""
    if protocol in {"json", "rest-json"}:
        document = {"__type": fault.code, "message": fault.message, "Message": fault.message, **fault.more}
        return "application/x-amz-json-1.1", json.dumps(document).encode()
    if protocol == "cbor":
        texts = [text.encode() for text in ("__type", fault.code, "message", fault.message)]
        # A map of two pairs of short texts: RFC 8949.
        return "application/cbor", b"\xa2" + b"".join(b"\x79" + len(text).to_bytes(2, "big") + text for text in texts)
    code, message = escape(fault.code), escape(fault.message)
    if protocol == "rest-xml":
        text = f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>{request_id}</RequestId></Error>"
    else:
        text = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
            f"<RequestId>{request_id}</RequestId></ErrorResponse>"
        )
    return "text/xml", b'<?xml version="1.0" encoding="UTF-8"?>' + text.encode()
