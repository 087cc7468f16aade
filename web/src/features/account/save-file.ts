import type { Download } from "./api";

/** Hands a file to the browser's downloads. */
export function saveFile({ name, content }: Download): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by the next turn of the event loop.
  setTimeout(() => URL.revokeObjectURL(url));
}
