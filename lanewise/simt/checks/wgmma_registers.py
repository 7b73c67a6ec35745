"""Which registers products may still be writing at an instruction that uses them: found once, from the code alone.

A forward data-flow over the blocks of a function (Aho et al., Compilers, 9.3): for every register the products that its value may come from
(moves pass it on, as compilers insert them), for every product how many groups were committed since it was issued at the least. A wait for all but
n groups ends what is older. What is suspicious here is looked at when it is executed: see `checks.wgmma.register_used`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..blocks import Block, Graph, reads, writes
from ..ptx import Imm, Instruction, Reg, Vector

OLDEST = 15  # groups: no kernel has more under way


@dataclass(slots=True)
class Use:
    """Products (indices of instructions) whose result an instruction may use too early, through `register`; `adds`: another product adds to it.

    `changes`: it writes a register of A that they may still be reading.
    """

    products: frozenset[int]
    register: str
    adds: bool = False
    changes: bool = False


@dataclass(slots=True)
class Registers:
    used: dict[int, Use] = field(default_factory=dict)  # index of an instruction → what it uses
    changed: dict[int, Use] = field(default_factory=dict)  # index of an instruction → what of A it writes
    unfenced: set[int] = field(default_factory=set)  # products with registers that others used since the last wgmma.fence
    unset: set[int] = field(default_factory=set)  # products with accumulators that nothing has written, whatever the path
    during: set[int] = field(default_factory=set)  # instructions of other families that run while a product is under way, on some path


@dataclass(slots=True)
class _State:
    origin: dict[str, frozenset[int]]
    held: dict[str, frozenset[int]]  # register → products that read it as part of A
    age: dict[int, int]
    touched: frozenset[str]  # by others than products, since the last wgmma.fence
    unset: set[str]  # never written on any path

    def copy(self) -> _State:
        return _State(dict(self.origin), dict(self.held), dict(self.age), self.touched, set(self.unset))

    def join(self, other: _State) -> bool:
        """Take over what may also be; whether that was anything new."""
        changed = False
        for mine, theirs in ((self.origin, other.origin), (self.held, other.held)):
            for name, products in theirs.items():
                old = mine.get(name, frozenset())
                if not products <= old:
                    mine[name] = old | products
                    changed = True
        for product, age in other.age.items():
            if age < self.age.get(product, OLDEST + 1):
                self.age[product] = age
                changed = True
        if not other.touched <= self.touched:
            self.touched |= other.touched
            changed = True
        if not self.unset <= other.unset:
            self.unset &= other.unset
            changed = True
        return changed


def analyse(graph: Graph) -> Registers | None:
    """None where the function has no wgmma."""
    if not any(i.opcode == "wgmma" for i in graph.body):
        return None
    found = Registers()
    before: list[_State | None] = [None] * len(graph.blocks)
    accumulators = {name for i in graph.body if i.opcode == "wgmma" and i.modifiers[0] == "mma_async" for name in _names(i.operands[0])}
    sources = {name for i in graph.body if i.opcode == "mov" and not accumulators.isdisjoint(_names(i.operands[0])) for name in _names(i.operands[1])}
    before[0] = _State({}, {}, {}, frozenset(), accumulators | sources)
    waiting = [0]
    while waiting:
        index = waiting.pop()
        entry = before[index]
        assert entry is not None
        after = _through(graph, graph.blocks[index], entry.copy(), found, accumulators)
        for successor in graph.blocks[index].successors:
            known = before[successor]
            if known is None:
                before[successor] = after.copy()
                waiting.append(successor)
            elif known.join(after) and successor not in waiting:
                waiting.append(successor)
    found = Registers()  # what was found on the way held for the paths seen so far
    for block, state in zip(graph.blocks, before, strict=True):
        if state is not None:
            _through(graph, block, state, found, accumulators)
    return found


def _through(graph: Graph, block: Block, s: _State, found: Registers, accumulators: set[str]) -> _State:
    for offset, i in enumerate(block.instructions):
        index = block.start + offset
        if s.age and i.opcode != "wgmma":
            found.during.add(index)
        for name in writes(i) if s.held and i.opcode != "wgmma" else ():
            products = s.held.get(name)
            if products:
                found.changed[index] = Use(products, name, changes=True)
        if i.opcode == "wgmma":
            _wgmma(graph, index, i, s, found)
        elif i.opcode == "mov":
            _move(i, s)
        else:
            _use(index, reads(i), s, found, False)
            s.touched |= accumulators.intersection(reads(i))  # a product may not overwrite them without a fence, either
            made = writes(i)
            for name in made:
                s.origin.pop(name, None)
            if made:
                s.touched |= frozenset(made)
                s.unset.difference_update(made)
    return s


def _use(index: int, names: list[str], s: _State, found: Registers, adds: bool) -> None:
    for name in names:
        products = s.origin.get(name)
        if products:
            known = found.used.get(index)
            found.used[index] = Use(products | known.products if known else products, name, adds)


def _names(operand) -> list[str]:
    items = operand.items if isinstance(operand, Vector) else (operand,)
    return [x.name for x in items if isinstance(x, Reg)]


def _wgmma(graph: Graph, index: int, i: Instruction, s: _State, found: Registers) -> None:
    what = i.modifiers[0]
    if what == "fence":
        s.touched = frozenset()
    elif what == "commit_group":
        s.age = {product: min(age + 1, OLDEST) for product, age in s.age.items()}
    elif what == "wait_group":
        left = i.operands[0].value if isinstance(i.operands[0], Imm) else 0
        ended = {product for product, age in s.age.items() if age > left}
        s.age = {product: age for product, age in s.age.items() if product not in ended}
        if ended:
            s.origin = {name: rest for name, products in s.origin.items() if (rest := products - ended)}
            s.held = {name: rest for name, products in s.held.items() if (rest := products - ended)}
    elif what == "mma_async":
        accumulators = _names(i.operands[0])
        others = [name for operand in i.operands[1:4] for name in _names(operand)]
        _use(index, others, s, found, False)
        for name in accumulators:  # a chain of products of one shape may go on adding
            products = s.origin.get(name, frozenset())
            if any(graph.body[k].modifiers != i.modifiers for k in products):
                _use(index, [name], s, found, True)
        held = _names(i.operands[1]) if isinstance(i.operands[1], Vector) else []
        for name in held:
            s.held[name] = s.held.get(name, frozenset()) | {index}
        if not s.touched.isdisjoint(accumulators + held):
            found.unfenced.add(index)
        s.touched -= frozenset(accumulators)
        adds = i.operands[3]
        if not s.unset.isdisjoint(accumulators) and not (isinstance(adds, Imm) and not adds.value):
            found.unset.add(index)
        s.unset.difference_update(accumulators)
        for name in accumulators:
            s.origin[name] = frozenset((index,))
        s.age[index] = 0


def _move(i: Instruction, s: _State) -> None:
    targets, sources = _names(i.operands[0]), _names(i.operands[1])
    if not sources or not s.unset.issuperset(sources):
        s.unset.difference_update(targets)
    elif i.predicate is None:
        s.unset.update(targets)
    products = frozenset().union(*(s.origin.get(name, frozenset()) for name in sources))
    for name in targets:
        here = products | s.origin.get(name, frozenset()) if i.predicate is not None else products
        if here:
            s.origin[name] = here
        else:
            s.origin.pop(name, None)
    if not s.touched.isdisjoint(sources):  # a constant counts for nothing: compilers move zeros down past the fence
        s.touched |= frozenset(targets)
    elif i.predicate is None:
        s.touched -= frozenset(targets)
