import { after, type TestContext } from "node:test";
import { startPeer } from "./peer.ts";
import { startFixture } from "./fixture.ts";
import type { AppPage } from "./app-page.ts";

/**
 * Starts a fixture with a third-party server that has prompts and resources, and opens pages that have connected it as
 * "theirs".
 */
export async function openMcpContext(env: Record<string, string> = {}) {
  const fixture = await startFixture(env);
  const peer = await startPeer("mcp-server-everything", ["streamableHttp"], { PORT: "{port}" });
  after(() => peer.stop());
  const connected = async (t: TestContext, options: object = {}) => {
    const { account, appPage } = await fixture.openSignedInPage(t, options);
    await account.connect("theirs", `http://127.0.0.1:${peer.port}/mcp`);
    return { account, appPage };
  };
  return { fixture, connected };
}

/** A list that hangs over a field. */
export const list = ({ page }: AppPage, name: "Prompts" | "Resources" | "Suggestions") =>
  page.getByRole("listbox", { name, exact: true });

export const option = (appPage: AppPage, kind: "Prompts" | "Resources", name: string | RegExp) =>
  list(appPage, kind).getByRole("option", { name });

/** Returns the list of attachments in the composer. */
export const attached = ({ page }: AppPage) => page.getByRole("list", { name: "Attached" });
