import { isObject, type JsonObject } from "@/lib/json";

/** Colours of a diagram, as hexadecimal numbers: Mermaid computes with them. */
export interface DiagramColors {
  readonly paper: string;
  readonly surface: string;
  readonly sunken: string;
  readonly line: string;
  readonly ink: string;
  readonly ink2: string;
  readonly accent: string;
  readonly accentSoft: string;
  readonly warnSoft: string;
  readonly warn: string;
  readonly err: string;
  /** Colours of series, in their order. */
  readonly series: readonly string[];
}

/** Request to the sandbox to draw a diagram. */
export interface DiagramRequest {
  readonly source: string;
  /** Name of the diagram for screen readers. */
  readonly label: string;
  readonly isDark: boolean;
  readonly colors: DiagramColors;
}

/** Message of the page to the sandbox. */
export type DiagramCommand =
  | { readonly method: "diagram/zoom"; readonly params: { readonly step: -1 | 1 } }
  | { readonly method: "diagram/draw-png" };

/** Message of the sandbox to the page. */
export type DiagramEvent =
  | { readonly method: "diagram/drawn"; readonly params: { readonly svg: string } }
  /** Sent when the height of the diagram has changed, in CSS pixels. */
  | { readonly method: "diagram/resized"; readonly params: { readonly height: number } }
  | { readonly method: "diagram/png"; readonly params: { readonly image: Blob } }
  | { readonly method: "diagram/failed"; readonly params: { readonly message: string } };

/** Returns the event in a message of the sandbox, which can say anything; undefined if there is none. */
export function readDiagramEvent({ method, params }: JsonObject): DiagramEvent | undefined {
  if (!isObject(params)) return undefined;
  const { svg, height, image, message }: Record<string, unknown> = params;
  if (method === "diagram/drawn" && typeof svg === "string") return { method, params: { svg } };
  if (method === "diagram/resized" && typeof height === "number") return { method, params: { height } };
  if (method === "diagram/png" && image instanceof Blob) return { method, params: { image } };
  if (method === "diagram/failed" && typeof message === "string") return { method, params: { message } };
  return undefined;
}

/** Name of the error for a diagram that the script cannot draw; `scripts/diagrams-plugin.ts` throws it. */
export const UNSUPPORTED = "UnsupportedDiagram";
/** Longest source that is drawn, in characters; Mermaid's own limit. */
export const MAX_SOURCE_LENGTH = 50_000;
