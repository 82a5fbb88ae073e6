"""Load a result and make a figure: how fast do three methods learn?"""

# %% Run a small experiment. If the file is there already, it is read and nothing is computed.
from pathlib import Path

import fastrm
from fastrm import plots

small = fastrm.Experiment(
    name="example",
    setups=("1a1b", "2a2b"),
    maps=3,
    size=15,
    tasks=("a", "a-b"),
    methods=("crm-rs-bool", "crm-num-bool", "crm-num"),
    seeds=5,
    steps=100_000,
)
results = fastrm.run(small, out="example.h5")

# %% The numbers: the settled score of each method, with a 95 % interval over maps.
for row in results.summary():
    interval = f"[{row['iqm_low']:.3f}, {row['iqm_high']:.3f}]"
    print(f"{row['setup']} {row['task']:3} {row['method']:12} {row['iqm']:.3f} {interval}")

# %% Two methods, pair by pair.
paired = results.compare("crm-num-bool", "crm-rs-bool", "steps_to_90")
print(f"crm-num-bool needs {-paired.difference:.0f} steps fewer, 95 % interval {-paired.high:.0f} to {-paired.low:.0f}")

# %% The figure.
plots.save(plots.learning_curves(results, "three maps per setup, five seeds each"), Path("example.png"))
