"""The public face: compile a source, take a kernel from it, launch it, get a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from . import arguments, launch_limits, ptx, signature
from .errors import KernelNotFound, Stop, Unsupported, grief
from .fpmode import flushed
from .launch_types import Output, Unset
from .memory import MIDDLE, POISON, RANGE, Allocation, Region
from .program import Program, function_address
from .report import Report
from .summary import summarise

_PARAM_BASE = 0x5000


def compile(source: str, arch: str = "sm_90a", options: Sequence[str] = (), *, names: Sequence[str] = (), compiler: str | None = None) -> Module:
    """Compile CUDA C. `arch`: "sm_75" … "sm_90a"; `options` as for CuPy's RawKernel; `names`: name expressions of templates.

    `compiler`: "nvrtc" or "clang" (default: NVRTC where there is a wheel for it, else clang). Raises CompileError.
    """
    chosen = compiler or os.environ.get("LANEWISE_COMPILER") or ("clang" if sys.platform == "darwin" else "nvrtc")
    if chosen == "clang":
        from . import clang as front
    elif chosen != "nvrtc":
        raise ValueError(f'compiler must be "nvrtc" or "clang", not {chosen!r}')
    else:
        from . import nvrtc as front  # type: ignore[no-redef]
    compiled = front.compile(source, arch, tuple(options), tuple(names))
    module = Module(source, compiled, arch, tuple(options))
    module.compiled_here = True
    return module


class Module:
    """A compiled source. `ptx` is its PTX, `log` the compiler's warnings, `names` the mangled names of name expressions."""

    def __init__(self, source: str, compiled, arch: str, options: tuple[str, ...]):
        self.source, self.arch, self.options = source, arch, options
        self.ptx, self.log, self.names = compiled.ptx, compiled.log, compiled.names
        self.approximate = compiled.approximate
        self.compiled_here = False  # whether the compiler may be asked again: the judge of a text never does that itself
        self.parsed = ptx.parse(compiled.ptx)
        self.defines = signature.option_defines(options)
        self._kernels: dict[str, Kernel] = {}
        self._variables: list[Allocation] = []
        self.addresses: dict[str, tuple[str, int]] = {}
        self._lay_out()

    @property
    def entries(self) -> list[str]:
        """Names of the entry points."""
        return [f.name for f in self.parsed.functions.values() if f.entry]

    def kernel(self, name: str) -> Kernel:
        """An entry point, by its name or by a name expression. Raises KernelNotFound; Unsupported for what can't be run; see also `launch`."""
        known = self._kernels.get(name)
        if known is None:
            mangled = self.names.get(name, name)
            if mangled not in self.entries:
                from .compile_errors import not_found

                raise KernelNotFound(not_found(name, self.entries, self.source))
            try:
                known = self._kernels[name] = Kernel(self, name, mangled)
            except (Unsupported, MemoryError):
                raise
            except Exception as error:
                raise grief(self, name, error) from error
        return known

    def variable(self, name: str) -> Allocation:
        """A `__device__` or `__constant__` variable by its name in the source."""
        from .demangle import demangle

        for a in self._variables:
            if name == a.name or demangle(a.name) == name:
                return a
        raise KeyError(f"the source has no __device__ or __constant__ variable {name!r}")

    def _lay_out(self) -> None:
        """Memory of the module's own variables; it lives as long as the module, as on a GPU."""
        arrays = signature.constant_arrays(self.source, self.defines)
        from .checks.faults import element_bytes
        from .demangle import demangle

        for number, v in enumerate(v for v in self.parsed.variables.values() if v.space in ("global", "const")):
            data = np.zeros(max(v.size, 1), np.uint8)
            if v.init:
                data[: len(v.init)] = np.frombuffer(v.init, np.uint8)
            base = ((0x4000 + number) << RANGE) + MIDDLE
            plain = demangle(v.name).split("::")[-1]
            element = element_bytes(arrays[plain][0]) if plain in arrays else 1 if v.type == "b8" else 4
            a = Allocation(plain, base, data, element=element, space=v.space)
            a.region = Region(len(data))
            self._variables.append(a)
            self.addresses[v.name] = (v.space, base)
        for v in self.parsed.variables.values():
            if v.relocations and v.name in self.addresses:
                a = next(x for x in self._variables if x.base == self.addresses[v.name][1])
                for offset, symbol in v.relocations.items():
                    target = self.addresses[symbol][1] if symbol in self.addresses else function_address(self.parsed, symbol)
                    a.data[offset : offset + 8].view(np.uint64)[:] += np.uint64(target)


