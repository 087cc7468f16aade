/** What the server tells the page before anything is asked for. */
export interface Boot {
  version: string;
  /** Whether the built-in Google Drive tools stand in for a server that offers none. */
  fallbackTools: "google-drive" | "off";
  /** Whether accounts are confirmed at once, without an e-mail. */
  autoconfirm: boolean;
  /** Whether the server sends mail: links to a new password, confirmations. */
  mail: boolean;
  /** Whether people can link their Google Drive. */
  googleDrive: boolean;
}

const defaults: Boot = {
  version: "dev",
  fallbackTools: "google-drive",
  autoconfirm: true,
  mail: false,
  googleDrive: false,
};

/** Reads the boot slot of the page; what is absent or unreadable has its default. */
export function parseBoot(json: string | null | undefined): Boot {
  try {
    return { ...defaults, ...(JSON.parse(json ?? "{}") as Partial<Boot>) };
  } catch {
    return defaults;
  }
}

export const boot: Boot = parseBoot(globalThis.document?.getElementById("boot")?.textContent);
