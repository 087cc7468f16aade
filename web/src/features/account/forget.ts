/** Prefix of all storage keys of this app, except the session's. */
const prefix = "ai-chat-mcp.";

/** Deletes all stored data of a user, such as drafts, from this browser. */
export function forgetWhatIsKept(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
  } catch {
    // Without storage there is nothing to delete.
  }
}