class Kernel:
    """An entry point. `max_dynamic_shared_size_bytes` may be raised, as on a GPU, for more than 48 KB of shared memory."""

    def __init__(self, module: Module, name: str, entry: str):
        self.module, self.name, self.entry = module, name, entry
        self.max_dynamic_shared_size_bytes: int | None = None
        addresses = dict(module.addresses)
        function = module.parsed.functions[entry]
        for k, p in enumerate(function.params):
            addresses[p.name] = ("param", ((_PARAM_BASE + k) << RANGE) + MIDDLE)
        self.program = Program(module.parsed, function, addresses)
        parameters = signature.parse(module.source, module.defines).get(name)
        if parameters is None and name in module.names:
            parameters = signature.instance(module.source, name, module.defines)
        if parameters is None:
            from .demangle import demangle

            plain = demangle(entry).split("<")[0].split("(")[0]
            parameters = signature.parse(module.source, module.defines).get(plain) if plain != entry else None
        self.parameters = parameters
        self._check_supported()

    def _check_supported(self) -> None:
        """Translate the whole kernel now: an instruction that can't be run is an error of `module.kernel`, not of a launch."""
        for function in self.program.reached():
            self.program.code(function.name).translate()

    def _registers(self, block) -> int | None:
        """Registers a thread, asked of ptxas only where a block of this size could run out of them."""
        try:
            x, y, z = launch_limits.dim3(block)
        except TypeError:
            return None
        declared = sum(2 if "64" in type else 1 for type in self.program.entry.registers.values())
        if self.module.approximate or not 0 < x * y * z <= launch_limits.MAX_THREADS or not launch_limits.registers_matter(x * y * z, declared):
            return None
        return self.resources().registers

    def resources(self, arch: str | None = None):
        """Registers, spills, shared and local memory, from ptxas through NVRTC."""
        from .resources import resources

        return resources(self.module.source, self.name, arch or self.module.arch, self.module.options, tuple(self.module.names))

    def occupancy(self, block, shared_bytes: int = 0, gpu: str = "H200"):
        """Blocks of `block` threads that one SM holds."""
        from .gpus import GPUS
        from .resources import occupancy

        x, y, z = launch_limits.dim3(block)
        used = self.resources(GPUS[gpu].arch if gpu in GPUS else None)
        return occupancy(used.registers, used.static_shared + shared_bytes, x * y * z, gpu)

    def launch(self, grid, block, args: Sequence[Any], shared_bytes: int = 0, *, check: bool = True, schedule: int = 0, max_steps: int | None = None) -> Report:
        """Run the kernel on NumPy arrays (read and written in place) and NumPy scalars, in the order of its parameters.

        `check=False` leaves the diagnoses out, counters stay. `schedule`: a seed for another order of blocks and warps.
        `max_steps`: blocks of code of the busiest warp before an endless loop is assumed. The default is 2**20, and a limit of work that ends a
        loop within seconds (see `progress`); loops in which nothing changes any more end at once.
        Never raises for a fault of the kernel or of the arguments: see `Report.findings`. But assembly that ptxas refuses may be a CompileError.
        """
        from .machine import Machine

        program = self.program
        report = Report(self.name, self.module.source, (1, 1, 1), (1, 1, 1), approximate=self.module.approximate)
        bounds = program.entry.directives.get("maxntid")
        refused = launch_limits.limits(
            grid, block, program.static_shared, shared_bytes, self.max_dynamic_shared_size_bytes, self.module.arch, self._registers(block),
            int(np.prod(bounds)) if bounds else None, program.entry.directives.get("reqnctapercluster"),
        )  # fmt: skip
        args = list(args) if isinstance(args, list | tuple) else [args]  # one array without its comma: told apart by the number of parameters
        findings, bound = arguments.check(self.name, program.entry.params, self.parameters, args)
        report.findings = [*findings, *refused]
        try:
            report.grid, report.block = launch_limits.dim3(grid), launch_limits.dim3(block)
        except TypeError:
            pass
        if not report.ok:
            return report
        machine = Machine(program, report.grid, report.block, int(shared_bytes), check, schedule, max_steps)
        machine.source = self.module.source
        machine.learn_names(signature, self.module, self.name)
        _bind(machine, self, bound, list(args), check)
        stopped = False
        try:
            with flushed() if program.flush == "cpu" else nullcontext():
                machine.run()
        except Stop:
            stopped = True
        except (Unsupported, MemoryError):
            raise
        except Exception as error:
            raise grief(self.module, self.name, error) from error
        summarise(report, machine, stopped)
        for arg, b in zip(args, bound, strict=True):
            if isinstance(arg, Unset):
                a = machine.by_argument[b.name]
                arg.mask = a.unset if a.unset is not None and a.unset.any() else None
        return report


