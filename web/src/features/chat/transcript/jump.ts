/** Message of the open chat to scroll to; it is loaded already. */
export interface Jump {
  readonly message: string;
  /** Receives the message's row once it is visible. */
  readonly onShown: (row: HTMLElement) => void;
}
