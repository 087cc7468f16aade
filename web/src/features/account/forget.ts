/** What the product keeps in the browser beside the session begins so. */
const prefix = "ai-chat-mcp.";

/** Removes what this browser keeps of a person, such as drafts of messages. */
export function forgetWhatIsKept(): void {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
  } catch {
    // Without storage nothing was kept.
  }
}
