import type { Root } from "mdast";

/** A text for the worker to parse. */
export interface ParseRequest {
  readonly id: number;
  readonly text: string;
}

/** The tree of a text. */
export interface ParseResponse {
  readonly id: number;
  readonly root: Root;
}
