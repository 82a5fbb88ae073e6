"""The claims of *Numeric Reward Machines*, judged on a result file.

Every claim is broken into *cases*, one yes or no each. A case rests on the seeds of one map, task and method: on the
median of the steps until the score first reached 0.9 (a run that never does counts as slower than all others), on the
median of the settled score (the mean over the last tenth of a run), on whether more than half of the runs end with a
greedy policy that takes a shortest path, or on the score over the whole run. A map supports a claim when all its cases
hold, in claims 6 and 7 when most do. Where a claim says *faster*, methods that are equally fast to the tick say nothing
and are left out; where it says *never slower* or *at least as well*, ties count for it. Two methods that both never get
there say nothing. Claim 6 compares maps of two setups: pairs of them are counted, the k-th map of one with the k-th of
the other. `fastrm.studies.claim` has the words of a verdict, and the p-value of a claim. These are corrected by Holm's
method for the number of claims that a file says something about.
Reasons come from the exact tools, applied to the maps and machines that are stored in the file.
"""

from __future__ import annotations

from dataclasses import replace

from fastrm.errors import ConfigError
from fastrm.results import Results, holm
from fastrm.studies import likeness_claims, path_claims, speed_claims
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
    timed = [judge_one(evidence) for judge_one in (*speed_claims.CLAIMS, *likeness_claims.CLAIMS)]
    if not len(results["step"]):  # no ticks: nothing is known about who is faster
        timed = [replace(claim, cases=()) for claim in timed]
    judged = [claim if claim.cases else replace(claim, numbers="", reason="") for claim in (*claims, *timed)]
    if not any(claim.cases for claim in judged):
        raise ConfigError(
            f"{results.path or 'these results'}: nothing to judge; the claims are about tasks {', '.join(TASKS)} on "
            f"setups {ONE} and {TWO} with methods such as crm-num (see the suite paper)"
        )
    corrected = iter(holm([claim.p for claim in judged if claim.p is not None]))
    judged = [claim if claim.p is None else replace(claim, corrected_p=next(corrected)) for claim in judged]
    return sorted(judged, key=lambda claim: claim.number)
