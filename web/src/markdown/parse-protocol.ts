import type { Root } from "mdast";

/** Request to the worker to parse a text. */
export interface ParseRequest {
  readonly id: number;
  readonly text: string;
}

/** Tree of a parsed text. */
export interface ParseResponse {
  readonly id: number;
  readonly root: Root;
}
