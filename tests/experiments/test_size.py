"""How large an experiment may be: what could not be read back is refused at once, and a forecast tells the memory."""

import pytest

from fastrm import ConfigError, LearnerConfig, run
from fastrm.bench.__main__ import main
from fastrm.results import bytes_of_file

from tiny_experiment import experiment


@pytest.mark.parametrize(
    "changes",
    [{"steps": 2**53, "learner": LearnerConfig(tick=1)}, {"seeds": 10**6, "maps": 1000, "size": 7}],
    ids=["ticks", "runs"],
)
def test_a_file_that_could_not_be_read_back_is_refused_before_anything_runs(changes):
    with pytest.raises(ConfigError, match=r"GiB, and one holds at most 4; take fewer maps or seeds, a longer tick"):
        experiment(**changes)


def test_the_most_a_file_may_hold_is_what_it_holds_at_most(tmp_path):
    results = run(experiment(), tmp_path / "tiny.h5")
    held = sum(column.nbytes for column in results.columns.values())
    names = sum(results.columns[name].dtype.itemsize for name in ("setup", "grid", "task", "algo", "kind", "label"))
    most = bytes_of_file(results.runs, len(results["step"]), names)
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
