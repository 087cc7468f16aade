import messages from "../../messages/en.json";

/** The name of a text in `messages/en.json`. */
export type MessageKey = keyof typeof messages;

/** The text of `key`, with every `{name}` replaced by the parameter of that name. */
export function t(key: MessageKey, params?: Readonly<Record<string, string | number>>): string {
  const text = messages[key];
  if (params === undefined) return text;
  return text.replaceAll(/\{(\w+)\}/g, (slot, name: string) => String(params[name] ?? slot));
}
