import type { ReactNode } from "react";
import type { Key, OperatorKey, Params, RichKey } from "./t";
import type { RichTextParams } from "./text-params";
import { formatText, renderText, type TextValues } from "./texts";

/**
 * Returns any text in the page's language, those of the first screens included. Only modules of parts that `lazyPart`
 * loads may use it, because that waits for the later texts.
 */
export function t<AnyKey extends Exclude<Key, RichKey | OperatorKey>>(
  key: AnyKey,
  ...[params]: Params<AnyKey>
): string {
  return formatText(key, params as TextValues | undefined) as string;
}

/** Renders a text with elements in it: each of its tags is a parameter that renders what is between the tags. */
export function tRich<AnyKey extends RichKey>(key: AnyKey, params: RichTextParams[AnyKey]): ReactNode {
  return renderText(key, params);
}
