"""The running state of a softmax, told by the kernel, against the reference's: after which tile is it wrong first, and what mistake looks like that."""

from __future__ import annotations

import numpy as np

from lanewise.exercise import Data, Trace

UNTOLD = np.uint32(0x7FC0DEAD)  # a NaN that no arithmetic makes: the kernel left this entry alone
SLACK = 1e-5  # relative; sums so far are float32


def room(trace: Trace, data: Data) -> tuple[np.ndarray, np.ndarray]:
    """(expected float64, blank float32 for the kernel), both (axes…, steps, states)."""
    expected = np.asarray(trace.reference(data), dtype=np.float64)
    return expected, np.full(expected.shape, UNTOLD, np.uint32).view(np.float32)


def explain(trace: Trace, told: np.ndarray, expected: np.ndarray, rtol: float = SLACK) -> str:
    """Sentences about the earliest wrong state, for example "In row 0, after key tile 2: m expected 2, yours 2; l expected 1.135, yours 2."

    `told`, `expected`: (axes…, steps, states). Steps and axes are counted from 0 in arrays and in words for rows, from 1 for steps. "" where the kernel
    told nothing (its trace was taken out).
    """
    known = told.view(np.uint32) != UNTOLD
    if not known.any():
        return ""
    wrong = known & ~_near(told.astype(np.float64), expected, max(rtol, SLACK))
    names = f"({', '.join(trace.states)})"
    if not wrong.any():
        skipped = _left_out(trace, known.any(axis=-1), expected)
        if skipped:
            return skipped
        which = trace.step if known.all() else f"{trace.step} that the kernel works on"
        # Where the accumulator isn't told, it may be what is wrong.
        also = "" if any(name.startswith("acc") for name in trace.states) else "what else is carried along, and at "
        return f"The state {names} is right after every {which}: look at {also}what comes after the last one."
    steps = wrong.any(axis=-1)  # (axes…, steps)
    step = int(np.argmax(steps.reshape(-1, steps.shape[-1]).any(axis=0)))
    place = np.unravel_index(int(np.argmax(steps[..., step])), steps.shape[:-1])
    yours, right = told[(*place, step)], expected[(*place, step)]
    each = "; ".join(f"{name} expected {_number(b)}, yours {_number(a)}" for name, a, b in zip(trace.states, yours, right, strict=True))
    where = ", ".join(f"{axis} {int(index)}" for axis, index in zip(trace.axes, place, strict=True))
    before = None if step == 0 else (told[(*place, step - 1)], expected[(*place, step - 1)])
    words = [f"In {where}, after {trace.step} {step + 1}: {each}.", _cause(trace, yours, right, before), _rows(trace, steps.any(axis=-1), expected)]
    return " ".join(filter(None, words))


def _left_out(trace: Trace, told: np.ndarray, expected: np.ndarray) -> str:
    """The first step that the kernel says nothing about though its keys change the state, or "". `told`: (axes…, steps).

    A tile without an allowed key may be skipped: it leaves the state as it was.
    """
    if "m" not in trace.states:
        return ""
    nothing = np.zeros_like(expected[..., :1, :])
    nothing[..., trace.states.index("m")] = -np.inf
    before = np.concatenate([nothing, expected[..., :-1, :]], axis=-2)
    missing = ~told & ~_near(expected, before).all(axis=-1)
    if not missing.any():
        return ""
    step = int(np.argmax(missing.reshape(-1, missing.shape[-1]).any(axis=0)))
    place = np.unravel_index(int(np.argmax(missing[..., step])), missing.shape[:-1])
    where = ", ".join(f"{axis} {int(index)}" for axis, index in zip(trace.axes, place, strict=True))
    return f"In {where}, {trace.step} {step + 1} is left out, though it has keys that count."


def _cause(trace: Trace, yours: np.ndarray, right: np.ndarray, before: tuple[np.ndarray, np.ndarray] | None) -> str:
    """The usual mistake that gives exactly this state, or ""."""
    if "m" not in trace.states:
        return ""
    m = trace.states.index("m")
    if right[m] == -np.inf:
        return "No key is allowed so far: m stays -inf, and exp(-inf - -inf) must not be asked for."
    if np.isnan(yours).any():
        return "A NaN: look for inf - inf, inf * 0 or 0 / 0, also in the first step, where the old m is -inf."
    if not _near(yours[m], right[m]):
        if before is not None and yours[m] < before[0][m]:
            return "m fell: it is the largest score of all keys so far, not of the newest ones."
        return "m is the largest score of the keys so far, and starts at -inf." if before is None else "m is the largest score of the keys so far."
    if divided := _divided(trace, yours, right):
        return divided
    if before is None:
        return "The first step has nothing to rescale: look at what is added up."
    # What each mistake would leave behind, from the kernel's own state before this step.
    with np.errstate(all="ignore"):
        grown = np.exp(right[m] - before[1][m])
        for state in range(len(trace.states)):
            if state == m or _near(yours[state], right[state]):
                continue
            old, newest = float(before[0][state]), right[state] - before[1][state] / grown
            name = trace.states[state]
            if grown > 1 and _near(yours[state], old + newest):
                return f"That is {name} with the old sum not rescaled: when m grows, the old {name} must shrink by exp(m_old - m_new)."
            if grown > 1 and _near(yours[state], old * grown + newest):
                return f"That is {name} with the old sum multiplied by exp(m_new - m_old): the other way round."
            if _near(yours[state], newest):
                return f"That is the newest part alone: the {name} of the earlier steps is lost."
            if _near(yours[state], old / grown):
                return f"That is the old {name} alone: the newest part is not added."
    return ""


def _divided(trace: Trace, yours: np.ndarray, right: np.ndarray) -> str:
    """acc divided by l before all keys are in it, or ""."""
    if not {"l", "acc"} <= set(trace.states):
        return ""
    sum_at, acc_at = trace.states.index("l"), trace.states.index("acc")
    if not _near(yours[sum_at], right[sum_at]) or _near(yours[acc_at], right[acc_at]) or not right[sum_at] > 0:
        return ""
    if not _near(yours[acc_at], right[acc_at] / right[sum_at]):
        return ""
    return "That is acc divided by l: acc is a sum as l is, and is divided after the last step alone."


def _rows(trace: Trace, wrong: np.ndarray, expected: np.ndarray) -> str:
    """What the rows with a wrong state have in common, where some rows are right. `wrong`: (axes…)."""
    if "m" not in trace.states or wrong.all():
        return ""
    m = expected[..., trace.states.index("m")]
    kinds = (
        (m[..., -1] == -np.inf, "Only fully masked rows are wrong."),
        (m[..., -1] > m[..., 0], f"Only rows in which a later {trace.step} has the larger score are wrong."),
    )
    return next((words for kind, words in kinds if kind.any() and not kind.all() and not (wrong & ~kind).any()), "")


def _near(got: np.ndarray | float, right: np.ndarray | float, rtol: float = SLACK) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(np.subtract(got, right)) <= rtol * (1 + np.abs(right))) | np.equal(got, right))


def _number(value: float) -> str:
    return f"{float(value):.4g}"
