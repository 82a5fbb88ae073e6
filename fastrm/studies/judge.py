"""The ten claims of *Numeric Reward Machines*, judged on a result file.

Every claim is broken into *cases*, one yes or no each. A case rests on the seeds of one map, task and method: on the
median of the steps until the score first reached 0.9 (a run that never does counts as slower than all others), on the
median of the settled score (the mean over the last tenth of a run), or on whether more than half of the runs end with a
greedy policy that takes a shortest path. A map supports a claim when all its cases hold, in claim 7 when most do. Where
the question is who is faster, methods that are equally fast to the tick, or that both never get there, say nothing and
are left out. A claim holds when the share of maps that support it is above one half by a 95 % interval over maps, does
not hold when it is below, and is undecided otherwise. Claim 6 compares the maps of two setups, by intervals over maps.
Reasons come from the exact tools, applied to the maps and machines that are stored in the file.
"""

from __future__ import annotations

from dataclasses import replace

from fastrm.errors import ConfigError
from fastrm.results import Results
from fastrm.studies import path_claims, speed_claims
from fastrm.studies.claim import Claim
from fastrm.studies.evidence import ONE, TASKS, TWO, Evidence, Facts


def judge(results: Results, facts: Facts | None = None) -> list[Claim]:
    """Judge the claims of the paper on a result file; what they need beside it is in the file.

    Parameters
    ----------
    results
        The result file.
    facts
        An empty dictionary at first. Hand the same one over for several files: those of equal plans then share the
        exact facts about their maps and machines, which take most of the time.

    Raises
    ------
    ConfigError
        When the file has none of the paper's tasks and methods.
    """
    evidence = Evidence(results, {} if facts is None else facts)
    claims = [judge_one(evidence) for judge_one in path_claims.CLAIMS]
    timed = [judge_one(evidence) for judge_one in speed_claims.CLAIMS]
    if not len(results["step"]):  # no ticks: nothing is known about who is faster
        timed = [replace(claim, cases=()) for claim in timed]
    judged = [claim if claim.cases else replace(claim, numbers="", reason="") for claim in (*claims, *timed)]
    if not any(claim.cases for claim in judged):
        raise ConfigError(
            f"{results.path or 'these results'}: nothing to judge; the claims are about tasks {', '.join(TASKS)} on "
            f"setups {ONE} and {TWO} with methods such as crm-num (see the suite paper)"
        )
    return judged
