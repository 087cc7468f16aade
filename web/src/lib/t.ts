import type { ReactNode } from "react";
import type messages from "../../messages/en.json";
import type { laterParts } from "../../scripts/text-parts";
import type { RichTextParams, TextParams } from "./text-params";
import { formatText, renderText, type TextValues } from "./texts";

/** Keys of all texts. */
export type Key = keyof typeof messages;

/** Beginning of the keys whose texts are loaded after the first screens. */
type LaterPart = (typeof laterParts)[number];

/** Keys of the texts with elements in them. */
export type RichKey = keyof RichTextParams;

/** Keys of the texts that begin with one of the given words. */
export type PartKey<Part extends LaterPart> = Exclude<Extract<Key, `${Part}.${string}`>, RichKey>;

/** Keys of the texts of the operator's page. */
export type OperatorKey = Extract<Key, `operator.${string}`>;

/** Keys of the texts of the first screens. */
export type FirstKey = Exclude<Key, RichKey | OperatorKey | `${LaterPart}.${string}`>;

/** Those of the keys whose texts have no parameters. */
export type Plain<AnyKey extends Key> = Exclude<AnyKey, keyof TextParams>;

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** Parameters after a key: those of its text, or of all texts if it is one of several. */
export type Params<AnyKey> = [Extract<AnyKey, keyof TextParams>] extends [never]
  ? []
  : [params: Intersection<TextParams[Extract<AnyKey, keyof TextParams>]>];

/** Returns a text of the first screens in the page's language. */
export function t<AnyKey extends FirstKey>(key: AnyKey, ...[params]: Params<AnyKey>): string {
  return formatText(key, params as TextValues | undefined) as string;
}

/** Renders a text of the first screens with elements in it: each tag is a parameter that renders what is between. */
export function tRich<AnyKey extends Exclude<RichKey, `${LaterPart}.${string}`>>(
  key: AnyKey,
  params: RichTextParams[AnyKey],
): ReactNode {
  return renderText(key, params);
}
