"""Methods of an experiment that start with the values another method has learned."""

import pytest

from fastrm import ConfigError, Experiment, run, train
from fastrm.bench.studies import judge
from fastrm.experiments import Plan, problem_of

SETTINGS = {
    "name": "warm", "setups": ("1a1b",), "maps": 2, "size": 7, "tasks": ("a-b",), "seeds": 4, "steps": 4000,
    "methods": ("crm-bool", "crm-num", "qrm-num"), "learner": {"tick": 500, "alpha": [0.1, 0.5]},
}  # fmt: skip
CHAIN = {"crm-numeric": "crm-bool", "qrm-num": "crm-num"}


def test_a_run_starts_with_what_the_run_before_it_learned_and_replays_to_the_byte(tmp_path):
    results = run(Experiment(**SETTINGS, warm_start=CHAIN), tmp_path / "x.h5", workers=2)
    assert results.complete and results.plan.warm_start == (("crm-num", "crm-bool"), ("qrm-num", "crm-num"))
    plan, row = results.plan, results.runs - 2
    middle = plan.source_of(row)
    first = plan.source_of(middle)
    assert plan.source_of(first) is None
    learned = None
    for k in (first, middle, row):
        assert (results["seed"][k], results["grid"][k], results["alpha"][k]) == (2, "1", 0.5)
        learned = train(
            problem_of(results, k), str(results["algo"][k]), seed=int(results["train_seed"][k]), steps=plan.steps,
            config=plan.config(plan.coordinates(k)), **({} if learned is None else {"warm_start": learned}),
        )  # fmt: skip
        assert learned.score.tobytes() == results["score"][k].tobytes()
        assert results.replay(k).q.tobytes() == learned.q.tobytes()
    with pytest.raises(ConfigError, match="has methods that start with what others learned"):
        judge(results)


def test_the_identity_of_a_run_holds_that_of_the_run_before_it_and_of_no_other():
    cold, warm = Plan.of(Experiment(**SETTINGS)), Plan.of(Experiment(**SETTINGS, warm_start=CHAIN))
    same = [cold.run_id(k) == warm.run_id(k) for k in range(cold.count)]
    assert same == [warm.source_of(k) is None for k in range(warm.count)] and cold.digest != warm.digest
    other = Plan.of(Experiment(**SETTINGS, warm_start=CHAIN | {"crm-numeric": "qrm-num", "qrm-num": "crm-bool"}))
    assert other.run_id(warm.count - 1) != warm.run_id(warm.count - 1)
    again = Plan.from_json(warm.to_json())
    assert again.digest == warm.digest and again.run_id(warm.count - 1) == warm.run_id(warm.count - 1)
    assert "warm_start" not in cold.to_json() and "warm_start" not in cold.attributes()["experiment"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"crm-num": "crm-bol"}, r"'crm-bol' is not among the methods \(did you mean crm-bool\?\)"),
        ({"crm-rs-num": "crm-bool"}, "'crm-rs-num' is not among the methods"),
        ({"crm-num": "crm-num"}, "crm-num <- crm-num leads back to where it began"),
        ({"crm-num": "qrm-num", "qrm-num": "crm-num"}, "crm-num <- qrm-num <- crm-num leads back"),
        ({"crm-num": "crm-bool", "crm-numeric": "qrm-num"}, "'crm-num' is given twice"),
        (["crm-num"], "warm_start=.* must be a table such as"),
        ({"crm-num": 3}, "warm_start=.* must be a table such as"),
    ],
)  # fmt: skip
def test_bad_warm_starts_are_refused_in_one_line(given, message):
    with pytest.raises(ConfigError, match=message) as problem:
        Experiment(**SETTINGS, warm_start=given)
    assert "\n" not in str(problem.value)