def _bind(machine, kernel: Kernel, bound: list[arguments.Bound], args: list[Any], check: bool) -> None:
    """Give every array argument its addresses and every parameter its bytes."""
    program = kernel.program
    stored = program.main.graph.stored if not any(i.opcode == "call" for i in program.main.graph.body) else None
    machine.by_argument = {}
    arrays = [(b, arg) for b, arg in zip(bound, args, strict=True) if b.array is not None]
    regions = _regions([b.array for b, _ in arrays])
    written_regions = set()
    for (b, _), (region, _) in zip(arrays, regions, strict=True):
        layout = program.entry.params[bound.index(b)]
        if stored is None or any(name.split("+")[0] == layout.name for name in stored):
            written_regions.add(id(region))
    # Views of one array share their flags too: what is written through one of them is set for all.
    outputs = {id(b): isinstance(arg, Output) or (b.map is not None and b.map.output) for b, arg in arrays}
    marked = {id(b): outputs[id(b)] or isinstance(arg, Unset) for b, arg in arrays}
    unset = {id(region): np.zeros(region.size, np.uint8) for (b, _), (region, _) in zip(arrays, regions, strict=True) if marked[id(b)]}
    for (b, arg), (region, offset) in zip(arrays, regions, strict=True):
        array = b.array
        layout = program.entry.params[bound.index(b)]
        data = array.reshape(-1).view(np.uint8) if array.size else np.zeros(0, np.uint8)
        base = machine.memory.next_base() + _alignment(array)
        element = _element(b, array)
        shape = array.shape if array.ndim > 1 else None
        a = Allocation(b.name, base, data, element=element, shape=shape, writable=id(region) in written_regions)
        a.region, a.region_offset = region, offset
        if check and id(region) in unset:
            a.unset = unset[id(region)][offset : offset + len(data)]
        if outputs[id(b)]:
            _poison(array)
            a.must_write = check
        if a.unset is not None and marked[id(b)]:
            a.unset |= 1 if outputs[id(b)] or arg.mask is None else np.ascontiguousarray(arg.mask).reshape(-1).view(np.uint8)
        machine.memory.add(a)
        machine.by_argument[b.name] = a
        if b.map is not None:
            machine.tensor_maps[b.map.number] = a
            continue
        machine.params[layout.name] = np.frombuffer(np.uint64(base).tobytes(), np.uint8)
    for b, layout in zip(bound, program.entry.params, strict=True):
        if b.array is None or b.map is not None:
            raw = np.frombuffer(b.data.ljust(layout.size, b"\0"), np.uint8)
            machine.params[layout.name] = raw
            if layout.size > 8:
                machine.memory.add(Allocation(b.name, program.addresses[layout.name][1], raw.copy(), space="param"))
        machine.argument_names[layout.name] = b.name
    for a in kernel.module._variables:
        a.read_sectors = a.write_sectors = None
        a.region = Region(len(a.data))
        a.writable = stored is None or any(name in stored for name, (_, base) in kernel.module.addresses.items() if base == a.base)
        machine.memory.add(a)


def _regions(arrays: list[np.ndarray]) -> list[tuple[Region, int]]:
    """For each array the region of memory it shares with overlapping ones, and its offset there."""
    spans = sorted((a.__array_interface__["data"][0], a.nbytes, k) for k, a in enumerate(arrays))
    out: list = [None] * len(arrays)
    group: list = []
    end = -1

    def close() -> None:
        if group:
            start = group[0][0]
            region = Region(max(p + n for p, n, _ in group) - start)
            for p, _, k in group:
                out[k] = (region, p - start)

    for p, n, k in spans:
        if group and p < end:
            group.append((p, n, k))
        else:
            close()
            group = [(p, n, k)]
            end = p
        end = max(end, p + n)
    close()
    return out


def _alignment(array: np.ndarray) -> int:
    """Offset of the array's start from the start of the memory it is part of, modulo 256: device memory is 256-byte aligned."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return (array.__array_interface__["data"][0] - root.__array_interface__["data"][0]) % 256


def _element(b: arguments.Bound, array: np.ndarray) -> int:
    """Bytes of what the learner counts as an element."""
    return array.itemsize


def _poison(array: np.ndarray) -> None:
    flat = array.reshape(-1)
    if array.itemsize in POISON:
        flat.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[array.itemsize])[...] = POISON[array.itemsize]
    elif array.size:
        flat.view(np.uint8)[...] = 0xA5
