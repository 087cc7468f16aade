/** Beginnings of the keys whose texts are loaded after the first screens. */
export const laterParts = [
  "account",
  "approval",
  "apps",
  "attention",
  "chat.empty",
  "chat.suggest",
  "chat.unfinished",
  "code",
  "elicitation",
  "files",
  "form",
  "history",
  "models",
  "notifications",
  "offers",
  "palette",
  "permission",
  "preview",
  "queue",
  "result",
  "servers",
  "share",
  "steering",
  "table",
  "task",
  "tools",
] as const;

/** Returns true if a text is loaded after the first screens. */
export function isLaterText(key: string): boolean {
  return laterParts.some((part) => key.startsWith(`${part}.`));
}

/** Returns true if a text belongs to the operator's page alone. */
export function isOperatorText(key: string): boolean {
  return key.startsWith("operator.");
}

/** Beginnings of the keys of the texts that the operator's page shares with the web app, as it loads them. */
const sharedWithOperatorPage = {
  first: ["app.crash.", "app.part.", "error.", "ui."],
  later: ["account.activity.", "models.cost."],
};

/** Selects the texts of the operator's page: its own, and of what it shares. */
export const textsOfOperatorPage = {
  first: (key: string) => sharedWithOperatorPage.first.some((part) => key.startsWith(part)),
  later: (key: string) =>
    isOperatorText(key) || sharedWithOperatorPage.later.some((part) => key.startsWith(part)),
};

/** Modules of the first screens, which must do without the later texts. */
export const firstScreenModules = ["/src/main.tsx", "/src/app/home-page.tsx", "/src/ui/toaster.tsx"];

/** The module by which all others get the later texts. */
export const laterTextsModule = "/src/lib/later-texts.ts";
