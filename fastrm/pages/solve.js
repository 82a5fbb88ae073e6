// The optimum of the page's problem, in floating point: sweeps alternate with the exact evaluation of a policy, whose
// paths end or run into loops. As kernels/exact/values.py does it; no drawing.

const CLEARLY = 8 * Number.EPSILON,
  TIED = 1e-12,
  NEARLY = 1e-9;

function makeSolver(world) {
  const { count, states, next } = world,
    pairs = count * states;
  const ahead = new Int32Array(4 * pairs), // the pair that a move leads to, -1 for an end
    rule = new Int32Array(4 * pairs); // its event and machine state
  for (let x = 0; x < pairs; x++) {
    const s = Math.floor(x / states),
      u = x % states;
    for (let a = 0; a < 4; a++) {
      const pair = world.event(s, a) * states + u;
      rule[4 * x + a] = pair;
      ahead[4 * x + a] = world.outcome(pair) === LIVE ? next[4 * s + a] * states + world.delta(pair) : -1;
    }
  }
  const value = new Float64Array(pairs),
    policy = new Uint8Array(pairs),
    order = new Int32Array(pairs),
    seen = new Int32Array(pairs);
  const toGo = stepsToGo();

  // Fewest steps to a success from every pair, level by level; Infinity where there is none.
  function stepsToGo() {
    const found = new Float64Array(pairs).fill(Infinity),
      before = Array.from({ length: pairs }, () => []);
    let level = [];
    for (let k = 0; k < 4 * pairs; k++) {
      if (ahead[k] >= 0) before[ahead[k]].push(k >> 2);
      else if (world.outcome(rule[k]) === SUCCESS) level.push(k >> 2);
    }
    for (let steps = 1; level.length; steps++) {
      const reached = level.filter((x) => found[x] === Infinity && (found[x] = steps));
      level = reached.flatMap((x) => before[x]).filter((x) => found[x] === Infinity);
    }
    return found;
  }

  function sweep(paid, gamma, forwards) {
    let change = 0;
    for (let k = 0; k < pairs; k++) {
      const x = forwards ? k : pairs - 1 - k;
      let best = -Infinity;
      for (let a = 4 * x; a < 4 * x + 4; a++) {
        const q = paid[rule[a]] + (ahead[a] < 0 ? 0 : gamma * value[ahead[a]]);
        if (q > best) {
          best = q;
          policy[x] = a - 4 * x;
        }
      }
      change = Math.max(change, Math.abs(best - value[x]) / (Math.abs(best) || 1));
      value[x] = best;
    }
    return change;
  }

  function evaluate(paid, gamma) {
    seen.fill(0);
    for (let first = 0, mark = 0; first < pairs; first++) {
      if (seen[first]) continue;
      mark++;
      let x = first,
        n = 0;
      while (x >= 0 && !seen[x]) {
        seen[x] = mark;
        order[n++] = x;
        x = ahead[4 * x + policy[x]];
      }
      let later = x < 0 ? 0 : value[x];
      if (x >= 0 && seen[x] === mark) {
        let total = 0,
          discount = 1;
        for (let k = order.indexOf(x); k < n; k++) {
          total += discount * paid[rule[4 * order[k] + policy[order[k]]]];
          discount *= gamma;
        }
        later = total / (1 - discount);
      }
      while (n--) {
        x = order[n];
        later = value[x] = paid[rule[4 * x + policy[x]]] + gamma * later;
      }
    }
  }

  const worth = (paid, gamma, k) => paid[rule[k]] + (ahead[k] < 0 ? 0 : gamma * value[ahead[k]]);

  function improve(paid, gamma) {
    let replaced = 0;
    for (let x = 0; x < pairs; x++) {
      let best = worth(paid, gamma, 4 * x + policy[x]);
      for (let a = 0; a < 4; a++) {
        const q = worth(paid, gamma, 4 * x + a);
        if (q - best > CLEARLY * (Math.abs(q) + Math.abs(best))) {
          best = q;
          policy[x] = a;
          replaced++;
        }
      }
    }
    return replaced;
  }

  // Of actions that floating point cannot tell apart the highest is taken; `prefer` sorts them by what is exactly true.
  function settle(paid, gamma, prefer) {
    const chosen = new Uint8Array(pairs),
      within = prefer ? NEARLY : TIED;
    for (let x = 0; x < pairs; x++) {
      let best = -Infinity,
        choice = -1,
        preferred = -1;
      for (let a = 0; a < 4; a++) best = Math.max(best, worth(paid, gamma, 4 * x + a));
      const least = best - within * Math.abs(best);
      for (let a = 0; a < 4; a++) {
        if (worth(paid, gamma, 4 * x + a) < least) continue;
        choice = a;
        if (prefer && isDirect(x, a) === (prefer === "shortest")) preferred = a;
      }
      chosen[x] = preferred < 0 ? choice : preferred;
    }
    return chosen;
  }

  function isDirect(x, a) {
    const k = 4 * x + a;
    return ahead[k] < 0 ? world.outcome(rule[k]) === SUCCESS : toGo[ahead[k]] === toGo[x] - 1;
  }

  const shortest = new Uint8Array(pairs);
  for (let x = 0; x < pairs; x++) for (let a = 0; a < 4; a++) if (isDirect(x, a)) shortest[x] = a;

  return {
    shortest,
    // The first cell where a walk does not come nearer to success.
    leavesAt(walk) {
      const k = walk.actions.findIndex((a, i) => !isDirect(walk.cells[i] * states + walk.states[i], a));
      return k < 0 ? null : world.cell(walk.cells[k]);
    },
    settle,
    value,
    // Start where the last answer was; `paid` has a reward for every event and machine state.
    solve(paid, gamma) {
      evaluate(paid, gamma);
      for (let round = 0; round < 400; round++) {
        for (let k = 0; k < 6 && sweep(paid, gamma, k % 2 === 0) > CLEARLY; k++);
        evaluate(paid, gamma);
        if (!improve(paid, gamma)) return value;
      }
      return value;
    },
  };
}
