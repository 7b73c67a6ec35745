"""One launch: memory, specials, counters, the batches of blocks and the order in which they run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from . import checks
from .batch import Batch
from .clusters import order_of_blocks
from .errors import Stop
from .group import Group
from .memory import SHARED_BASE, Allocation, GlobalMemory, LocalMemory
from .program import Code, Placed, Program
from .progress import COUNTED, LAUNCH, PATIENCE, counts_towards_a_bound
from .runtime import PRINT_LIMIT
from .values import f32, f64, ndarray

LANES = 16384  # lanes of a batch: fewer waste NumPy's call overhead, more fall out of the cache
QUANTUM = 1 << 14  # blocks of code a batch may run before more blocks are started beside it: they may be what it waits for
TURN = 256  # blocks of code a batch may run while others are active
QUIET = 64  # turns until further blocks are started, as long as any batch makes progress
MAX_STEPS = 1 << 20  # blocks of code of the busiest warp; most endless loops end sooner: see progress
SHUFFLED = 1 << 22  # beyond that many blocks every schedule starts them in order
SM_BLOCKS = 132 * 8  # blocks that may be resident at a time when some wait for others


class Machine:
    def __init__(
        self, program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], shared_bytes: int, check: bool, schedule: int, max_steps: int | None
    ):
        self.program, self.grid, self.block, self.shared_bytes = program, grid, block, shared_bytes
        self.check, self.schedule, self.max_steps = check, schedule % (1 << 32), max_steps or MAX_STEPS
        self.limited = max_steps is None  # by work too, not by steps alone
        self.work = self.patience_began = self.started = self.finished = 0
        self.patience = PATIENCE if self.limited else float("inf")
        self.T = block[0] * block[1] * block[2]
        self.W = (self.T + 31) // 32
        self.blocks = grid[0] * grid[1] * grid[2]
        declared = program.entry.directives.get("reqnctapercluster", ())
        self.clustered = bool(declared)
        x, y, z = (*declared, 1, 1, 1)[:3]
        self.cluster_dims, self.cluster = (x, y, z), x * y * z  # blocks of a cluster; they are in one batch
        self.shared_size = program.dynamic_offset + shared_bytes
        self.memory = GlobalMemory()
        self.params: dict[str, ndarray] = {}
        self._parameters: dict[tuple, Any] = {}
        self.counts: list[list[int]] = [[0, 0] for _ in program.sites]
        self.generic_shared: dict[int, list[int]] = {}  # the same of accesses through generic pointers that went to shared memory
        self.executed: dict[int, tuple[list[int], list[int]]] = {}
        known = program.known_patterns(self.T)
        self.sector_patterns, self.shared_patterns, self._rows = known.sectors, known.shared, known.rows
        self.barriers = self.atomics = self.stores = self.clock = 0
        self.watched: dict[tuple[int, int], int] = {}  # see checks.wrapping
        self.divergent: dict[tuple[int, int], int] = {}
        self.fresh_taint: ndarray | None = None
        self.printed: list[str] = []
        self.active: deque[Batch] = deque()
        self.extents: dict[int, tuple[int, int]] = {}
        self.shared_states = known.states  # chains of clean shared accesses: see checks.shared
        self.argument_names: dict[str, str] = {}
        self.by_argument: dict[str, Allocation] = {}
        self.tensor_maps: dict[int, Allocation] = {}  # number of a tensor map → the memory of its array
        self.tiles: dict[int, str] = {}  # tensor copy → the shared array that it fills
        self.tma_load_bytes = self.tma_store_bytes = self.tma_requests = self.tma_sectors = self.tma_load_sectors = self.tma_store_sectors = 0
        self.fetched_again = 0  # sectors of global loads beyond those that each warp's request touches: cp.async.cg
        self.local_arrays: dict[str, tuple[str, tuple[int, ...] | None]] = {}
        # whether what each thread knows of the others is followed: see checks.happened
        self.follows = check and (program.asynchronous or checks.some_warps_meet(program))
        self.first_arrivals: dict[int, dict[str, Any]] = {}  # numbered barrier → the first bar.arrive there; see checks.named_barriers
        self.awaited: set[int] = set()  # numbered barriers at which somebody waited
        self.barrier_sites: dict[tuple[int, int], int] = {}
        # thread of its block → (line, operation, lane) of its first shuffle from an absent lane
        self.absent_sources: dict[int, tuple[int | None, str, int]] = {}
        self.known_shared: Any = None  # see checks.shared.SharedCheck.finish; so are the next two
        self.used_shared: Any = None
        self.stored_shared: Any = None
        self.atomic_sectors = self.steps = 0
        self.source = ""
        self.faults = checks.Faults(self)
        self.init = checks.Initialised(self)
        self.races = checks.GlobalRaces(self)
        self.order = checks.Order(self)

    # ------------------------------------------------------------------ what generated code asks

    def parameter(self, name: str, offset: int, dtype) -> Any:
        key = (name, offset, dtype)
        got = self._parameters.get(key)
        if got is None:
            size = np.dtype(dtype).itemsize
            value = self.params[name][offset : offset + size].view(dtype)[0]
            got = self._parameters[key] = value if dtype in (f32, f64) else int(value)
        return got

    def intern_rows(self, rows: ndarray) -> int:
        return self._rows.setdefault(rows.tobytes(), len(self._rows))

    def compile(self, code: Code, pc: int) -> Callable:
        run = code.run(pc)
        self.extend_counts()
        return run

    def extend_counts(self) -> None:
        """Compiling a block may have numbered further memory instructions."""
        while len(self.counts) < len(self.program.sites):
            self.counts.append([0, 0])

    def executed_of(self, code: Code) -> tuple[list[int], list[int]]:
        got = self.executed.get(code.number)
        if got is None:
            got = self.executed[code.number] = ([0] * len(code.blocks), [0] * len(code.blocks))
        return got

    # ------------------------------------------------------------------ shared variables

    def shared_variables(self) -> list[Placed]:
        dynamic = [Placed(v.name, self.program.dynamic_offset, self.shared_bytes, True) for v in self.program.dynamic[:1]]
        return [*self.program.shared.values(), *dynamic]

    def knows_shared(self, iid: int) -> bool:
        origin = self.program.sites[iid].origin
        return origin is not None and any(self._is_named(v, origin) for v in self.shared_variables())

    def _is_named(self, v: Placed, origin: str | None) -> bool:
        """Whether a shared variable is `origin`; the dynamic ones all lie at one address."""
        return v.name == origin or (v.extern and any(d.name == origin for d in self.program.dynamic))

    def shared_extent(self, iid: int, low: int) -> tuple[int, int]:
        """Offsets (from, to) of the variable that a shared access belongs to: by its provenance, else the one that holds `low`."""
        got = self.extents.get(iid)
        if got is not None:
            return got
        variables = self.shared_variables()
        origin = self.program.sites[iid].origin
        for v in variables:
            if self._is_named(v, origin):
                got = self.extents[iid] = (v.offset, v.offset + v.size)
                return got
        for v in variables:
            if v.offset <= low < v.offset + v.size:
                return v.offset, v.offset + v.size
        return SHARED_BASE, SHARED_BASE

    def inside_shared(self, offsets: ndarray, total: int) -> ndarray:
        """Which offsets lie in some shared variable."""
        inside = np.zeros(len(offsets), bool)
        for v in self.shared_variables():
            inside |= (offsets >= v.offset) & (offsets + total <= v.offset + v.size)
        return inside

    def local_extent(self, g: Group, iid: int, low: int) -> tuple[int, int]:
        """Offsets of the local array that an access belongs to."""
        stack, code = g.stack, g.code
        origin = self.program.sites[iid].origin
        placed = code.locals.get(origin) if origin else None
        if placed is not None:
            return stack + placed.offset, stack + placed.offset + placed.size
        return 0, stack + code.local_size

    # ------------------------------------------------------------------ names for messages

    def learn_names(self, signature, module, kernel: str) -> None:
        """Arrays as the source declares them."""
        arrays = signature.shared_arrays(module.source, kernel, module.defines)
        self.faults.arrays = arrays
        self.local_arrays = signature.local_arrays(module.source, kernel, module.defines)

    def argument_name(self, origin: str | None) -> str | None:
        return self.argument_names.get(origin.split("+")[0]) if origin else None

    def source_line(self, line: int | None) -> str:
        lines = self.source.splitlines()
        return lines[line - 1] if line and line <= len(lines) else ""

    def array_name(self, site) -> str | None:
        """The array of a memory instruction as the source names it."""
        if site.origin is None:
            return None
        return self.argument_name(site.origin) or self.faults.variable(site.origin)[0]

    def local_name(self, site) -> str | None:
        if len(self.local_arrays) == 1:
            return next(iter(self.local_arrays))
        text = self.source_line(site.line)
        return next((name for name in self.local_arrays if name in text), None)

    def print(self, text: str) -> None:
        """Keep what printf wrote, up to the limit."""
        if self.print_full:
            return
        self._printed += len(text)
        if self._printed > PRINT_LIMIT:
            self.print_full = True
            text = f"... (the output goes on; {PRINT_LIMIT} characters are kept)\n"
        self.printed.append(text)

    _printed = 0
    print_full = False

    def wgmma_wavefronts(self, i) -> int:
        """What a wgmma reads of shared memory, in pieces of 128 bytes."""
        from .instructions import wgmma

        return wgmma.wavefronts(i)

    def extra_flops(self, i) -> int:
        """Operations of a warp-wide matrix instruction."""
        if i.opcode == "wgmma":
            from .instructions import wgmma

            return wgmma.flops(i)
        if i.opcode not in ("mma", "wmma"):
            return 0
        from .instructions import tensor

        return tensor.flops(i)

    # ------------------------------------------------------------------ events

    def diverged(self, g: Group) -> None:
        key = (g.code.number, g.pc)
        self.divergent[key] = self.divergent.get(key, 0) + 1

    def left(self, g: Group) -> None:
        self.order.left(g)
        self.steps = max(self.steps, g.steps)
        self._came_to_an_end()

    def absent_lane(self, g: Group, index: int, absent: ndarray, lanes: ndarray) -> None:
        """A shuffle read lanes that don't take part; `lanes` are the lane numbers wanted."""
        if not self.check:
            return
        self.fresh_taint = absent
        if not g.taint:  # no earlier value of the kind is alive
            self.absent_sources = {}
        line, operation = g.code.graph.body[index].line or None, checks.warp_operation(self.faults, g)
        for row in np.flatnonzero(absent.any(axis=1)):
            column = min(int(absent[row].argmax()), lanes.shape[1] - 1)
            self.absent_sources.setdefault(int(g.rows[row]), (line, operation, int(lanes[row, column])))

    def tainted_run(self, code: Code, pc: int) -> Callable:
        return checks.tainted_run(self, code, pc)

    def turns(self) -> list[ndarray]:
        """Threads in the sets that run one after the other: all together, or (for other schedules) some warps before others."""
        if self.schedule == 0 or self.W == 1:
            return [np.arange(self.T)]
        rng = np.random.default_rng(self.schedule)
        size = 128 if self.program.warpgroups else 32
        parts = rng.permutation(-(-self.T // size))
        return [np.flatnonzero(np.isin(np.arange(self.T) // size, part)) for part in np.array_split(parts, min(3, len(parts)))]

    # ------------------------------------------------------------------ running

    def run(self) -> None:
        per = max(1, LANES // self.T)
        if self.schedule:
            per = max(1, per // 2)
        local = self.program.main.local_size
        if local:
            per = min(per, max(1, LocalMemory.LIMIT // (local * self.T)))
        per = min(per, self.blocks)
        per = -(-self.blocks // -(-self.blocks // per))  # batches of equal size
        per = -(-per // self.cluster) * self.cluster
        resident = max(SM_BLOCKS, per)
        turn = 0
        # ex2 of −inf, overflow to inf, 0/0: no faults on a GPU
        with np.errstate(all="ignore"):
            while self.started < self.blocks or self.active:
                room = self.started < self.blocks and self._running < resident
                if not self.active or (room and self._round_over):
                    self._start(per)
                    self._round_over = False
                # the oldest batch has every other turn, so that it ends soon; the others may be what it waits for
                turn += 1
                batch = self.active[0 if turn % 2 or len(self.active) == 1 else 1 + turn // 2 % (len(self.active) - 1)]
                if batch.run(QUANTUM if len(self.active) == 1 else TURN):
                    self.active.remove(batch)
                    self._finished(batch.B)
                    continue
                self._round_over |= turn % QUIET == 0
                if batch.spun == self.stores and all(b.spun == self.stores for b in self.active):
                    if self.started == self.blocks or self._running >= resident:
                        self.endless(self.active[0])
                    self._round_over = True

    def _start(self, per: int) -> None:
        """The next blocks get a batch."""
        batch = Batch(self, self._ids(self.started, min(self.started + per, self.blocks)))
        local = self.program.main.local_size
        if local and not batch.local.reserve(local):
            self.faults.local_too_large(local)
            raise Stop
        self.started += batch.B
        self.active.append(batch)

    def _ids(self, start: int, stop: int) -> ndarray:
        """Numbers of the blocks that run as start, …, stop − 1."""
        shuffled = self.schedule and self.blocks <= SHUFFLED
        if not shuffled and self.cluster == 1:
            return np.arange(start, stop)
        if self._order is None:
            order = order_of_blocks(self.grid, self.cluster_dims).reshape(-1, self.cluster)
            self._order = (np.random.default_rng(self.schedule).permutation(order) if shuffled else order).ravel()
        return self._order[start:stop]

    def _finished(self, blocks: int) -> None:
        self.finished += blocks
        if self.limited and self.work / self.finished * self.blocks > LAUNCH:
            self.faults.too_much_work(self.finished, self.work / self.finished * self.blocks / 1e9)
            raise Stop

    def _came_to_an_end(self) -> None:
        """Some threads did: patience begins anew."""
        self.patience_began = self.work
        self.patience = self.work + PATIENCE if self.limited else float("inf")

    def impatient(self, g: Group) -> None:
        """A group has gone beyond a limit: an endless loop, unless its loops count towards a bound and there is still time."""
        if g.steps <= self.max_steps and self.work <= self.patience_began + COUNTED and counts_towards_a_bound(g):
            self.patience = self.work + PATIENCE // 8  # ask again later
            return
        self.faults.step_limit(g)
        raise Stop

    def endless(self, batch: Batch) -> None:
        """Whatever could run waits in a loop for a store that nobody will do."""
        self.faults.step_limit(next(g for g in batch.groups if g.idle == self.stores), unchanged=True)
        raise Stop

    _round_over = False
    _order: ndarray | None = None

    @property
    def _running(self) -> int:
        return sum(b.B for b in self.active)
