/** Icon of a server, tool, prompt or resource. */
export interface Icon {
  /** `https:` URL on the server's own origin, or a `data:` URL. */
  readonly src: string;
  readonly mimeType?: string;
  /** For example `48x48`. */
  readonly sizes?: readonly string[];
  /** Theme of the background that it is made for. */
  readonly theme?: string;
}
