import type { CDPSession } from "playwright-core";
import type { AppPage } from "./app-page.ts";

/** What a browser's authenticator is: part of a phone or laptop, or a security key that does not know its user. */
type Kind = "device" | "security key";

/** Authenticator of the browser under test. */
export class VirtualAuthenticator {
  readonly #client: CDPSession;
  readonly #id: string;

  private constructor(client: CDPSession, id: string) {
    this.#client = client;
    this.#id = id;
  }

  static async addTo({ page }: AppPage, kind: Kind): Promise<VirtualAuthenticator> {
    const isDevice = kind === "device";
    const client = await page.context().newCDPSession(page);
    await client.send("WebAuthn.enable");
    const { authenticatorId } = await client.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: isDevice ? "internal" : "usb",
        hasResidentKey: isDevice,
        hasUserVerification: isDevice,
        isUserVerified: isDevice,
        automaticPresenceSimulation: true,
      },
    });
    return new VirtualAuthenticator(client, authenticatorId);
  }

  /** Sets whether the next fingerprint is the right one. */
  async recognize(isUserVerified: boolean): Promise<void> {
    await this.#client.send("WebAuthn.setUserVerified", { authenticatorId: this.#id, isUserVerified });
  }

  /** Pulls the authenticator out. */
  async remove(): Promise<void> {
    await this.#client.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId: this.#id });
  }

  /** Deletes the credentials of the authenticator. */
  async forgetAll(): Promise<void> {
    await this.#client.send("WebAuthn.clearCredentials", { authenticatorId: this.#id });
  }

  /** Returns the number of credentials. */
  async count(): Promise<number> {
    const query = { authenticatorId: this.#id };
    return (await this.#client.send("WebAuthn.getCredentials", query)).credentials.length;
  }
}
