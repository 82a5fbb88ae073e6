"""How large an experiment may be: what could not be read back is refused at once, and a forecast tells the memory."""

import pytest

from fastrm import ConfigError, LearnerConfig, load, run
from fastrm.bench.__main__ import main
from fastrm.experiments import merge
from fastrm.results import bytes_of_run

from tiny_experiment import experiment


@pytest.mark.parametrize(
    "changes",
    [{"steps": 2**53, "learner": LearnerConfig(tick=1)}, {"seeds": 10**6, "size": 7}],
    ids=["ticks", "runs"],
)
def test_a_file_that_could_not_be_read_back_is_refused_before_anything_runs(changes, tmp_path):
    wanted = r"GiB, and one holds at most 4; take fewer maps or seeds, a longer tick, or at least \d+ shards"
    with pytest.raises(ConfigError, match=wanted):
        run(experiment(**changes), tmp_path / "x.h5")
    assert not list(tmp_path.iterdir())


def test_more_runs_than_a_plan_may_have_are_refused():
    with pytest.raises(ConfigError, match="seeds=1000000: makes 6000000000 runs, and an experiment has at most"):
        experiment(seeds=10**6, maps=1000)


def test_the_most_a_file_may_hold_is_what_it_holds_at_most(tmp_path):
    results = run(experiment(), tmp_path / "tiny.h5")
    held = sum(column.nbytes for column in results.columns.values())
    most = results.runs * bytes_of_run(results.plan) + 16 * len(results["step"])
    assert held <= most < held + 200 * results.runs + 1


def test_a_forecast_tells_the_memory_and_heeds_the_number_of_workers(tmp_path, capsys):
    toml = tmp_path / "x.toml"
    toml.write_text('setups = ["1a"]\nsize = 201\ntasks = ["a"]\nmethods = ["crm-bool"]\nseeds = 20\nsteps = 20000\n')
    assert main(["run", str(toml), "--dry-run", "-j", "1"]) == 0
    said = capsys.readouterr().out
    assert "with 1 worker on 1 core\n" in said and "about 106 MB for what is learned" in said


def test_a_forecast_shows_names_as_they_are_and_refuses_odd_workers(tmp_path, capsys):
    toml = tmp_path / "x.toml"
    toml.write_text('setups = ["1a"]\nsize = 7\ntasks = ["a"]\nmethods = ["crm-bool"]\nsteps = 20000\n')
    assert main(["run", str(toml), "--dry-run", "--out", str(tmp_path / "x[/a].h5")]) == 0
    assert "x[/a].h5" in capsys.readouterr().out
    assert main(["run", str(toml), "--dry-run", "-j", "-3"]) == 2
    assert "workers=-3: must be a whole number from 1 to 10000" in capsys.readouterr().err


def test_shards_that_are_too_large_for_one_file_are_not_merged(tmp_path, monkeypatch):
    parts = [run(experiment(), tmp_path / f"{k}.h5", shard=(k, 2)) for k in (1, 2)]
    monkeypatch.setattr("fastrm.results.schema.MAX_BYTES", 30 * bytes_of_run(parts[0].plan))
    with pytest.raises(ConfigError, match=r"36 runs of 4 ticks make a file of .* 2 shards, which load as one"):
        merge([part.path for part in parts], tmp_path / "all.h5")
    assert load([part.path for part in parts]).complete
