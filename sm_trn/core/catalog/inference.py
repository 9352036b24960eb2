"""The hosting images that fit a trained model: SDK 2.257.7's image tables, read 2026-11-20.

It must not know how a model is deployed. Inferentia is not here: its images run models that were compiled for it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from ..errors import UnknownName
from .images import processor, registry

AS_OF: Final = "2026-11-20"
# PyTorch version -> Python of pytorch-inference.
_PYTORCH: Final = MappingProxyType(
    {
        "1.9.1": "py38", "1.10.2": "py38", "1.11.0": "py38", "1.12.1": "py38", "1.13.1": "py39", "2.0.1": "py310",
        "2.1.0": "py310", "2.2.0": "py310", "2.3.0": "py311", "2.4.0": "py311", "2.5.1": "py311", "2.6.0": "py312",
    }
)  # fmt: skip
# (transformers, PyTorch, Python, end of the CPU tag, end of the GPU tag) of huggingface-pytorch-inference.
_HUGGING_FACE: Final = (
    ("4.17.0", "1.10.2", "py38", "ubuntu20.04", "cu113-ubuntu20.04"),
    ("4.26.0", "1.13.1", "py39", "ubuntu20.04", "cu117-ubuntu20.04"),
    ("4.28.1", "2.0.0", "py310", "ubuntu20.04", "cu118-ubuntu20.04"),
    ("4.37.0", "2.1.0", "py310", "ubuntu22.04", "cu118-ubuntu20.04"),
    ("4.48.0", "2.3.0", "py311", "ubuntu22.04", "cu121-ubuntu22.04"),
    ("4.49.0", "2.6.0", "py312", "ubuntu22.04", "cu124-ubuntu22.04"),
    ("4.51.3", "2.6.0", "py312", "ubuntu22.04", "cu124-ubuntu22.04"),
)


def hosting_image(
    instance: str, region: str, *, pytorch: str | None, transformers: str | None, hugging_face: bool
) -> tuple[str, str]:
    """The image's URI, and what is to be said of it: empty when its versions are those that were asked for.

    The oldest image that is not older than the libraries that saved the model, else the newest there is: a newer library
    reads what an older one wrote. Raises UnknownName for hosts and regions that have no such image.
    """
    device = processor(instance)
    if device == "neuron":
        raise UnknownName(
            f"instance: got {instance!r}, whose images run only models compiled for Neuron; wanted a CPU or GPU host, or "
            "image_uri= with the model compiled for it"
        )
    if hugging_face:
        name, got, wanted = _hugging_face(device, pytorch, transformers)
    else:
        got, wanted = _nearest(tuple(_PYTORCH), pytorch), pytorch
        name = f"pytorch-inference:{got}-{device}-{_PYTORCH[got]}"
    exact = wanted is None or got == wanted or got.startswith(f"{wanted}.")
    note = "" if exact else f"hosted with {got}, nearest to the {wanted} it was trained with ({AS_OF})"
    return f"{registry(region)}/{name}", note


def _hugging_face(device: str, pytorch: str | None, transformers: str | None) -> tuple[str, str, str | None]:
    at = 0 if transformers else 1
    chosen = _nearest(tuple(dict.fromkeys(row[at] for row in _HUGGING_FACE)), transformers or pytorch)
    row = [row for row in _HUGGING_FACE if row[at] == chosen][-1]
    end = row[4] if device == "gpu" else row[3]
    name = f"huggingface-pytorch-inference:{row[1]}-transformers{row[0]}-{device}-{row[2]}-{end}"
    return name, chosen, transformers or pytorch


def _nearest(known: tuple[str, ...], wanted: str | None) -> str:
    ordered = sorted(known, key=_key)
    if wanted is None:
        return ordered[-1]
    length = wanted.count(".") + 1
    return next((one for one in ordered if _key(one)[:length] >= _key(wanted)), ordered[-1])


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
