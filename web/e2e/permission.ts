import type { Account } from "./account.ts";

interface Known {
  connectionId: string;
  serverName: string;
  tool: string;
}

/** Allows all tools of a connection permanently. */
export async function allowAll(account: Account, serverName: string): Promise<void> {
  const { permissions } = await account.call<{ permissions: Known[] }>("/api/tools/permissions");
  for (const known of permissions.filter((one) => one.serverName === serverName)) {
    const { connectionId, tool } = known;
    await account.call("/api/tools/permissions", { connectionId, tool, permission: "always" }, {}, "PUT");
  }
}
