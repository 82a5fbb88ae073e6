// The rule of the world and the rule of policies, as kernels/episode.py and kernels/exact/rollout.py have them. No drawing.

const ACTIONS = ["up", "right", "down", "left"];
const ARROWS = SYMBOLS.arrows;
const OFFSETS = [
  [-1, 0],
  [0, 1],
  [1, 0],
  [0, -1],
];
const LEVELS = SYMBOLS.valueLevels; // of values and visits
const LIVE = 0,
  SUCCESS = 1,
  FAILURE = 2;

function makeWorld(data, arrays) {
  const rows = data.map.rows,
    width = rows[0].length,
    height = rows.length;
  const count = arrays.cells.length,
    states = data.machine.states.length,
    events = arrays.delta.length / states;
  const number = new Int32Array(width * height).fill(-1);
  arrays.cells.forEach((place, s) => {
    number[place] = s;
  });
  const next = new Int32Array(4 * count);
  for (let s = 0; s < count; s++) {
    OFFSETS.forEach(([row, column], a) => {
      const leads = (arrays.moves[s] >> a) & 1;
      next[4 * s + a] = leads ? number[arrays.cells[s] + row * width + column] : s;
    });
  }
  const world = {
    width,
    height,
    count,
    states,
    next,
    start: data.map.start,
    first: data.machine.first,
    // What is paid now: R for a success and r for what else is paid, where the page may turn them; see `pay`.
    paid: new Float64Array(arrays.delta.length),
    gamma: data.gamma,
    phi: arrays.phi && ((s, u) => arrays.phiLevels[arrays.phi[u * count + s]]),
    event: (s, a) => arrays.event[4 * s + a],
    delta: (pair) => arrays.delta[pair],
    outcome: (pair) => arrays.outcome[pair],
    cell: (s) => [Math.floor(arrays.cells[s] / width), arrays.cells[s] % width],
    at: (row, column) =>
      row < 0 || column < 0 || row >= height || column >= width ? -1 : number[row * width + column],
    label(s) {
      const [row, column] = world.cell(s);
      return data.map.objects.includes(rows[row][column]) ? rows[row][column] : "";
    },
    pay(R = null, r = null) {
      // Rewards lie state by state, which packs better; the other tables lie event by event.
      for (let pair = 0; pair < world.paid.length; pair++) {
        const amount = arrays.amounts[arrays.reward[(pair % states) * events + Math.floor(pair / states)]];
        const isR = R !== null && arrays.outcome[pair] === SUCCESS;
        world.paid[pair] = isR ? R : r !== null && amount !== 0 ? r : amount;
      }
    },
    step(s, u, a) {
      const pair = arrays.event[4 * s + a] * states + u,
        outcome = arrays.outcome[pair],
        to = { s: next[4 * s + a], u: arrays.delta[pair], outcome, reward: world.paid[pair] };
      if (world.phi) {
        const later = outcome === LIVE ? world.gamma * world.phi(to.s, to.u) : 0;
        to.reward += later - world.phi(s, u);
      }
      return to;
    },
  };
  world.pay();
  return world;
}

// A table of actions that the page found by itself.
const plainPolicy = (world, actions) => ({
  columns: world.states,
  option: (_, s, u) => u,
  action: (s, u) => actions[s * world.states + u],
});

// A policy has an action for every cell and option. Where there is no choice of options, machine states are options.
function makePolicy(arrays, key, info) {
  const actions = arrays[`${key}.actions`],
    choice = arrays[`${key}.choice`],
    columns = info.columns;
  return {
    columns,
    option: (world, s, u) => (choice ? choice[s * world.states + u] : u),
    action: (s, option) => actions[s * columns + option],
    value: arrays[`${key}.value`],
    visits: arrays[`${key}.visits`],
    scale: (u, level) => arrays[`${key}.scale`][u * LEVELS + level - 1],
  };
}

// Follow a policy until the task is over, or until it comes back to where it was: from there it repeats itself.
function follow(world, policy, s, u) {
  const walk = { cells: [s], states: [u], actions: [], rewards: [], outcome: LIVE, loop: -1, earned: 0 };
  const seen = new Map();
  let option = -1,
    discount = 1;
  while (walk.outcome === LIVE) {
    if (option < 0) option = policy.option(world, s, u);
    const moment = (s * world.states + u) * policy.columns + option;
    if (seen.has(moment)) {
      walk.loop = seen.get(moment);
      break;
    }
    seen.set(moment, walk.actions.length);
    const a = policy.action(s, option),
      taken = world.step(s, u, a);
    if (taken.u !== u) option = -1;
    s = taken.s;
    u = taken.u;
    walk.actions.push(a);
    walk.cells.push(s);
    walk.states.push(u);
    walk.rewards.push(taken.reward);
    walk.outcome = taken.outcome;
    walk.earned += discount * taken.reward;
    discount *= world.gamma;
  }
  if (walk.loop >= 0) {
    // a loop earns a geometric series
    const around = walk.rewards.slice(walk.loop).reduceRight((later, paid) => paid + world.gamma * later, 0),
      length = walk.actions.length - walk.loop;
    walk.earned += (discount * around) / (1 - world.gamma ** length);
  }
  walk.length = walk.outcome === SUCCESS ? walk.actions.length : null;
  return walk;
}

function describeEnd(walk) {
  if (walk.outcome === SUCCESS) return "completes the task";
  if (walk.outcome === FAILURE) return `fails after ${steps(walk.actions.length)}`;
  return "never finishes";
}
