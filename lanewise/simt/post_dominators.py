"""Where the lanes of a branch meet again, from the graph of blocks alone: Cooper, Harvey and Kennedy's iteration.

Source: "A simple, fast dominance algorithm", 2001.
"""

from __future__ import annotations

from collections.abc import Sequence


def joins(successors: Sequence[tuple[int, ...]], leaves: Sequence[bool]) -> list[int | None]:
    """Per block, where the lanes of its branch meet again; None: only at the end of the function, or it doesn't branch. `leaves`: its last instruction does.

    These are immediate post-dominators over the reversed graph, whose root is a virtual exit behind all blocks that leave.
    """
    root = len(successors)
    after = [list(following) or [root] for following in successors]
    for gone, following in zip(leaves, after, strict=True):  # a predicated ret leaves and falls through
        if gone and root not in following:
            following.append(root)
    before: list[list[int]] = [[] for _ in range(root + 1)]
    for index, following in enumerate(after):
        for successor in following:
            before[successor].append(index)
    order: list[int] = []  # postorder of the reversed graph
    seen = [False] * (root + 1)
    seen[root] = True
    stack = [(root, iter(before[root]))]
    while stack:
        node, rest = stack[-1]
        for caller in rest:
            if not seen[caller]:
                seen[caller] = True
                stack.append((caller, iter(before[caller])))
                break
        else:
            stack.pop()
            order.append(node)
    rank = {node: position for position, node in enumerate(order)}
    parent: dict[int, int] = {root: root}
    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            best: int | None = None
            for successor in after[node]:
                if successor not in parent:
                    continue
                if best is None:
                    best = successor
                    continue
                left, right = best, successor
                while left != right:
                    while rank[left] < rank[right]:
                        left = parent[left]
                    while rank[right] < rank[left]:
                        right = parent[right]
                best = left
            if best is not None and parent.get(node) != best:
                parent[node] = best
                changed = True
    met = [parent.get(index, root) if len(following) > 1 else root for index, following in enumerate(after)]
    return [None if meeting == root else meeting for meeting in met]
