/** A wish to see a message of the open chat, which is loaded. */
export interface Jump {
  readonly message: string;
  /** Told the message's row once it is in sight. */
  readonly onShown: (row: HTMLElement) => void;
}
