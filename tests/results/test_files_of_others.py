"""Files that are not ours, or hold other work, are never overwritten."""

import pytest

from fastrm import StoreError, load, run
from fastrm.bench.__main__ import main
from fastrm.experiments import Plan, merge, write_episodes
from fastrm.experiments.batches import log_path

from tiny_experiment import TOML, contents, experiment


@pytest.fixture
def shards(tmp_path):
    """The files of two shards."""
    parts = [tmp_path / f"part{k}.h5" for k in (1, 2)]
    for k, part in enumerate(parts, start=1):
        run(experiment(), part, shard=(k, 2))
    return parts


@pytest.mark.parametrize("foreign", [b"a thesis", b"", b"\x89HDF\r\n\x1a\n" + b"\0" * 200])
def test_merge_overwrites_no_file_that_is_not_ours(foreign, shards, tmp_path, capsys):
    out = tmp_path / "thesis.h5"
    out.write_bytes(foreign)
    assert main(["merge", *map(str, shards), "--out", str(out)]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"fastrm: {out}: ") and "it is not overwritten" in message and message.count("\n") == 1
    assert out.read_bytes() == foreign


def test_merge_overwrites_no_file_of_another_experiment(shards, tmp_path):
    out = tmp_path / "other.h5"
    run(experiment(steps=1000), out)
    before = out.read_bytes()
    with pytest.raises(StoreError, match=r"other\.h5: holds another experiment \(steps 1000 there, 2000 here\)"):
        merge(shards, out)
    assert out.read_bytes() == before


def test_merge_keeps_what_its_file_holds_already(shards, plain, tmp_path):
    out = tmp_path / "tiny.h5"
    merge(shards[:1], out)
    assert merge(shards[1:], out).complete
    assert contents(out) == plain
    assert merge([out], out).complete


def test_run_overwrites_no_file_that_is_not_ours(tmp_path, capsys):
    toml, out = tmp_path / "tiny.toml", tmp_path / "thesis.txt"
    toml.write_text(TOML.replace("400_000", "10_000"))
    out.write_text("a thesis")
    assert main(["run", str(toml), "--out", str(out)]) == 2
    assert f"fastrm: {out}: not a fastrm result file" in capsys.readouterr().err
    assert out.read_text() == "a thesis"
    assert {file.name for file in tmp_path.iterdir()} == {"tiny.toml", "thesis.txt"}
    assert main(["run", str(toml), "--out", str(out), "--fresh", "--quiet"]) == 0
    assert load(out).complete and (tmp_path / "thesis.txt.bak").read_text() == "a thesis"


def test_a_log_of_episodes_is_written_through_no_link_and_over_what_is_no_text(tmp_path):
    plan, precious = Plan.of(experiment()), tmp_path / "precious.txt"
    precious.write_text("mine")
    path = log_path(plan, 0, tmp_path / "logs")
    path.parent.mkdir(parents=True)
    path.with_suffix(".tmp").symlink_to(precious)
    path.write_bytes(b"\xff\xfe\n")
    assert write_episodes(plan, [0], tmp_path / "logs") == 1
    assert precious.read_text() == "mine" and path.read_text().startswith("# {")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert write_episodes(plan, [0], tmp_path / "logs") == 0
