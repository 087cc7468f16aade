import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

/** A file in the app's own folder, or a database made for it on the server of `TEST_POSTGRES_URL`. */
export type Database = "sqlite" | "postgres";

/** The databases that can be tested here. */
export const databases: Database[] = process.env["TEST_POSTGRES_URL"] ? ["sqlite", "postgres"] : ["sqlite"];

export interface AppOptions {
  /** SQLite unless another is named. */
  database?: Database;
  /** Settings over the usual ones: no built-in model, no rate limits. */
  env?: Record<string, string>;
  /** A free port unless one is named. */
  port?: number;
  /** The data of an app that was stopped with `keepData`, to go on with. */
  data?: AppData;
  /** Another program than the one that `CHAT_BINARY` names. */
  binary?: string;
}

export interface AppData {
  dir: string;
  databaseUrl: string;
}

/** A running app. */
export interface TestApp {
  /** Its public origin, without a slash at the end. */
  url: string;
  port: number;
  dataDir: string;
  data: AppData;
  /** Runs an operator's command on its data, and returns what it prints. */
  command: (...args: string[]) => Promise<string>;
  /** Returns the log so far, one JSON object per line. */
  log: () => string;
  /** Stops it, as the system would unless another signal is named, and waits until it has ended. */
  stop: (options?: { signal?: NodeJS.Signals; keepData?: boolean }) => Promise<void>;
}

const longestDrain = 30_000;

/** Starts the program that `CHAT_BINARY` names, and answers when it serves. */
export async function startApp(options: AppOptions = {}): Promise<TestApp> {
  const data = options.data ?? (await newData(options.database ?? "sqlite"));
  const env = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    CHAT_LISTEN: `127.0.0.1:${options.port ?? 0}`,
    CHAT_DATA_DIR: data.dir,
    DATABASE_URL: data.databaseUrl,
    CHAT_LOCAL_MODEL: "off",
    CHAT_RATE_LIMITS: "off",
    ...options.env,
  };
  // A settings file lies in the working folder; this one has none.
  const program = options.binary ?? binary();
  const child = spawn(program, [], { cwd: data.dir, env, stdio: ["ignore", "ignore", "pipe"] });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const log: string[] = [];
  const port = await portOf(child, log);
  return {
    url: `http://localhost:${port}`,
    port,
    dataDir: data.dir,
    data,
    command: async (...args) => (await promisify(execFile)(program, args, { cwd: data.dir, env })).stdout,
    log: () => log.join("\n"),
    stop: async ({ signal = "SIGTERM", keepData = false } = {}) => {
      await ended(child, signal);
      process.removeListener("exit", kill);
      if (!keepData) await rm(data.dir, { recursive: true, force: true });
    },
  };
}

function binary(): string {
  const path = process.env["CHAT_BINARY"];
  if (!path) throw new Error("CHAT_BINARY must name the program; `cargo xtask test` builds it and sets this");
  return path;
}

async function newData(database: Database): Promise<AppData> {
  const dir = await mkdtemp(join(tmpdir(), "ai-chat-mcp-"));
  return {
    dir,
    databaseUrl: database === "sqlite" ? `sqlite://${dir}/test.db` : await newPostgresDatabase(),
  };
}

async function newPostgresDatabase(): Promise<string> {
  const url = new URL(process.env["TEST_POSTGRES_URL"] ?? "");
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  url.pathname = "/postgres";
  await promisify(execFile)("psql", [url.href, "--quiet", "--no-psqlrc", "-c", `CREATE DATABASE ${name}`]);
  url.pathname = `/${name}`;
  return url.href;
}

/** The port it says it serves on. Goes on collecting what it says. */
async function portOf(child: ChildProcess, log: string[]): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once("error", reject);
  child.once("close", () => reject(new Error(`the app did not start:\n${log.join("\n")}`)));
  if (child.stderr) {
    createInterface({ input: child.stderr }).on("line", (line) => {
      log.push(line);
      const port = portIn(line);
      if (port) resolve(port);
    });
  }
  return promise;
}

function portIn(line: string): number | undefined {
  if (!line.startsWith("{")) return undefined;
  const { fields } = JSON.parse(line) as { fields?: { message?: string; address?: string } };
  return fields?.message === "started" ? Number(fields.address?.split(":").at(-1)) : undefined;
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill(signal);
  const overdue = setTimeout(() => child.kill("SIGKILL"), longestDrain);
  await exit;
  clearTimeout(overdue);
}
