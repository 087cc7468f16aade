import type { OperatorKey, Params } from "@/lib/t";
import { formatText, type TextValues } from "@/lib/texts";

/** Returns a text of the operator's page, which are the later texts of its bundle. */
export function t<AnyKey extends OperatorKey>(key: AnyKey, ...[params]: Params<AnyKey>): string {
  return formatText(key, params as TextValues | undefined) as string;
}
