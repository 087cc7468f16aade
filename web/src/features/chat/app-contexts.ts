import { forgetAfter } from "@/lib/user-data";
import type { AppContext } from "@/components/tool-app/app-host";

/** Latest context of each app for the model, by chat id and tool call id. It goes with the next message. */
export const appContexts = new Map<string, ReadonlyMap<string, AppContext>>();
forgetAfter("session", () => appContexts.clear());
