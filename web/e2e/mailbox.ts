import { once } from "node:events";
import type { AddressInfo } from "node:net";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer } from "smtp-server";

/** Maximum delivery time of an email, in milliseconds. */
const longestWait = 20_000;

/** A mail as it arrived. */
export class Mail {
  readonly to: string;
  readonly parsed: Email;
  readonly raw: string;

  constructor(to: string, raw: string, parsed: Email) {
    this.to = to;
    this.raw = raw;
    this.parsed = parsed;
  }

  get subject(): string {
    return this.parsed.subject ?? "";
  }

  get text(): string {
    return this.parsed.text ?? "";
  }

  get html(): string {
    return this.parsed.html ?? "";
  }

  /** The link in the email. */
  get link(): string {
    return only(this.text.match(/https?:\/\/\S+/)?.[0], this);
  }

  /** Its six-digit code. */
  get code(): string {
    return only(this.text.match(/^\s*(\d{6})\s*$/m)?.[1], this);
  }

  /** The link's `token_hash` for `verifyOtp`. */
  get tokenHash(): string {
    return only(new URL(this.link).searchParams.get("token") ?? undefined, this);
  }
}

/**
 * A mail server that keeps what it is given, for the program under test:
 *
 *     const mailbox = await Mailbox.open();
 *     const app = await startApp({ env: mailbox.env });
 *     // … the page or the official client asks for a mail …
 *     const mail = await mailbox.next(email);
 *     await page.goto(mail.link);
 *     await mailbox.close();
 *
 * With `env` there are no notices of changes, and accounts wait for their confirmation; add `CHAT_AUTOCONFIRM: "on"` for accounts that do not. Every mail is handed out
 * once, in the order of its arrival. `goDown` and `comeBack` are a mail server that fails for a while. Tests use addresses of their own
 * (`newEmail`), so one mailbox serves many of them.
 */
export class Mailbox {
  readonly #unread: Mail[] = [];
  readonly #waiting = new Set<{ to: string; give: (mail: Mail) => void }>();
  readonly #refused = new Set<string>();
  #server: SMTPServer | undefined;
  #port = 0;

  static async open(): Promise<Mailbox> {
    const mailbox = new Mailbox();
    await mailbox.comeBack();
    return mailbox;
  }

  /** The settings of a program that sends its mail here. */
  get env(): Record<string, string> {
    return {
      SMTP_URL: `smtp://127.0.0.1:${this.#port}`,
      CHAT_MAIL_FROM: "AI Chat <chat@example.com>",
      CHAT_SECURITY_EMAILS: "off",
    };
  }

  /** The next mail to this address that has not been handed out yet. Waits for it. */
  async next(to: string): Promise<Mail> {
    const at = this.#unread.findIndex((mail) => mail.to === to);
    const [mail] = at < 0 ? [] : this.#unread.splice(at, 1);
    if (mail) return mail;
    const { promise, resolve, reject } = Promise.withResolvers<Mail>();
    const waiter = { to, give: resolve };
    this.#waiting.add(waiter);
    const overdue = setTimeout(() => reject(new Error(`no mail came to ${to}`)), longestWait);
    try {
      return await promise;
    } finally {
      clearTimeout(overdue);
      this.#waiting.delete(waiter);
    }
  }

  /** Returns the emails to this address that no test has read. */
  unread(to: string): Mail[] {
    return this.#unread.filter((mail) => mail.to === to);
  }

  /** From now on this address does not exist. */
  refuse(to: string): void {
    this.#refused.add(to);
  }

  /** Hangs up, and takes no calls. */
  async goDown(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server) await new Promise<void>((resolve) => server.close(resolve));
  }

  /** Takes calls again, at the same port. */
  async comeBack(): Promise<void> {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ["STARTTLS"],
      onRcptTo: ({ address }, _session, done) => {
        done(this.#refused.has(address) ? new Error("no such mailbox") : undefined);
      },
      onData: (stream, { envelope }, done) => {
        void this.#take(stream as AsyncIterable<Buffer>, envelope.rcptTo, done);
      },
    });
    // A program that is stopped in the middle of a mail is no fault of this server.
    server.on("error", () => undefined);
    server.listen(this.#port, "127.0.0.1");
    await once(server.server, "listening");
    this.#port = (server.server.address() as AddressInfo).port;
    this.#server = server;
  }

  close(): Promise<void> {
    return this.goDown();
  }

  async #take(
    stream: AsyncIterable<Buffer>,
    recipients: { address: string }[],
    done: (error?: Error) => void,
  ): Promise<void> {
    try {
      const raw = Buffer.concat(await Array.fromAsync(stream)).toString();
      const parsed = await PostalMime.parse(raw);
      for (const { address } of recipients) this.#deliver(new Mail(address, raw, parsed));
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  #deliver(mail: Mail): void {
    const waiter = [...this.#waiting].find(({ to }) => to === mail.to);
    if (waiter) {
      this.#waiting.delete(waiter);
      waiter.give(mail);
    } else {
      this.#unread.push(mail);
    }
  }
}

function only(found: string | undefined, mail: Mail): string {
  if (!found) throw new Error(`not in this mail: ${mail.text}`);
  return found;
}
