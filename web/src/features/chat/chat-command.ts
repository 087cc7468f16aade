/** Command from another part of the page to the chat. */
export type ChatCommand =
  | { readonly type: "new" }
  /** Focuses the message field. */
  | { readonly type: "focus" }
  /** Opens the list of chats. */
  | { readonly type: "find" }
  /** Puts a text into the message field. */
  | { readonly type: "fill"; readonly text: string };
