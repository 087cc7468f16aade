/** A picture of a server or of one of its things. */
export interface Icon {
  /** An `https:` address at the server's own origin, or the picture itself as `data:`. */
  readonly src: string;
  readonly mimeType?: string;
  /** Such as `48x48`. */
  readonly sizes?: readonly string[];
  /** The background it is made for. */
  readonly theme?: string;
}
