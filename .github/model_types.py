"""Make the ``types`` of sm_trn/forecast/architectures.json again: model types whose ``config.json`` says their shape.

    python .github/model_types.py

Each type's own default configuration is read by ``from_config`` and built by the installed transformers, without weights. A type is in the
list where both count the same parameters, within a twentieth.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from sm_trn.forecast.models import from_config

TABLE = Path(__file__).parents[1] / "sm_trn" / "forecast" / "architectures.json"
NEAR = 0.05


def counted(kind: str) -> tuple[float, float] | None:
    """Parameters of a type's default configuration: as its shape counts them, and as transformers do; None where one has no answer."""
    try:
        config = CONFIG_MAPPING[kind]()
    except Exception:  # noqa: BLE001  # some want parts
        return None
    shape = from_config(json.loads(config.to_json_string(use_diff=False)), verified=False)
    if shape is None:
        return None
    heads = [AutoModelForMaskedLM, AutoModel]
    if config.is_encoder_decoder:
        heads = [AutoModelForSeq2SeqLM, AutoModel]
    elif shape.causal:
        heads = [AutoModelForCausalLM, *heads]
    for head in heads:
        if type(config) in head._model_mapping:  # noqa: SLF001  # what it can build
            with torch.device("meta"):
                try:
                    model = head.from_config(config)
                except Exception:  # noqa: BLE001  # some want other libraries
                    return None
            return shape.parameters, float(sum(each.numel() for each in model.parameters()))
    return None


def verified() -> Iterator[str]:
    """The types of the installed transformers whose shapes count right."""
    for kind in sorted(CONFIG_MAPPING):
        both = counted(kind)
        if both is not None and abs(both[0] / both[1] - 1) <= NEAR:
            yield kind


def main() -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    types = json.dumps({"transformers": transformers.__version__, "types": list(verified())})
    text = re.sub(r'^ "verified": .*$', f' "verified": {types},', TABLE.read_text("utf-8"), count=1, flags=re.MULTILINE)
    TABLE.write_text(text, "utf-8")
    sys.stdout.write(f"{len(json.loads(types)['types'])} types\n")


if __name__ == "__main__":
    main()
