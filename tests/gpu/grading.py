"""Grading against hostile kernels on a real GPU: `python tests/gpu/grading.py`; the summary goes to results/gpu/ or the folder that OUT names.

Each text goes straight to the GPU's part of the check, as if the simulator had let it pass, and a right one runs after it: what an attack breaks must end
with its process. Exit status 1 where one is answered otherwise than it must be. Takes minutes: two of them hang until their clock ends them.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import paths  # noqa: F401  (it makes the next imports possible)

from lanewise.exercise import Case, Exercise, Launch
from lanewise.grading import sandbox
from lanewise.grading.gpu import Gpu, GpuTrouble, Quarantine, values_on_gpu
from lanewise.names import CourseError, Key, find_course

HANG_SECONDS = 15.0
HEAD = 'extern "C" __global__ void twice(const float* x, float* out, int n) {\n    const int i = blockIdx.x * 64 + threadIdx.x;\n'
RIGHT = "if (i < n) out[i] = 2.0f * x[i];"


@dataclass(frozen=True)
class Attack:
    """`body` in place of the kernel's. `answer`: "" (it passes), a kind, or "trouble": no verdict. `before`: text in front of the kernel."""

    body: str
    answer: str
    says: str = ""
    before: str = ""


ATTACKS = {
    "right": Attack(RIGHT, ""),
    "an illegal address": Attack(f"{RIGHT} *(volatile int*)0x10 = 1;", "out-of-bounds", "belongs to no array"),
    "one element behind": Attack(f"{RIGHT} if (i == 0) out[n] = 0;", "out-of-bounds", "memory behind out was written"),
    "one element in front": Attack(f"{RIGHT} if (i == 0) out[-1] = 0;", "out-of-bounds", "memory in front of out was written"),
    "a misaligned address": Attack(f"{RIGHT} *(volatile int*)((char*)out + 1) = 1;", "misaligned"),
    "a trap": Attack(f"{RIGHT} __trap();", "trap"),
    "an assertion": Attack(f"{RIGHT} assert(n < 0);", "trap", "assertion"),
    "recursion without an end": Attack(
        f"{RIGHT} if (i == 0) out[0] = deep(n, out);", "trap or out-of-bounds", before="__device__ __noinline__ float deep(int n, volatile float* o) "
        "{ volatile float room[64]; room[n & 63] = o[0]; return n < -1 ? 0.0f : deep(n + 1, o) + room[(n + 1) & 63]; }\n",
    ),
    "an endless loop": Attack(f"{RIGHT} while (n > 0) *(volatile float*)out = 2.0f * x[0];", "trouble", "was ended after"),
    "a spin on a flag": Attack("volatile int* flag = (volatile int*)out; while (*flag != 12345) ; " + RIGHT, "trouble", "was ended after"),
    "a flood of printf": Attack(
        f'{RIGHT} for (int k = 0; k < 20000; ++k) printf("{{\\"ended\\": \\"done\\"}} %d %s\\n", k, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");', ""
    ),
    "work on another stream": Attack(
        f"{RIGHT} if (i == 0) later<<<1, 64, 0, cudaStreamFireAndForget>>>(out);", "trouble", before="__global__ void later(float* o) { o[threadIdx.x] = 7; }\n"
    ),
    "clocks read and waited for": Attack(
        f"long long a = clock64(); unsigned long long t; asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(t)); while (clock64() - a < 100000) ; {RIGHT}", ""
    ),
    "the simulator told apart": Attack(
        "unsigned s; asm volatile(\"mov.u32 %0, %nsmid;\" : \"=r\"(s)); if (i < n) out[i] = (s > 4 ? 3.0f : 2.0f) * x[i];", "wrong-values", "1.5 times"
    ),
    "the simulator told apart by a macro": Attack(
        "const char file[] = __FILE__; bool same = file[0] == 'k' && __LINE__ == 3 && __INCLUDE_LEVEL__ == 0;\n#if !defined(__CUDA_ARCH_FEAT_SM90_ALL) || "
        f"__CUDA_ARCH__ != 900 || __CUDACC_VER_MAJOR__ != 13 || defined(__NVCC__)\nsame = false;\n#endif\n{RIGHT} if (!same && i == 0) out[0] = -1.0f;", ""
    ),
    "nothing written": Attack("", "unwritten-output", "was never written"),
    "old memory returned": Attack("if (i < n) out[i] = ((volatile float*)out)[i];", "unwritten-output"),
    "the input written": Attack(f"{RIGHT} if (i == 3) ((float*)x)[3] = 0;", "wrong-values", "x is an input"),
    "NaN": Attack("if (i < n) out[i] = __int_as_float(0x7fffffff);", "wrong-values", "nan"),
    "malloc until there is none": Attack(f"{RIGHT} for (int k = 0; k < 1000; ++k) {{ volatile char* p = (char*)malloc(1 << 20); if (p) p[0] = 1; }}", ""),
}  # fmt: skip


def exercise() -> Exercise:
    def data(rng: np.random.Generator) -> dict[str, object]:
        return {"x": rng.standard_normal(100, dtype=np.float32) + 4, "out": np.empty(100, np.float32), "n": np.int32(100)}

    return Exercise(
        title="Twice", reference=lambda data: {"out": 2.0 * data["x"].astype(np.float64)}, cases=(Case("100", data, Launch(2, 64, "x out n")),),
        hints=("", ""), kernel="twice", key=Key(1, "a", "twice"),
    )  # fmt: skip


def answered(attack: Attack, gpu: Gpu) -> tuple[str, str]:
    """(what came: "", a kind or "trouble"; its sentence)."""
    try:
        failure = values_on_gpu(exercise(), f"{attack.before}{HEAD}    {attack.body}\n}}\n", lambda case: 0, gpu)
    except GpuTrouble as error:
        return "trouble", str(error)
    return (failure.kind, failure.message) if failure else ("", "")


def main() -> int:
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as folder:
        gpu = Gpu(seconds=HANG_SECONDS, quarantine=Quarantine(Path(folder) / "set-aside"))
        for name, attack in ATTACKS.items():
            began = time.monotonic()
            came, says = answered(attack, gpu)
            good = came in attack.answer.split(" or ") and attack.says in says
            sticky = attack.answer not in ("", "wrong-values", "unwritten-output")
            after = answered(ATTACKS["right"], gpu) if sticky else ("", "")
            good = good and after == ("", "") and not gpu.quarantine.why()
            seconds = round(time.monotonic() - began, 1)
            rows.append({"attack": name, "came": came, "says": says, "after": after, "right": good, "seconds": seconds})
            wrong += [] if good else [name]
            print(f"{'ok   ' if good else 'WRONG'} {seconds:5.1f} s  {name}: {came or 'passes'} {says[:150]}", "" if after == ("", "") else after, flush=True)
        course = find_course()
        key = course.exercise("ch05b")
        began = time.monotonic()
        try:
            verdict = sandbox.grade(key, course.solution(key).read_bytes(), course, secret=7, gpu=gpu)
            came, says = verdict.kind or "", verdict.message
        except CourseError as error:
            came, says = "trouble", str(error)
        rows.append({"attack": "a solution, the whole way", "came": came, "says": says, "right": not came, "seconds": round(time.monotonic() - began, 1)})
        wrong += ["a solution, the whole way"] if came else []
        print(rows[-1])
    out = Path(os.environ.get("OUT") or "results/gpu")
    out.mkdir(parents=True, exist_ok=True)
    (out / "grading.json").write_text(json.dumps({"wrong": wrong, "attacks": rows}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows) - len(wrong)} of {len(rows)} answered as they must be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
