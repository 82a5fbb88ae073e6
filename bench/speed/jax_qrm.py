"""QRM in JAX, scan over steps and vmap over runs, for comparison: ``python bench/speed/jax_qrm.py`` (needs jax).

The same tables, the same update, the same episode; the generator is JAX's own, so runs are alike, not equal.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import fastrm

jax.config.update("jax_enable_x64", True)

ALPHA, GAMMA, EPSILON, LIMIT, STEPS = 0.5, 0.9, 0.1, 1000, 10_000


def make_run(problem):
    tables = problem.tables
    next_s, event = jnp.array(tables.next_s, jnp.int32), jnp.array(tables.event, jnp.int32)
    delta, reward = jnp.array(tables.delta, jnp.int32), jnp.array(tables.reward)
    n_u, start = tables.n_u, int(tables.starts[0])

    def step(state, key):
        q, s, u, t, done = state
        explore, tie, other = jax.random.split(key, 3)
        row = q[u, s]
        best = jnp.argmax(jnp.where(row == row.max(), jax.random.uniform(tie, (4,)), -1.0))
        a = jnp.where(jax.random.uniform(explore) < EPSILON, jax.random.randint(other, (), 0, 4), best)
        s_next, e = next_s[s, a], event[s, a]
        u_next, t = delta[e, u], t + 1
        target = reward[e, u] + GAMMA * q[u_next, s_next].max()
        q = q.at[u, s, a].add(ALPHA * (target - q[u, s, a]))
        ended = (u_next == n_u) | (t == LIMIT)
        s, u, t = jnp.where(ended, start, s_next), jnp.where(ended, 0, u_next), jnp.where(ended, 0, t)
        return (q, s, u, t, done + (u_next == n_u)), None

    def run(state, key):
        return jax.lax.scan(step, state, jax.random.split(key, STEPS))[0]

    n_s = len(tables.next_s)
    q = np.full((n_u + 1, n_s, 4), 2.0)
    q[n_u] = 0.0
    return jax.jit(jax.vmap(run), donate_argnums=0), (q, start, 0, 0, 0)


def main():
    problem = fastrm.compile(fastrm.GridMap.generate("1a1b1c"), fastrm.RewardMachine.sequence("a-b-c"))
    run, first = make_run(problem)
    for n in (1, 6, 64):
        state = jax.tree.map(lambda x, n=n: jnp.stack([jnp.array(x)] * n), first)
        best = float("inf")
        for k in range(4):
            keys = jax.random.split(jax.random.key(k), n)
            begun = time.perf_counter()
            state = jax.block_until_ready(run(state, keys))
            best = min(best, time.perf_counter() - begun) if k else best  # the first compiles
        rate, completed = n * STEPS / best / 1e6, int(state[4].sum())
        print(f"jax {jax.__version__}, {n} runs: {rate:.2f} M steps/s, {completed} completions")


if __name__ == "__main__":
    main()
