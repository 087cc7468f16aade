import messages from "../../messages/en.json";

type AnyKey = keyof typeof messages;

/** First words of the keys whose texts are loaded on demand. */
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

/** Keys of one group of texts that is loaded on demand. */
export type PartKey<Part extends Apart> = Extract<AnyKey, `${Part}.${string}`>;

/** Texts of one group. */
export type Texts<Part extends Apart> = Readonly<Record<PartKey<Part>, string>>;

/** Keys of the texts in the first chunk. */
export type MessageKey = Exclude<AnyKey, PartKey<Apart>>;

type Params = Readonly<Record<string, string | number>>;

/** Returns a text of `messages/en.json`, with each `{name}` replaced by the parameter of that name. */
export const t = textsFrom<MessageKey>(messages);

/** Returns the lookup function for a group of texts. */
export function textsFrom<Key extends string>(
  texts: Readonly<Record<Key, string>>,
): (key: Key, params?: Params) => string {
  return (key, params) => {
    const text = texts[key];
    if (params === undefined) return text;
    return text.replaceAll(/\{(\w+)\}/g, (slot, name: string) => String(params[name] ?? slot));
  };
}
