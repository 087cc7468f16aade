import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** More failures than this are no accident, and another try would only take time. */
const mostToTryAgain = 5;

interface Ended {
  passed: boolean;
  failures: number;
}

/**
 * Runs the journeys. A browser, a model and databases on two cores can be late by chance; the few tests that failed are
 * therefore run once more, one at a time, and what passed only then is named at the end.
 */
async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "journeys-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const state = join(folder, "state.json");
  let ended = await run(2, state);
  if (!ended.passed && ended.failures > 0 && ended.failures <= mostToTryAgain) {
    console.log(`\nOnce more, one at a time: ${ended.failures} failed`);
    ended = await run(1, state);
    for (const name of passedAtLast(state)) console.log(`passed at the second try only: ${name}`);
  }
  process.exitCode = ended.passed ? 0 : 1;
}

/** Runs what the state does not tell of as passed, and adds to it. */
async function run(concurrency: number, state: string): Promise<Ended> {
  const options = [`--test-concurrency=${concurrency}`, `--test-rerun-failures=${state}`];
  const only = process.argv.slice(2);
  const files = only.length > 0 ? only : ["e2e/**/*.test.ts"];
  const runner = spawn(process.execPath, ["--test", ...options, ...files], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(runner, "close") as Promise<[number | null]>;
  let failures = 0;
  for await (const line of createInterface(runner.stdout)) {
    console.log(line);
    failures += Number(/^(?:# |ℹ )(?:fail|cancelled) (\d+)$/u.exec(line)?.[1] ?? 0);
  }
  const [code] = await closed;
  return { passed: code === 0, failures };
}

/** The tests that failed the first time and passed the second. */
function passedAtLast(state: string): string[] {
  type Attempt = Record<string, { name: string; passed_on_attempt: number }>;
  const attempts = JSON.parse(readFileSync(state, "utf8")) as Attempt[];
  const all = Object.values(attempts.at(-1) ?? {});
  return all.filter((test) => test.passed_on_attempt > 0).map((test) => test.name);
}

await main();
