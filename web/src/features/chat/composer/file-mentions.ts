/** Words for files that no answer can reach without a tool. */
const FILE_WORDS = ["drive", "google drive", "workcover", "folder", "files", "documents"] as const;

/** Returns true if a message asks for something that only a connected tool can do. */
export function mentionsFiles(message: string): boolean {
  const text = message.toLowerCase();
  return FILE_WORDS.some((word) => text.includes(word));
}
