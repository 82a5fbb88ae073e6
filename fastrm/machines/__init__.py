"""What is asked and what it pays: text, a task or a formula becomes a reward machine. No arrays over cells."""

from fastrm.machines.machine import RewardMachine, structural_faults
from fastrm.machines.reward_kinds import (
    KINDS,
    PAPER_KINDS,
    SHORT_KINDS,
    Kind,
    KindName,
    PaymentSettings,
    check_offset,
    find_kind,
)
from fastrm.machines.tasks import check_task, find_machine, task
from fastrm.machines.unrolling import fold

__all__ = [
    "KINDS", "PAPER_KINDS", "SHORT_KINDS", "Kind", "KindName", "PaymentSettings", "RewardMachine", "check_offset",
    "check_task", "find_kind", "find_machine", "fold", "structural_faults", "task",
]  # fmt: skip
