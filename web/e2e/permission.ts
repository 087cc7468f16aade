import type { Account } from "./account.ts";

interface Known {
  connectionId: string;
  serverName: string;
  tool: string;
}

/** Allows every tool of a connection for good, as a person does in the Tools tab. */
export async function allowAll(account: Account, serverName: string): Promise<void> {
  const { permissions } = await account.call<{ permissions: Known[] }>("/api/tools/permissions");
  for (const known of permissions.filter((one) => one.serverName === serverName)) {
    const { connectionId, tool } = known;
    await account.call("/api/tools/permissions", { connectionId, tool, permission: "always" }, {}, "PUT");
  }
}
