"""`speed` executes files of its own checkout only."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
from fastrm.bench.speed import measure
print(measure.naive_rate(None, "qrm"))
print(measure.SOURCE)
"""


@pytest.fixture
def installed(tmp_path):
    """fastrm as it lies when installed, beside files of other packages with unlucky names."""
    folder = tmp_path / "site-packages"
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "fastrm", folder / "fastrm", ignore=skipped)
    for name in ("kernels", "bench"):
        shutil.copytree(ROOT / name, folder / "fastrm" / name, ignore=skipped)
    for place in (folder, tmp_path):
        (place / "tests").mkdir()
        (place / "tests" / "naive.py").write_text("open('executed', 'w')\nLEARNERS = {}\n")
        (place / "bench" / "speed").mkdir(parents=True)
        (place / "bench" / "speed" / "limit.c").write_text("#error not ours\n")
    return folder


def test_an_installed_package_executes_no_oracle_or_c_loop_that_lies_around(installed, tmp_path):
    words = [sys.executable, "-P", "-c", SCRIPT]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["None", str(installed / "fastrm" / "bench" / "speed" / "limit.c")]
    assert not (tmp_path / "executed").exists()


def test_a_checkout_finds_its_oracle_and_its_c_loop_and_follows_no_links_out_of_it(tmp_path):
    root = tmp_path / "checkout"
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("fastrm", "kernels", "bench"):
        shutil.copytree(ROOT / name, root / name, ignore=skipped)
    (root / "tests").mkdir()
    (root / "tests" / "naive.py").symlink_to(ROOT / "tests" / "naive.py")
    script = (
        "from fastrm.bench.speed.measure import checkout_file as find; "
        "print(find('tests', 'naive.py'), find('bench', 'speed', 'limit.c'))"
    )
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", str((root / "bench" / "speed" / "limit.c").resolve())]
