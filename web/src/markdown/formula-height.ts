/** Height of a plain row, in em. */
const ROW = 1.6;
/** Further height of a row for each fraction within a fraction, and for a sign with limits. */
const LEVEL = 1.65;
/** Further height of a row for each brace, line or word above or below a part of it. */
const STACK = 1.1;

const FRACTION = /^\\(?:[dtc]?frac|[dt]?binom|genfrac)(?![a-z])/iu;
const LIMITS =
  /\\(?:sum|prod|coprod|i*int|oint|lim|limsup|liminf|max|min|sup|inf|big(?:cup|cap|oplus|otimes))(?![a-z])/iu;
const STACKED =
  /\\(?:under|over)(?:brace|set|line|rightarrow|leftarrow|group|bracket)|\\(?:stackrel|substack|xrightarrow|xleftarrow|boxed|tag)/gu;

/**
 * Returns a height that a formula of several lines does not exceed, in em of the text, so that nothing moves when it is
 * drawn. It goes by what is written: the rows, and what stands above each other within a row.
 */
export function heightInEm(tex: string): number {
  const rows = tex.split("\\\\").map((row) => {
    const levels = Math.max(depthOfFractions(row), LIMITS.test(row) ? 1 : 0);
    return ROW + LEVEL * levels + STACK * (row.match(STACKED)?.length ?? 0);
  });
  return rows.reduce((sum, height) => sum + height, 0);
}

/** Returns how many fractions stand within each other at most. */
function depthOfFractions(tex: string): number {
  let deepest = 0;
  // For each open brace, whether it is a part of a fraction; and how many parts the last fraction still expects.
  const braces: boolean[] = [];
  let expected = 0;
  for (let at = 0; at < tex.length; at += 1) {
    const rest = tex.slice(at, at + 12);
    if (rest.startsWith("\\")) {
      if (FRACTION.test(rest)) {
        expected = 2;
        deepest = Math.max(deepest, braces.filter(Boolean).length + 1);
      }
      // The sign itself, so that an escaped brace is none.
      at += 1;
    } else if (rest.startsWith("{")) {
      braces.push(expected > 0);
      expected = 0;
    } else if (rest.startsWith("}")) {
      // After the numerator comes the denominator.
      if (braces.pop() === true) expected = 1;
    }
  }
  return deepest;
}
