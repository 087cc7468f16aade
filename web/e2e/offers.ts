import { after, type TestContext } from "node:test";
import { startPeer } from "./peer.ts";
import { openStage } from "./stage.ts";
import type { Visitor } from "./visitor.ts";

/** A stage beside a server of another maker with prompts and resources, and people who have connected it as "theirs". */
export async function openOffers(env: Record<string, string> = {}) {
  const stage = await openStage(env);
  const peer = await startPeer("mcp-server-everything", ["streamableHttp"], { PORT: "{port}" });
  after(() => peer.stop());
  const connected = async (t: TestContext, options: object = {}) => {
    const { account, visitor } = await stage.member(t, options);
    await account.connect("theirs", `http://127.0.0.1:${peer.port}/mcp`);
    return { account, visitor };
  };
  return { stage, connected };
}

/** A list that hangs over a field. */
export const list = ({ page }: Visitor, name: "Prompts" | "Resources" | "Suggestions") =>
  page.getByRole("listbox", { name, exact: true });

export const option = (visitor: Visitor, kind: "Prompts" | "Resources", name: string | RegExp) =>
  list(visitor, kind).getByRole("option", { name });

/** What goes with the message being written. */
export const attached = ({ page }: Visitor) => page.getByRole("list", { name: "Attached" });
