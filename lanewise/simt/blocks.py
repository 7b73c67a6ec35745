"""Instructions of a function → basic blocks with liveness and joins, as the machine runs them.

Barriers, warp-wide instructions and calls stand alone in their block, so that the machine can park or gather lanes between two blocks and
never inside one. Liveness is the textbook backward dataflow over bit sets kept in Python ints (Aho et al., Compilers, 9.2.5); for joins
see `post_dominators`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from .post_dominators import joins
from .ptx import Address, Function, Imm, Instruction, Operand, Reg, Vector

CARRY = "%cc"  # the carry flag of add.cc / addc, kept like a register
_WARP = {"shfl", "vote", "match", "redux", "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "elect", "wgmma", "setmaxnreg"}
_ENDS = {"ret", "exit", "trap"}
_LEAVES = {"bra", "brx", *_ENDS}
_NO_RESULT = {
    "st", "red", "bra", "brx", "ret", "exit", "trap", "brkpt", "membar", "fence", "cp", "prefetch", "prefetchu", "nanosleep", "stmatrix", "setmaxnreg",
    "discard", "applypriority", "griddepcontrol", "pmevent", "tensormap", "alloca", "stackrestore",
}  # fmt: skip


@dataclass(slots=True)
class Block:
    """`instructions` are `body[start:end]`. `successors`: for a conditional branch the target first, then the fall-through."""

    index: int
    start: int
    end: int
    instructions: list[Instruction]
    kind: str = "plain"  # plain, barrier, warp, call
    successors: tuple[int, ...] = ()
    live_in: frozenset[str] = frozenset()
    live_out: frozenset[str] = frozenset()
    live_in_slots: tuple[int, ...] = ()
    live_out_slots: tuple[int, ...] = ()
    join: int | None = None  # where the lanes of a branch meet again: the immediate post-dominator; None: only at the end of the function


@dataclass
class Graph:
    """The blocks of one function. `slots` numbers the registers that occur, in order of appearance."""

    function: Function
    body: list[Instruction]
    blocks: list[Block] = field(default_factory=list)
    slots: dict[str, int] = field(default_factory=dict)
    block_at: dict[int, int] = field(default_factory=dict)  # index of a block's first instruction → the block's index

    @cached_property
    def origins(self) -> dict[int, tuple[str | None, ...]]:
        """For every memory instruction: per address operand, the variable or parameter it is derived from. See `provenance.origins`."""
        from . import provenance

        return provenance.origins(self.function, self.body)

    @cached_property
    def provenance(self) -> dict[int, str | None]:
        """Instruction index → origin of its first address (a copy's destination); None where unknown or several."""
        return {index: names[0] for index, names in self.origins.items()}

    @cached_property
    def uses(self) -> dict[str, int]:
        """How many operands read each register."""
        counts: dict[str, int] = {}
        for instruction in self.body:
            for name in reads(instruction):
                counts[name] = counts.get(name, 0) + 1
        return counts

    @cached_property
    def looking(self) -> frozenset[int]:
        """Blocks in loops that look at what other threads do: volatile and ordered loads, fences, atomics whose result is used."""
        from .progress import loops

        found: set[int] = set()
        for body in loops(self):
            if any(self._looks(i) for index in body for i in self.blocks[index].instructions):
                found |= body
        return frozenset(found)

    def _looks(self, i: Instruction) -> bool:
        if i.opcode == "atom":
            return any(self.uses.get(name) for name in writes(i))
        return i.opcode in ("membar", "fence", "nanosleep") or (i.opcode == "ld" and not {"volatile", "acquire", "relaxed"}.isdisjoint(i.modifiers))

    def behind(self, index: int) -> frozenset[int]:
        """Blocks that may run after block `index` without jumping back to where a loop begins."""
        found: set[int] = set()
        queue = [index]
        while queue:
            for successor in self._forward[queue.pop()]:
                if successor not in found:
                    found.add(successor)
                    queue.append(successor)
        return frozenset(found)

    @cached_property
    def _forward(self) -> list[list[int]]:
        """Successors of every block, without the edges that close a loop: those to a block that a depth-first walk hasn't left yet."""
        blocks = self.blocks
        forward: list[list[int]] = [[] for _ in blocks]
        state = [0] * len(blocks)  # 1: being walked, 2: done
        stack = [(0, iter(blocks[0].successors))] if blocks else []
        while stack:
            index, rest = stack[-1]
            state[index] = 1
            for successor in rest:
                if state[successor] == 1:
                    continue
                forward[index].append(successor)
                if not state[successor]:
                    stack.append((successor, iter(blocks[successor].successors)))
                    break
            else:
                state[index] = 2
                stack.pop()
        return forward

    @cached_property
    def stored(self) -> set[str] | None:
        """Parameters and global variables that may be written or atomically updated; None: anything may be."""
        from . import provenance

        return provenance.stored(self.body, self.origins)


def kind_of(instruction: Instruction) -> str:
    """Which treatment an instruction needs: `barrier` (block or cluster), `warp`, `call`, else `plain`."""
    opcode = instruction.opcode
    if opcode in ("bar", "barrier"):
        return "warp" if "warp" in instruction.modifiers or for_whole_warps(instruction) else "barrier"
    return "warp" if opcode in _WARP else "call" if opcode == "call" else "plain"


def for_whole_warps(instruction: Instruction) -> bool:
    """Whether a block or cluster barrier is one that "all threads in the warp must execute" together (PTX ISA 9.7.13.1, 9.7.13.3: .aligned; bar always is).

    Not __syncthreads(): it is for the whole block, and what is said of it says who of the block lacks.
    """
    modifiers, operands = instruction.modifiers, instruction.operands
    if instruction.opcode not in ("bar", "barrier") or "warp" in modifiers or (instruction.opcode == "barrier" and "aligned" not in modifiers):
        return False
    if "cluster" in modifiers or "arrive" in modifiers:
        return True
    first = 1 if "red" in modifiers else 0
    number = operands[first]
    return len(operands) > 1 + 2 * first or not (isinstance(number, Imm) and number.value == 0)


def _alone(instruction: Instruction) -> bool:
    if instruction.opcode == "mbarrier":
        return "try_wait" in instruction.modifiers or "test_wait" in instruction.modifiers
    return kind_of(instruction) != "plain"


def _registers(operand: Operand, into: list[str]) -> None:
    if isinstance(operand, Reg):
        into.append(operand.name)
    elif isinstance(operand, Vector):
        for item in operand.items:
            _registers(item, into)
    elif isinstance(operand, Address):
        if isinstance(operand.base, Reg):
            into.append(operand.base.name)
        for item in operand.coords:
            _registers(item, into)


def has_result(instruction: Instruction) -> bool:
    """Whether the first operand is written."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in _NO_RESULT or not instruction.operands:
        return False
    if opcode in ("bar", "barrier"):
        return "red" in modifiers
    if opcode in ("wmma", "multimem"):
        return not ("store" in modifiers or modifiers[:1] in (("st",), ("red",)))
    if opcode == "wgmma":
        return "mma_async" in modifiers
    return not isinstance(instruction.operands[0], Address)  # mbarrier.init [a], 1 and the like


def writes(instruction: Instruction) -> list[str]:
    """Names of the registers an instruction writes (under its predicate, if it has one)."""
    names: list[str] = []
    if has_result(instruction):
        _registers(instruction.operands[0], names)
    if "cc" in instruction.modifiers:
        names.append(CARRY)
    return names


def reads(instruction: Instruction) -> list[str]:
    """Names of the registers an instruction reads, its predicate included."""
    names: list[str] = []
    if instruction.predicate is not None:
        names.append(instruction.predicate.name)
    operands = instruction.operands
    # wgmma adds into its accumulators; a call's first operand holds parameter names
    first = 0 if not has_result(instruction) or instruction.opcode == "wgmma" else 1
    for operand in operands[first:]:
        _registers(operand, names)
    for operand in instruction.args:
        _registers(operand, names)
    if instruction.opcode in ("addc", "subc", "madc"):
        names.append(CARRY)
    return names


def build(function: Function, body: list[Instruction]) -> Graph:
    """Cut `body` (from `ptx.body`) into blocks and work out successors, liveness and joins."""
    graph = Graph(function, body)
    _cut(graph)
    _liveness(graph)
    blocks = graph.blocks
    leaves = [block.instructions[-1].opcode in _ENDS for block in blocks]
    for block, join in zip(blocks, joins([block.successors for block in blocks], leaves), strict=True):
        block.join = join
    return graph


def targets(function: Function, instruction: Instruction) -> list[int]:
    """Indices of the instructions a `bra` or `brx.idx` may jump to, a table's in order."""
    label = str(instruction.operands[-1])
    labels = function.branch_targets[label] if instruction.opcode == "brx" else [label]
    return [function.labels[name] for name in labels]


def _cut(graph: Graph) -> None:
    body, function = graph.body, graph.function
    starts = {0}
    for index, instruction in enumerate(body):
        if instruction.opcode in _LEAVES:
            starts.add(index + 1)
            if instruction.opcode in ("bra", "brx"):
                starts.update(targets(function, instruction))
        elif _alone(instruction):
            starts.update((index, index + 1))
    starts.discard(len(body))
    order = sorted(starts) if body else []
    for number, start in enumerate(order):
        end = order[number + 1] if number + 1 < len(order) else len(body)
        kind = kind_of(body[start]) if end == start + 1 else "plain"
        graph.blocks.append(Block(number, start, end, body[start:end], kind))
        graph.block_at[start] = number
    for block in graph.blocks:
        last = block.instructions[-1]
        following: list[int] = []
        if last.opcode in ("bra", "brx"):
            following += [graph.block_at[target] for target in targets(function, last)]
        if (last.opcode not in _LEAVES or last.predicate is not None) and block.end < len(body):
            following.append(block.index + 1)
        block.successors = tuple(dict.fromkeys(following))


def _liveness(graph: Graph) -> None:
    slots, blocks = graph.slots, graph.blocks
    used, killed = [], []
    for block in blocks:
        use = kill = 0
        for instruction in block.instructions:
            for name in reads(instruction):
                bit = 1 << slots.setdefault(name, len(slots))
                if not kill & bit:
                    use |= bit
            written = writes(instruction)
            for name in written:
                bit = 1 << slots.setdefault(name, len(slots))
                if instruction.predicate is None:  # a predicated write may leave the old value
                    kill |= bit
        used.append(use)
        killed.append(kill)
    before = [0] * len(blocks)
    after = [0] * len(blocks)
    callers: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for successor in block.successors:
            callers[successor].append(block.index)
    waiting = list(range(len(blocks)))
    queued = [True] * len(blocks)
    while waiting:
        index = waiting.pop()
        queued[index] = False
        out = 0
        for successor in blocks[index].successors:
            out |= before[successor]
        after[index] = out
        new = used[index] | (out & ~killed[index])
        if new != before[index]:
            before[index] = new
            for caller in callers[index]:
                if not queued[caller]:
                    queued[caller] = True
                    waiting.append(caller)
    names = list(slots)
    sets: dict[int, tuple[tuple[int, ...], frozenset[str]]] = {}
    for block in blocks:
        block.live_in_slots, block.live_in = _unpack(before[block.index], names, sets)
        block.live_out_slots, block.live_out = _unpack(after[block.index], names, sets)


def _unpack(bits: int, names: list[str], known: dict[int, tuple[tuple[int, ...], frozenset[str]]]) -> tuple[tuple[int, ...], frozenset[str]]:
    found = known.get(bits)
    if found is None:
        numbers, rest = [], bits
        while rest:
            low = rest & -rest
            numbers.append(low.bit_length() - 1)
            rest ^= low
        found = known[bits] = (tuple(numbers), frozenset(names[number] for number in numbers))
    return found
