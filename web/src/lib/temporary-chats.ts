import { forgetAfter } from "./user-data";

/** Ids of the temporary chats of this page. Nothing typed in one may reach the browser's storage. */
export const temporaryChats = new Set<string>();
forgetAfter("session", () => temporaryChats.clear());
