import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { run as runTests } from "node:test";
import { spec } from "node:test/reporters";

/** Milliseconds that a single test may take; the longest takes half a minute. */
const longestTest = 300_000;

/** More failures than this are no accident, and another try would only take time. */
const mostToTryAgain = 5;

/** The built-in model takes every core for a minute, in which other journeys would be late. */
const alone = ["e2e/journeys-built-in.test.ts"];
const all = ["e2e/**/*.test.ts"];

interface Ended {
  passed: boolean;
  failures: Set<string>;
}

/**
 * Runs the journeys. A browser, a model and databases on two cores can be late by chance; the few tests that failed are
 * therefore run once more, one at a time, and what passed only then is named at the end.
 */
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "journeys-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const state = join(folder, "state.json");
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : all;
  if (files === all) await run(alone, 1, state);
  let ended = await run(files, 2, state);
  const failures = ended.failures;
  if (!ended.passed && failures.size > 0 && failures.size <= mostToTryAgain) {
    console.log(`\nOnce more, one at a time: ${failures.size} failed`);
    ended = await run(files, 1, state);
    for (const name of failures.difference(ended.failures))
      console.log(`passed at the second try only: ${name}`);
  }
  process.exitCode = ended.passed ? 0 : 1;
}

/** Runs what the state does not tell of as passed, and adds to it. */
async function run(files: readonly string[], concurrency: number, state: string): Promise<Ended> {
  const events = runTests({
    globPatterns: files,
    concurrency,
    rerunFailuresFilePath: state,
    // A test that failed in its middle leaves programs and browsers behind, which must not keep its file from ending.
    execArgv: ["--test-force-exit", `--test-timeout=${longestTest}`],
  });
  const ended: Ended = { passed: false, failures: new Set() };
  events.on("test:fail", ({ name, details }) => {
    if (details.type !== "suite") ended.failures.add(name);
  });
  events.on("test:summary", ({ file, success }) => {
    if (!file) ended.passed = success;
  });
  await pipeline(events.compose(spec), process.stdout, { end: false });
  return ended;
}

await main();
