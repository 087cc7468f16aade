import { forgetAfter } from "@/lib/user-data";
import type { AppContext } from "@/components/tool-app/app-host";

/** What apps want the model to know with the next message: by chat, then by call, the last word of each. */
export const appContexts = new Map<string, ReadonlyMap<string, AppContext>>();
forgetAfter("session", () => appContexts.clear());
