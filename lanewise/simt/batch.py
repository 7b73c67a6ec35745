"""A batch of blocks that run side by side: their groups of lanes, their barriers, their shared and local memory.

The group furthest behind runs first, so lanes that took different paths meet again where the paths join. Groups wait at barriers, and at warp-wide
instructions for the lanes their mask names: see barriers. Blocks that take different paths part into batches of their own: blocks depend on each
other only through global memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import apart
from .barriers import release
from .checks import Happened, SharedCheck, proxy, waiting
from .checks.cluster import ClusterCheck
from .group import Group
from .mbarrier_waits import woken_by_time
from .meeting import freed, together
from .memory import LocalMemory, SharedMemory
from .progress import Watch
from .values import ndarray

if TYPE_CHECKING:
    from .checks.named_barriers import Arrivals
    from .machine import Machine

_READY = ("", "forced", "freed")
_NOTED = -2  # came_from of lanes that met at the end: `last_pc` knows it already
PATIENT = 8192  # picks that a group may be passed over for others
GIVE_WAY = 128  # steps without a store after which other batches get a turn, if all groups may be waiting
PATIENT_WITH_SPINS = 32  # the same, where the others may be waiting for it


class Batch:
    def __init__(self, machine: Machine, ids: ndarray):
        self.machine, self.ids = machine, ids
        self.T, self.W, self.B = machine.T, machine.W, len(ids)
        self.shared = SharedMemory(machine.shared_size, self.B)
        self.local = LocalMemory(self.T, self.B)
        self.exited = np.zeros((self.T, self.B), bool)
        self.last_pc = np.full((self.T, self.B), -1)  # block in which each thread that has left did its last work
        self.arrived: dict[int, ndarray] = {}  # bar.arrive: barrier → threads per block
        self.arriving: dict[int, ndarray] = {}  # barrier → which threads have arrived while others of their warp have not
        self.arrived_on: dict[int, ndarray] = {}  # barrier → the line on which each warp has arrived (−1: unknown), 0: not since it was complete last
        self.gone_past: dict[tuple[int, int], ndarray] = {}  # barrier → threads × blocks who went past it while others came: see checks
        self.met_ahead: dict[tuple[int, int], Any] = {}  # (warp, block) → what to say of two shuffles that met: see apart
        self.last_met: dict[int, tuple[int, ndarray, int | None]] = {}  # barrier → (time, threads × blocks who waited, line) when it was complete last
        self.arrivals: dict[int, Arrivals] = {}  # barrier → the last of them, for messages
        self.published: dict[int, ndarray] = {}  # and what they knew and had done; see checks.happened
        self.time = 1  # counts barriers and warp barriers: what the race check orders accesses by
        self.last_sync = 1
        self.warp_sync: ndarray | None = None  # time of each thread's last __syncwarp of its whole warp
        self.partial_syncs: list[tuple[int, ndarray]] = []  # (time, threads × blocks: equal if not 0, they met): masks, named barriers
        self.fences: ndarray | None = None  # time of each thread's last fence: see checks.order
        self.happened: Happened | None = Happened(self) if machine.follows else None
        self.shared_check: Any = SharedCheck(self)
        self.cluster: Any = None  # barriers of the batch's clusters: see clusters
        if machine.cluster > 1 and machine.check:
            self.shared_check = ClusterCheck(self.shared_check, self)
        if self.happened is not None:
            proxy.watched(self)
        self.mbarriers: Any = None  # see mbarriers
        self.bulk: Any = None  # bulk stores under way: see instructions.bulk_groups
        self.copies: Any = None  # asynchronous copies under way: see instructions.copies
        self.wgmma: Any = None  # asynchronous products under way: see instructions.wgmma_state
        self.registers: Any = None  # of each warpgroup: see instructions.registers
        self.groups: list[Group] = []
        self.picks, self.spun, self.watch = 0, -1, Watch()
        entry = machine.program.main
        machine.executed_of(entry)
        for turn, rows in enumerate(machine.turns()):
            group = Group(self, rows, None, 0, [None] * len(entry.slot_types), entry)
            group.turn = turn
            self.groups.append(group)

    # ------------------------------------------------------------------ scheduling

    def run(self, quantum: int) -> bool:
        """Execute up to `quantum` blocks of code; True when every thread has left. `spun` then says whether all that could run only wait for a store."""
        machine = self.machine
        limit = machine.max_steps
        done, self.spun = 0, -1
        while done < quantum:
            if not self.groups:
                break
            g = self._next()
            if g is None:
                if self._freed():
                    continue
                if any(x.idle == machine.stores and x.waits in _READY for x in self.groups):
                    self.spun = machine.stores
                    return False
                self._stuck()
                continue
            code = g.code
            blocks, runs, costs = code.blocks, code.runs, code.costs
            executed = machine.executed_of(code)
            alone = len(self.groups) == 1
            pc = g.pc
            repeated = False
            while True:
                kind = blocks[pc].kind
                if kind == "warp" and not together(self, g):
                    apart.meet(self, g)
                    break
                if self.met_ahead and kind != "plain":
                    apart.level(self, g)
                executed[0][pc] += g.nwarps
                executed[1][pc] += g.nlanes
                fixed, each = costs[pc]
                machine.work += fixed + each * g.nlanes
                g.steps += 1
                done += 1
                run = runs[pc]
                if run is None:
                    run = machine.compile(code, pc)
                if g.taint is not None:
                    run = machine.tainted_run(code, pc)
                following = run(g)
                if following < 0:
                    if machine.work > machine.patience and self.groups:
                        machine.impatient(g if g in self.groups else self.groups[-1])
                    break
                g.came_from = pc
                back = following <= pc
                pc = g.pc = following
                if g.steps > limit or machine.work > machine.patience:
                    machine.impatient(g)
                if not alone or done >= quantum:
                    break
                if back:
                    repeated = self.watch.repeats(self, g)
                    if repeated or (self.watch.seen > GIVE_WAY and len(machine.active) > 1):
                        break
            machine.clock += 1
            if repeated or (not alone and self.watch.repeats(self, g)):
                self.watch.settle(self)
            elif len(machine.active) > 1 and self.watch.seen > GIVE_WAY and self.groups and all(x.waits not in _READY or self._spins(x) for x in self.groups):
                return False
        if not self.groups and self.machine.check:
            self.shared_check.finish()
        return not self.groups

    def _next(self) -> Group | None:
        """The group to run: the one furthest behind, unless it only spins; None if nobody can run, or all that could spin."""
        groups = self.groups
        version = self.machine.stores
        if len(groups) == 1:
            g = groups[0]
            g.ran = self.picks = self.picks + 1
            return g if g.waits in _READY and g.idle != version else None
        self._meet()
        ready = [g for g in self.groups if g.waits in _READY and g.idle != version]
        if not ready:
            return None
        self.picks += 1
        g = min(ready, key=lambda g: (g.turn, -len(g.frames), g.pc))
        if self.picks - ready[0].ran > (PATIENT_WITH_SPINS if self._spins(g) else PATIENT):
            g = ready[0]
        self.groups.remove(g)
        self.groups.append(g)
        g.ran = self.picks
        return g

    def _spins(self, g: Group) -> bool:
        """Whether it may be waiting for others, though its registers change (it counts its tries, say): its loop looks at memory; no stores of late."""
        return self.watch.seen > PATIENT_WITH_SPINS and g.pc in g.code.graph.looking

    def _meet(self) -> None:
        """Merge groups that stand at the same place."""
        while True:
            seen: dict[tuple, Group] = {}
            for g in self.groups:
                if g.waits in ("barrier", "mbarrier", "freed"):
                    continue
                other = seen.get(g.place)
                if other is not None:
                    self.groups.remove(g)
                    self.groups.remove(other)
                    merged = other.merged(g)
                    if self.only_returns(g) and g.came_from != other.came_from:
                        self._note_last(g, g.came_from)
                        self._note_last(other, other.came_from)
                        merged.came_from = _NOTED
                    merged.waits = ""  # more lanes have come: look again
                    merged.held = None
                    self.groups.append(merged)
                    break
                seen[g.place] = g
            else:
                return

    def replace(self, old: Group, *new: Group) -> None:
        self.groups.remove(old)
        self.groups.extend(new)

    # ------------------------------------------------------------------ parting

    def split(self, keep: ndarray) -> Batch:
        """Move the blocks where `keep` is False to a new batch, which the machine will run too; returns it."""
        rest = Batch.__new__(Batch)
        rest.machine, rest.T, rest.W = self.machine, self.T, self.W
        stay, go = np.flatnonzero(keep), np.flatnonzero(~keep)
        rest._become(self, go)
        self._become(self, stay)
        self.machine.active.append(rest)
        return rest

    def _become(self, source: Batch, columns: ndarray) -> None:
        """Take over the given blocks of `source` (which may be this batch)."""
        groups = source.groups
        ids, exited = source.ids[columns], source.exited[:, columns]
        self.last_pc = source.last_pc[:, columns]
        shared, local = source.shared.columns(columns), source.local.columns(columns)
        arrived, published = {k: v[columns] for k, v in source.arrived.items()}, dict(source.published)
        last_met, met_ahead = source.last_met, source.met_ahead
        self.gone_past = {k: v[:, columns] for k, v in source.gone_past.items()}
        arriving, arrived_on = ({k: v[:, columns] for k, v in d.items()} for d in (source.arriving, source.arrived_on))
        warp_sync = None if source.warp_sync is None else source.warp_sync[:, columns] if source.warp_sync.shape[1] > 1 else source.warp_sync
        partial = [(t, m[:, columns] if m.shape[1] > 1 else m) for t, m in source.partial_syncs]
        check = source.shared_check.columns(self, columns)
        happened = None if source.happened is None else source.happened.columns(self)
        mbarriers = None if source.mbarriers is None else source.mbarriers.columns(self, columns)
        self.copies = None if source.copies is None else source.copies.columns(self, columns)
        self.wgmma = None if source.wgmma is None else source.wgmma.columns(self, columns)
        self.cluster = None if source.cluster is None else source.cluster.columns(self, columns)
        self.registers = None if source.registers is None else source.registers.columns(self, columns)
        self.fences = None if source.fences is None else source.fences[:, :, columns]
        self.time, self.last_sync, self.picks, self.spun, self.watch = source.time, source.last_sync, source.picks, -1, Watch()
        old_b = source.B
        new_groups = []
        for g in groups:
            g.batch = _Width(source.T, source.W, old_b, source.machine)  # type: ignore[assignment]
            self.B = len(columns)
            child = g.columns(self, columns)
            g.batch = source
            if child is not None:
                new_groups.append(child)
        self.B = len(columns)
        self.ids, self.exited, self.shared, self.local = ids, exited, shared, local
        self.arrived, self.published, self.warp_sync, self.partial_syncs, self.shared_check = arrived, published, warp_sync, partial, check
        self.arrivals, self.arriving, self.arrived_on = dict(source.arrivals), arriving, arrived_on
        where = {int(column): k for k, column in enumerate(columns)}
        self.met_ahead = {(warp, where[column]): finding for (warp, column), finding in met_ahead.items() if column in where}
        self.last_met = {k: (time, met[:, columns], line) for k, (time, met, line) in last_met.items()}
        self.happened, self.mbarriers = happened, mbarriers
        self.bulk = None if source.bulk is None else source.bulk.columns(self)
        self.groups = new_groups
        for g in self.groups:
            g.resized()

    # ------------------------------------------------------------------ leaving

    def leave(self, g: Group) -> int:
        """The lanes of this group have finished the kernel."""
        self.exited[g.rows if g.cols is None else (g.rows, g.cols)] = True
        self._note_last(g, g.came_from if self.only_returns(g) else g.pc)
        self.machine.left(g)
        self.groups.remove(g)
        if self.cluster is not None:
            self.cluster.settle()  # who has left is not waited for
        return -1

    def _note_last(self, g: Group, pc: int) -> None:
        if pc != _NOTED:
            self.last_pc[g.rows if g.cols is None else (g.rows, g.cols)] = pc

    def only_returns(self, g: Group) -> bool:
        """Whether the group stands at a block that does nothing but leave the kernel."""
        instructions = g.code.blocks[g.pc].instructions
        return not g.frames and instructions[0].opcode in ("ret", "exit") and instructions[0].predicate is None

    # ------------------------------------------------------------------ nobody can run

    def _freed(self) -> bool:
        """Let those go on whose barrier, or warp operation, waits only for threads that have left the kernel meanwhile."""
        if any(g.waits == "barrier" and release(self, g.held.id, g.held.count) for g in self.groups):
            return True
        if any(g.waits == "warp" and apart.meet(self, g, ahead) for ahead in (False, True) for g in self.groups):
            return True
        return any(g.waits == "warp" and freed(self, g) for g in self.groups)

    def _stuck(self) -> None:
        """Nobody can run, and no barrier is complete: wake warp waiters with a report, or report the deadlock."""
        if woken_by_time(self):
            return
        if any(g.waits == "mbarrier" for g in self.groups):
            waiting.deadlock(self.machine.faults, self)
            self.groups.clear()
            return
        waiters = [g for g in self.groups if g.waits == "warp"]
        if waiters:
            for g in waiters:
                waiting.missing_lanes(self.machine.faults, g)
                g.waits = "forced"
            return
        waiting.deadlock(self.machine.faults, self)
        self.groups.clear()


@dataclass(slots=True)
class _Width:
    """Stands for a batch of another width while its groups are cut into columns."""

    T: int
    W: int
    B: int
    machine: object
