"""Judges the ops of a model's answer: the write policy binds these as well."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from vault_memory.rules.learning.write_policy import LOGGED, UNTOLD

if TYPE_CHECKING:
    from vault_memory.contract.answers import DroppedJson
    from vault_memory.learning.cycle import LearningCycle


def allowed_ops(
    cycle: "LearningCycle",
    ops: Iterable[Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    """Returns a model's ops without those whose text must not be stored; these are named."""
    policy = cycle.deps.policy
    if policy is None:
        return list(ops)
    cues = policy.cues()
    allowed = []
    for op in ops:
        texts = [str(op.get(name, "")) for name in ("heading", "line")]
        # Fault: a model hides a secret in a heading, or in an op of several lines.
        texts += map(str, op.get("lines") or ())
        reasons = {*UNTOLD, *LOGGED} & frozenset().union(*map(cues.reasons, texts))
        if not reasons:
            allowed.append(op)
            continue
        drop: DroppedJson = {"ref": "", "reason": min(reasons)}
        cycle.outcome.dropped.append(drop)
    return allowed
