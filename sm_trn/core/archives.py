"""How an archive that somebody else packed is read: what stands before a member is bounded, as its contents are elsewhere.

``tarfile.open(…, tarinfo=Member)``. Python reads long names, PAX headers and the maps of sparse members into memory, whatever their size.
"""

from __future__ import annotations

import tarfile
from typing import Any, Final

LARGEST_HEADER: Final = 2**20  # bytes; a path has 4,096 at most
CHAINED: Final = 16  # headers before one member; tar writes three at most
_HEADERS: Final = frozenset({
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
})  # fmt: skip


class Member(tarfile.TarInfo):
    """A member whose headers are small. Reading another raises tarfile.ReadError."""

    def _proc_member(self, archive: Any) -> Any:
        """Called for each header as it is read, before anything behind it is."""
        chained = getattr(archive, "chained_headers", 0) + 1 if self.type in _HEADERS else 0
        archive.chained_headers = chained
        if self.type in _HEADERS and self.size > LARGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes, at most {LARGEST_HEADER:,} are taken")
        if chained > CHAINED:
            raise tarfile.ReadError(f"more than {CHAINED} headers before one member")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError(f"{self.name!r} is a sparse member; pack it without --sparse")
        return super()._proc_member(archive)  # type: ignore[misc]  # tarfile's own, which its stubs do not have

    def _proc_gnusparse_10(self, *_: Any) -> None:
        raise tarfile.ReadError("a sparse member; pack it without --sparse")
