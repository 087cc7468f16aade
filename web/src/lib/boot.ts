/** Settings that the server embeds in the page. */
interface Boot {
  version: string;
  /** Fallback tools for servers that offer none. */
  fallbackTools: "google-drive" | "off";
  /** True if accounts need no email confirmation. */
  autoconfirm: boolean;
  /** Policy for the creation of accounts. */
  signUps: "open" | "invite" | "closed";
  /** True if the server can send email. */
  mail?: boolean;
  /** Identity provider at which users can sign in; `only` if there is no other way, `logout` if they sign out there, too. */
  provider?: { name: string; only: boolean; logout: boolean } | null;
  /** Domain at which users can sign in with passkeys. */
  passkeys?: string | null;
  /** True if users can link Google Drive. */
  googleDrive?: boolean;
  /** True if users can browse the MCP registry. */
  registry?: boolean;
}

const defaults: Boot = {
  version: "dev",
  fallbackTools: "google-drive",
  autoconfirm: true,
  signUps: "open",
};

/** Parses the embedded settings; absent or invalid ones get their default. */
function parseBoot(json: string | null | undefined): Boot {
  try {
    return { ...defaults, ...(JSON.parse(json ?? "{}") as Partial<Boot>) };
  } catch {
    return defaults;
  }
}

export const boot: Boot = parseBoot(globalThis.document?.getElementById("boot")?.textContent);
