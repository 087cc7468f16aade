import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { SMTPServer } from "smtp-server";
import { startApp } from "./app.ts";
import { type Certificate, makeCertificate } from "./certificate.ts";
import { browser, newEmail, password } from "./auth-browser.ts";

/** Email as a mail server received it. */
interface Delivery {
  user: string;
  secret: string;
  encrypted: boolean;
}

describe("a mail server that wants a name, a password and encryption", () => {
  let certificate: Certificate;
  before(async () => {
    certificate = await makeCertificate();
  });
  after(() => certificate.remove());

  /** Signs up where mail goes to such a server; with `trusted`, by its name and its authority. */
  async function signUp(kind: "smtps" | "starttls", trusted: boolean) {
    const deliveries: Delivery[] = [];
    const { key, cert, authority } = certificate;
    const proofs = new Map<string, { user: string; secret: string }>();
    const server = new SMTPServer({
      secure: kind === "smtps",
      key,
      cert,
      onAuth: ({ username, password: secret }, session, done) => {
        const user = username ?? "";
        proofs.set(session.id, { user, secret: secret ?? "" });
        done(null, { user });
      },
      onData: (stream, session, done) => {
        const proof = proofs.get(session.id);
        if (proof) deliveries.push({ ...proof, encrypted: session.secure });
        stream.resume().once("end", () => done());
      },
    });
    // Somebody who does not trust the server hangs up.
    server.on("error", () => undefined);
    server.listen(0, "127.0.0.1");
    await once(server.server, "listening");
    const { port } = server.server.address() as AddressInfo;
    const url = `${kind === "smtps" ? "smtps" : "smtp"}://chat:p%40ss@localhost:${port}`;
    const env = { SMTP_URL: kind === "smtps" ? url : `${url}?tls=required` };
    const app = await startApp({ env: trusted ? { ...env, SSL_CERT_FILE: authority } : env });
    try {
      const { error } = await browser(app).signUp({ email: newEmail(), password });
      return { deliveries, error, log: app.log() };
    } finally {
      await app.stop();
      await new Promise<void>((resolve) => server.close(resolve));
    }
  }

  for (const kind of ["smtps", "starttls"] as const) {
    test(`${kind}: a letter goes out encrypted, with the name and the password`, async () => {
      const { deliveries, error } = await signUp(kind, true);
      assert.equal(error, null);
      assert.deepEqual(deliveries, [{ user: "chat", secret: "p@ss", encrypted: true }]);
    });

    test(`${kind}: a server that nobody vouches for is told nothing`, async () => {
      const { deliveries, error, log } = await signUp(kind, false);
      assert.equal(error?.message, "Error sending confirmation email");
      assert.deepEqual(deliveries, []);
      assert.match(log, /certificate/);
      assert.doesNotMatch(log, /p@ss|p%40ss/);
    });
  }
});
