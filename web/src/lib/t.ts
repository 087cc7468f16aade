import messages from "../../messages/en.json";

type AnyKey = keyof typeof messages;

/** The name of a text that only the parts about a person's account need; `account-text.ts` has them. */
export type AccountKey = Extract<AnyKey, `account.${string}`>;

/** The name of a text in `messages/en.json`. */
export type MessageKey = Exclude<AnyKey, AccountKey>;

export type Params = Readonly<Record<string, string | number>>;

/** The text of `key`, with every `{name}` replaced by the parameter of that name. */
export function t(key: MessageKey, params?: Params): string {
  return fill(messages[key], params);
}

/** A text with its parameters in their places. */
export function fill(text: string, params?: Params): string {
  if (params === undefined) return text;
  return text.replaceAll(/\{(\w+)\}/g, (slot, name: string) => String(params[name] ?? slot));
}
