"""What a job will take: memory, seconds of a step, phases and cost, as intervals with their basis. Nothing here reads a clock.

``architectures`` knows the models, ``configuration`` says how one is trained, ``work`` counts its operations and bytes at the
rates of the chip's datasheet, ``step`` turns them into seconds with a few fitted constants, ``memory`` into bytes of a worker.
``rows`` reads published measurements, ``fit`` makes the constants from them, ``evaluate`` shows how far the result can be trusted.
"""
