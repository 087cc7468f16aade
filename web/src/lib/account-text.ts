import texts from "../../messages/en.json?account";
import { type AccountKey, fill, type Params } from "./t";

/** The text of `key`, as {@link t} of the page gives it; for what is loaded only when somebody sees to their account. */
export function t(key: AccountKey, params?: Params): string {
  return fill(texts[key], params);
}
