"""Options of training on Trainium, as a value that becomes script arguments and environment.

Sources: optimum-neuron 0.4.5 NeuronTrainingArguments; AWS Neuron samples (environment).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .value import suggesting


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class NeuronOptions:
    """Parallel sizes go to the script as arguments, the rest into its environment.

    ``cache_s3_uri`` keeps compiled graphs between jobs: the compiler's own cache ends with the machine. ``precompile``
    makes the job compile and not train (``neuron_parallel_compile``). ``efa`` None follows the number of hosts.

    >>> dict(st.NeuronOptions(tensor_parallel=8, zero_1=True).arguments())
    {'tensor_parallel_size': 8, 'zero_1': True}
    """

    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    sequence_parallel: bool = True
    zero_1: bool = False
    cache_s3_uri: str | None = None
    precompile: bool = False
    stochastic_rounding: bool = False
    malloc_arena_max: int | None = None
    efa: bool | None = None

    def __post_init__(self) -> None:
        for name in ("tensor_parallel", "pipeline_parallel"):
            if getattr(self, name) < 1:
                raise ValueError(f"neuron.{name}: got {getattr(self, name)!r}, wanted at least 1")

    def arguments(self) -> Mapping[str, int | bool]:
        """What the script is told; nothing that is the library's default."""
        found: dict[str, int | bool] = {}
        if self.tensor_parallel > 1:
            found["tensor_parallel_size"] = self.tensor_parallel
            if not self.sequence_parallel:
                found["disable_sequence_parallel"] = True
        if self.pipeline_parallel > 1:
            found["pipeline_parallel_size"] = self.pipeline_parallel
        if self.zero_1:
            found["zero_1"] = True
        return found

    def environment(self, hosts: int) -> Mapping[str, str]:
        """What the Neuron runtime, its compiler and the C library read."""
        found: dict[str, str] = {}
        if self.cache_s3_uri:
            found["NEURON_COMPILE_CACHE_URL"] = self.cache_s3_uri
        if self.precompile:
            found["RUN_NEURON_PARALLEL_COMPILE"] = "1"
        if self.stochastic_rounding:
            found |= {"NEURON_RT_STOCHASTIC_ROUNDING_EN": "1", "NEURON_RT_STOCHASTIC_ROUNDING_SEED": "0"}
        if self.malloc_arena_max is not None:
            found["MALLOC_ARENA_MAX"] = str(self.malloc_arena_max)
        if self.efa if self.efa is not None else hosts > 1:
            found |= {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "FI_EFA_FORK_SAFE": "1"}
        return found
