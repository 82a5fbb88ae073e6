"""Load a result and make a figure: how fast do two kinds of machine learn?"""

# %% Run a small experiment, or load one that is there.
import fastrm

small = fastrm.Experiment(
    name="example", setups=("1a1b", "2a2b"), maps=3, size=15, tasks=("a", "a-b"),
    methods=("crm-rs-bool", "crm-num-bool", "crm-num"), seeds=5, steps=100_000,
)  # fmt: skip
results = fastrm.run(small, out="example.h5")

# %% The numbers.
for row in results.summary():
    print(row["setup"], row["task"], row["label"], f"{row['iqm']:.3f} [{row['iqm_low']:.3f}, {row['iqm_high']:.3f}]")
paired = results.compare("crm-num-bool", "crm-rs-bool", "steps_to_90")
print(f"crm-num-bool needs {-paired.difference:.0f} steps fewer, 95 % interval {-paired.high:.0f} to {-paired.low:.0f}")

# %% The figure.
from pathlib import Path  # noqa: E402

from fastrm import pictures  # noqa: E402

pictures.save(pictures.learning_curves(results, "three kinds of machine"), Path("example.png"))
