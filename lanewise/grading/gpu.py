"""The values of a kernel on the GPU, once the simulator has nothing against it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise import cp
from lanewise.exercise import Example
from lanewise.grading.check import DEFAULT_SHARED, Failure
from lanewise.grading.compare import mismatch


def values_on_gpu(exercise: Example, text: str, seed: int = 0) -> Failure | None:
    """Run every case on the GPU and compare its outputs with the reference, as the simulator's were. Returns the first that is wrong.

    Called only for a kernel that passed on the simulator: a faulty one could hang or poison the GPU.
    """
    kernel = cp.RawKernel(text, exercise.kernel, options=exercise.options)
    for number, case in enumerate(exercise.cases, 1):
        data = case.data(seed)
        expected = exercise.reference(case.data(seed))
        launch = case.launch_for(data)
        device = {name: cp.asarray(value) if isinstance(value, np.ndarray) else value for name, value in data.items()}
        if launch.shared_bytes > DEFAULT_SHARED:
            kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
        kernel(_dims(launch.grid), _dims(launch.block), tuple(device[name] for name in launch.names), shared_mem=launch.shared_bytes)
        threads = int(np.prod(_dims(launch.block)))
        for name, right in expected.items():
            rtol = exercise.rtol if case.rtol is None else case.rtol
            atol = exercise.atol if case.atol is None else case.atol
            words = mismatch(name, cp.asnumpy(device[name]), right, rtol, atol, threads)
            if words:
                return Failure("wrong-values", f"Case {number} ({case.name}), on the GPU: {words} The simulator's values are right.")
    return None


def _dims(dims: Any) -> tuple[int, ...]:
    return (dims,) if isinstance(dims, int) else tuple(dims)
