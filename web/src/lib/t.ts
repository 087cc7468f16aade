import messages from "../../messages/en.json";

type AnyKey = keyof typeof messages;

/** The texts that are loaded apart, by the first word of their names. */
type Apart =
  | "account"
  | "approval"
  | "apps"
  | "elicitation"
  | "files"
  | "form"
  | "history"
  | "models"
  | "offers"
  | "permission"
  | "result"
  | "queue"
  | "servers"
  | "share"
  | "steering"
  | "task"
  | "tools";

/** The names of the texts that are loaded apart, each kind with the parts of the page that need it. */
export type PartKey<Part extends Apart> = Extract<AnyKey, `${Part}.${string}`>;

/** The texts of one part. */
export type Texts<Part extends Apart> = Readonly<Record<PartKey<Part>, string>>;

/** The name of a text that the page has from the beginning. */
export type MessageKey = Exclude<AnyKey, PartKey<Apart>>;

type Params = Readonly<Record<string, string | number>>;

/** The text of `key` in `messages/en.json`, with every `{name}` replaced by the parameter of that name. */
export const t = textsFrom<MessageKey>(messages);

/** How to look up a text among `texts`. */
export function textsFrom<Key extends string>(
  texts: Readonly<Record<Key, string>>,
): (key: Key, params?: Params) => string {
  return (key, params) => {
    const text = texts[key];
    if (params === undefined) return text;
    return text.replaceAll(/\{(\w+)\}/g, (slot, name: string) => String(params[name] ?? slot));
  };
}
