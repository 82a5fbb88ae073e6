// What is exactly true at a setting of the knobs. Thresholds are fractions that Python worked out; the reader's numbers
// are decimal, so that comparisons are made in whole numbers and nothing is rounded.

function fraction(text) {
  const [top, bottom] = String(text).split("/");
  if (bottom) return [BigInt(top), BigInt(bottom)];
  const [, sign, whole, part = "", power = "0"] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(top),
    shift = Number(power) - part.length;
  const digits = BigInt(`${sign}${whole}${part}` || 0);
  return shift < 0 ? [digits, 10n ** BigInt(-shift)] : [digits * 10n ** BigInt(shift), 1n];
}

const times = ([a, b], [c, d]) => [a * c, b * d];
const over = ([a, b], [c, d]) => (c < 0n ? [-a * d, -b * c] : [a * d, b * c]);

// The sign of x - y.
function compare([a, b], [c, d]) {
  const gap = a * d - c * b;
  return gap > 0n ? 1 : gap < 0n ? -1 : 0;
}

function asNumber([a, b]) {
  const size = (n) => String(n < 0n ? -n : n).length,
    shift = BigInt(Math.max(0, 20 + size(b) - size(a)));
  return Number((a * 10n ** shift) / b) / 10 ** Number(shift);
}

// `knobs` is what Python found; the answer to a setting {R, r, stop} is one verdict with what is below and above it.
function makeFinder(knobs) {
  const own = knobs.step === null ? null : fraction(knobs.step);
  const stops = knobs.stops.map((phases) =>
    phases.map(([above, length, word]) => ({ above: above === null ? null : fraction(above), length, word })),
  );

  function thresholdsAt({ r, stop }) {
    const factor = own ? over(fraction(r), own) : [1n, 1n];
    return stops[stop].map(({ above }) => (above === null ? null : times(above, factor)));
  }

  function verdictOf({ length, word }) {
    if (word && word !== "failure") return word;
    if (length === null) return word ? "ends in failure" : "never finishes";
    const more = length - knobs.fewest;
    return more ? `detour (+${more} step${more > 1 ? "s" : ""})` : "shortest";
  }

  function find(setting) {
    const phases = stops[setting.stop],
      thresholds = thresholdsAt(setting),
      last = phases.length - 1;
    const critical = thresholds[last];
    let at = knobs.reward === null ? last : 0,
      isTie = false;
    for (let k = 1; knobs.reward !== null && k <= last; k++) {
      const sign = compare(fraction(setting.R), thresholds[k]);
      if (sign >= 0) [at, isTie] = [k, sign === 0];
    }
    const tied = isTie && at === last,
      verdict = tied ? "shortest for some optimal policies only" : verdictOf(phases[at]);
    return {
      verdict,
      kind: verdict === "shortest" ? "good" : "bad",
      length: phases[at].length,
      fails: phases[at].word === "failure",
      isTied: tied,
      critical: critical === null ? null : asNumber(critical),
      below: last && at === last ? phases[last - 1] : null,
      canMend: knobs.reward !== null && phases[last].length === knobs.fewest,
      thresholds: thresholds.map((one) => (one === null ? -Infinity : asNumber(one))),
    };
  }
  return { find, verdictOf, stops };
}

// Where a walk goes round: the object beside it that would bring it on, if there is one.
function waitsBeside(world, walk) {
  for (let k = walk.loop; k < walk.actions.length; k++) {
    for (let a = 0; a < 4; a++) {
      const taken = world.step(walk.cells[k], walk.states[k], a);
      if (taken.u !== walk.states[k] && taken.outcome !== FAILURE && world.label(taken.s)) return world.label(taken.s);
    }
  }
  return "";
}

// The finding in words, for a setting and the optimal walk from the map's start.
function inWords(world, knobs, setting, found, walk) {
  const given = [
    knobs.reward === null ? "" : `R = ${show(setting.R)}`,
    knobs.step === null ? "" : `r = ${show(setting.r)}`,
    `γ = ${setting.gamma}`,
  ].filter(Boolean);
  const limit = found.critical === null ? "" : show(found.critical),
    mend = found.canMend && limit ? ` Above R = ${limit} it hurries: ${steps(knobs.fewest)}.` : "";
  const start = `With ${given.join(", ")} `;
  if (found.verdict === "shortest") {
    const lost = found.below;
    const before =
      lost && setting.r !== 0
        ? ` Below R = ${limit} it ${lost.length !== null ? `takes ${steps(lost.length)}` : lost.word ? "ends in a failure" : "never finishes"}.`
        : "";
    return `${start}the best policy hurries: it takes a shortest path, ${steps(knobs.fewest)}.${before}`;
  }
  if (found.isTied)
    return `${start}a shortest path is one of several best ones: at R = ${limit} exactly, dawdling pays as much.`;
  if (found.length !== null && !found.verdict.startsWith("shortest"))
    return `${start}the best policy takes ${steps(found.length)}, ${show(found.length - knobs.fewest)} more than needed.${mend}`;
  if (found.length !== null) return `${start}some best policies take a shortest path, others do not.`;
  if (found.fails || walk.outcome === FAILURE) return `${start}the best policy fails on purpose.${mend}`;
  const beside = walk.loop >= 0 ? waitsBeside(world, walk) : "";
  return `${start}the best policy ${beside ? `waits beside ${beside} for ever` : "goes round in a loop for ever"}.${mend}`;
}
