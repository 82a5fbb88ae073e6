"""Make the committed results of studies again, and write down what made them.

    python tests/refresh_record.py               every study; those with published data need FASTRM_REFERENCE
    python tests/refresh_record.py paper beyond  some

Commands run at the root of the repository and leave their files in `results`, so that what is there already is not
computed again. `results/record/provenance.json` then says what made each file; `test_evidence.py` compares it with the
code. Pictures of pages and examples are made by `refresh_docs.py`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers")]

import evidence  # noqa: E402

VARIANTS = ("optimistic", "nearest", "clean", "critical", "zero")
PAPER_FILES = "all-maps.png one-map.png paper.png map-appendix-axis.png maps.png maps-2.png summary.csv claims.md"


class Study(NamedTuple):
    """What is run, and which of the files it leaves are kept where."""

    commands: tuple[str, ...]
    kept: dict[str, str]
    suites: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()
    """Beside those of the suites."""
    page: str = ""
    """The page that shows the only file word by word."""


def bench(*words: str) -> str:
    """Return a command."""
    return f"python -m fastrm.bench {' '.join(words)}".strip()


KNOBS = "--out results/pictures/knobs.html"
WATER = ("water", "water-anywhere")
SAFE = ("one", "two", "low", "zero")
DEEP = ("grid",)
STUDIES = {
    "pictures": Study(
        (
            bench("draw --map 1a1b1c --size 15 --seed 11 --machine a-b-c --learn crm --out results/pictures/front.gif"),
            bench(
                "draw --map water --seed 3 --machine a-b-c --learn crm --steps 500000 --out results/pictures/water.png"
            ),
            bench("explain 1a1b1c a-b-c --kind numeric --size 15 --seed 1 --terminal-reward 100", KNOBS),
            "chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-background-networking"
            " --virtual-time-budget=4000 --window-size=1400,1080 --screenshot=results/pictures/knobs.png"
            ' "file://$PWD/results/pictures/knobs.html"',
        ),
        {f"results/pictures/{name}": f"docs/assets/{name}" for name in ("front.gif", "knobs.png", "water.png")},
        learners=("crm",),
    ),
    "paper": Study(
        (bench(),), {f"results/paper/{name}": f"results/record/{name}" for name in PAPER_FILES.split()}, ("paper",)
    ),
    "variants": Study(
        (
            *(bench("run", f"paper-{variant}") for variant in VARIANTS),
            bench("claims results/paper.h5", *(f"results/paper-{variant}.h5" for variant in VARIANTS))
            + " --markdown > results/variants/variants.md",
        ),
        {"results/variants/variants.md": "results/record/variants.md"},
        ("paper", *(f"paper-{variant}" for variant in VARIANTS)),
    ),
    "beyond": Study(
        (
            bench("run beyond --report"),
            bench("findings results/beyond.h5 --by-task --no-exact > results/beyond/by-task.md"),
        ),
        {
            "results/beyond/starts.png": "docs/assets/beyond-starts.png",
            **{
                f"results/beyond/{name}": f"results/record/beyond/{name}"
                for name in ("findings.md", "by-task.md", "curves-1.png", "maps.png")
            },
        },
        ("beyond",),
    ),
    "beyond-geodesic": Study(
        (bench("run beyond-geodesic --report"),),
        {"results/beyond-geodesic/findings.md": "results/record/beyond/geodesic.md"},
        ("beyond-geodesic",),
    ),
    "beyond-scale": Study(
        (bench("run beyond-scale --report"),),
        {"results/beyond-scale/findings.md": "results/record/beyond/scale.md"},
        ("beyond-scale",),
    ),
    "paper-safe": Study(
        (
            bench("run paper-safe"),
            "python -m fastrm.bench.studies.starts " + " ".join(f"results/paper-safe-{part}.h5" for part in SAFE),
        ),
        {
            "results/paper-safe/starts.png": "docs/assets/safe-starts.png",
            "results/paper-safe/pareto.png": "docs/assets/safe-pareto.png",
            "results/paper-safe/findings.md": "results/record/paper-safe/findings.md",
        },
        ("paper-safe",),
    ),
    "quirks": Study(
        (bench("parity --ablation --quiet > results/quirks/quirks.md"),),
        {"results/quirks/quirks.md": "results/record/quirks.md"},
        ("icarte",),
        page="docs/explanation/quirks.md",
    ),
    "agenda": Study(
        ("python -m fastrm.bench.studies.agenda",),
        {"results/agenda/agenda.png": "docs/assets/agenda.png"},
        ("agenda", "agenda-large", "agenda-type", "agenda-object"),
    ),
    "deadline": Study(
        ("python -m fastrm.bench.studies.deadline",),
        {"results/deadline/findings.md": "results/record/deadline.md"},
        ("deadline",),
    ),
    "learn": Study(
        (bench("run learn"), "python -m fastrm.bench.studies.learn results/learn.h5"),
        {"results/learn/findings.md": "results/record/learn.md"},
        ("learn",),
    ),
    "water": Study(
        (
            *(bench("run", suite) for suite in WATER),
            *(
                bench(f"findings results/{suite}.h5 --by-task")
                + f" --figure results/water-findings/{suite}.png" * (suite == "water")
                + f" > results/water-findings/{suite}.md"
                for suite in WATER
            ),
        ),
        {
            "results/water-findings/water.png": "docs/assets/water-kinds.png",
            **{f"results/water-findings/{suite}.md": f"results/record/water/{suite}.md" for suite in WATER},
        },
        WATER,
    ),
    "pointmass": Study(
        (
            bench("run pointmass-small"),
            bench("plot results/pointmass-small.h5"),
            bench("findings results/pointmass-small.h5 --lengths > results/point-findings/small.md"),
        ),
        {
            "results/pointmass-small/all-maps.png": "docs/assets/point-kinds.png",
            "results/point-findings/small.md": "results/record/pointmass/small.md",
        },
        ("pointmass-small",),
    ),
    **{
        f"deep-{world}": Study(  # needs torch and Stable-Baselines3, see .ci/deep
            (f"python -m fastrm.bench.deep.study {world} --seeds 3",),
            {f"results/deep/{world}{end}": f"results/record/deep/{world}{end}" for end in (".png", ".md")},
        )
        for world in DEEP
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the committed results of studies again.")
    parser.add_argument("studies", nargs="*", choices=[*STUDIES, []], metavar="STUDY", help=f"{', '.join(STUDIES)}")
    names = parser.parse_args().studies or STUDIES
    # the commands say python, which may be another one here
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for name in names:
        study, begun = STUDIES[name], time.perf_counter()
        for left in study.kept:
            (ROOT / left).parent.mkdir(parents=True, exist_ok=True)
        for command in study.commands:
            done = subprocess.run(command, shell=True, cwd=ROOT, env=environment, check=False)
            if done.returncode:
                sys.stderr.write(f"{name}: {command!r} ended with {done.returncode}; nothing of it is kept\n")
                return 1
        keep(name, study)
        print(f"{name}: {time.perf_counter() - begun:.0f} s", flush=True)
    return 0


def keep(name: str, study: Study) -> None:
    """Copy the files of a study, and write down what made them."""
    for left, kept in study.kept.items():
        if study.page:
            page, before = ROOT / study.page, (ROOT / kept).read_text()
            page.write_text(page.read_text().replace(before, (ROOT / left).read_text()))
        (ROOT / kept).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / left, ROOT / kept)
    learners = set(study.learners).union(*map(evidence.learners_of, study.suites))
    evidence.write_row(
        name,
        [ROOT / kept for kept in study.kept.values()],
        {learner: evidence.semantics_of(learner) for learner in learners},
        commands=study.commands,
        suites={suite: evidence.hash_of_suite(suite) for suite in study.suites},
    )


if __name__ == "__main__":
    sys.exit(main())
