"""A worker that takes its turn to load and writes down when it came and went: torchrun … loaders.py FOLDER [MODEL].

With a model it loads that folder's, and lets it go inside its turn, as a model that moves to its device does.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "entry_scripts"))

from accelerate import PartialState
from kit.device import loading_turn


def main() -> None:
    rank = PartialState(cpu=True).process_index
    log = Path(sys.argv[1]) / "log"
    with loading_turn(), log.open("a", buffering=1) as file:
        file.write(f"+ {rank}\n")
        if len(sys.argv) > 2:
            from transformers import AutoModelForCausalLM

            model = AutoModelForCausalLM.from_pretrained(sys.argv[2])
            for weight in model.parameters():
                weight.data = weight.data.clone()  # really read, as moving it to a device would
            del model
        else:
            time.sleep(0.2)  # long enough for another one's turn to overlap, were it allowed
        file.write(f"- {rank}\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)
