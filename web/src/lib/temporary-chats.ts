import { forgetAfter } from "./user-data";

/** The temporary chats of this page, by their ids: nothing that is typed in one may reach the browser's storage. */
export const temporaryChats = new Set<string>();
forgetAfter("session", () => temporaryChats.clear());
