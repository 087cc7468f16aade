import type { Locator } from "playwright-core";
import { totp } from "./totp.ts";
import type { AppPage } from "./app-page.ts";

type Part =
  | "Name"
  | "Email"
  | "Password"
  | "Delete my account"
  | "Authenticator app"
  | "Another authenticator"
  | "Security key"
  | "Another security key"
  | "Recovery codes"
  | "API key"
  | "Model provider";

/** Section in the settings' navigation. */
type SectionName =
  | "Account"
  | "Security"
  | "Appearance"
  | "Notifications"
  | "Models"
  | "Providers"
  | "Usage"
  | "Tools and permissions"
  | "Data"
  | "API keys";

const sectionOf: Readonly<Record<Part, SectionName>> = {
  Name: "Account",
  Email: "Account",
  Password: "Security",
  "Authenticator app": "Security",
  "Another authenticator": "Security",
  "Security key": "Security",
  "Another security key": "Security",
  "Recovery codes": "Security",
  "Delete my account": "Data",
  "API key": "API keys",
  "Model provider": "Providers",
};

/** Page object of the settings, which finds elements by their accessible names. */
export class Settings {
  readonly appPage: AppPage;

  constructor(appPage: AppPage) {
    this.appPage = appPage;
  }

  static async open(appPage: AppPage, section?: SectionName): Promise<Settings> {
    await appPage.pressInHeader("Settings");
    const settings = new Settings(appPage);
    await settings.panel.waitFor();
    if (section !== undefined) await settings.goTo(section);
    return settings;
  }

  /** Opens a section; on a phone its link is in the list of all sections. */
  async goTo(section: SectionName): Promise<void> {
    if (await this.heading(section).isVisible()) return;
    const back = this.button("All settings");
    if (await back.isVisible()) await back.click();
    await this.link(section).click();
    await this.heading(section).waitFor();
  }

  link(section: SectionName): Locator {
    return this.panel.getByRole("navigation").getByRole("link", { name: section, exact: true });
  }

  heading(section: SectionName): Locator {
    return this.panel.getByRole("heading", { name: section, exact: true, level: 2 });
  }

  get panel(): Locator {
    return this.appPage.page.getByRole("dialog", { name: "Settings", exact: true });
  }

  section(name: string): Locator {
    return this.panel.getByRole("region", { name, exact: true });
  }

  button(name: string | RegExp): Locator {
    return this.panel.getByRole("button", { name, exact: true });
  }

  field(label: string): Locator {
    // A button that opens a form can have the form's label as its own.
    const controls = this.panel.locator("input, textarea, select");
    return this.panel.getByLabel(label, { exact: true }).and(controls);
  }

  /** Opens the form of a part, in its section. */
  async change(part: Part): Promise<void> {
    await this.goTo(sectionOf[part]);
    await this.toggle(part).click();
  }

  /** The button that opens the form of a part, and closes it. */
  toggle(part: Part): Locator {
    return this.panel.getByRole("button", {
      name: new RegExp(`^(Change|Cancel|Delete|Set up|Add|Create|Renew) ${part}$`, "u"),
    });
  }

  /** Answers the question that a button asks before it acts. */
  async confirm(question: RegExp, answer: string): Promise<void> {
    const asked = this.appPage.page.getByRole("dialog", { name: question });
    await asked.getByRole("button", { name: answer, exact: true }).click();
  }

  /** The row of a device or an authenticator. */
  row(name: string | RegExp): Locator {
    return this.panel.getByRole("listitem").filter({ hasText: name });
  }

  /** Sets up an authenticator; its secret. */
  async addAuthenticator(name: string, later = -1): Promise<string> {
    await this.goTo("Security");
    const begin = this.section("Two-factor authentication").getByRole("button", {
      name: /^(Set up|Add) (Authenticator app|Another authenticator)$/u,
    });
    const isFirst = ((await begin.textContent()) ?? "") === "Set up";
    await begin.click();
    await this.field("Authenticator name").fill(name);
    await this.button("Continue").click();
    const secret = (await this.panel.locator("code").textContent()) ?? "";
    await this.field("Code from the app").fill(await totp(secret, later));
    await this.button("Verify").click();
    await this.row(name).waitFor();
    if (isFirst) await this.button("I have saved them").click();
    return secret;
  }
}
