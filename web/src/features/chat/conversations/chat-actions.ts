import { t } from "@/lib/later-texts";
import { fetchFile, saveFile } from "@/lib/save-file";
import { toast, toastError } from "@/ui/toast";
import type { Chats } from "./use-chats";
import { type ChatSession, loadSession, sortLatestFirst } from "../queries";
import { deleteSession, exportPath, markSession, renameSession, restoreSession } from "./chat-commands";

/** Actions of a chat in the list. */
export interface ChatActions {
  readonly open: (id: string) => Promise<void>;
  readonly remove: (chat: ChatSession) => void;
  readonly rename: (chat: ChatSession, title: string) => void;
  readonly pin: (chat: ChatSession, pinned: boolean) => void;
  readonly archive: (chat: ChatSession, archived: boolean) => void;
  readonly download: (chat: ChatSession, format: "markdown" | "json") => void;
}

/** Returns the actions on chats. Changes are shown at once where possible, and failures as toasts. */
export function chatActions(chats: Chats): ChatActions {
  const edit = (id: string, change: Partial<ChatSession>) =>
    chats.change((list) => list.map((one) => (one.id === id ? { ...one, ...change } : one)));

  /** Opens another chat in place of one that disappears. */
  const leave = (id: string) => {
    if (id !== chats.active?.id) return;
    const next = chats.list.find((one) => one.id !== id);
    if (next) chats.select(next.id);
    else chats.create();
  };

  const restore = async (chat: ChatSession) => {
    await restoreSession(chat.id);
    chats.change((list) => sortLatestFirst([...list.filter(({ id }) => id !== chat.id), chat]));
    chats.select(chat.id);
  };

  const mark = (chat: ChatSession, marks: { pinned?: boolean; archived?: boolean }) => {
    edit(chat.id, marks);
    markSession(chat.id, marks).catch((cause: unknown) => {
      edit(chat.id, { pinned: chat.pinned ?? false, archived: chat.archived ?? false });
      toastError(cause);
    });
  };

  return {
    open: async (id) => {
      // A search result may be a chat that the list does not contain.
      if (![...chats.list, ...chats.archived].some((chat) => chat.id === id)) {
        const found = await loadSession(id);
        chats.change((list) => [...list, found]);
      }
      chats.select(id);
    },
    remove: (chat) => {
      deleteSession(chat.id).then(() => {
        chats.registry.forget(chat.id);
        chats.change((list) => list.filter(({ id }) => id !== chat.id));
        leave(chat.id);
        toast({
          title: t("history.deleted"),
          description: chat.title,
          action: { label: t("history.undo"), run: () => void restore(chat).catch(toastError) },
        });
      }, toastError);
    },
    rename: (chat, title) => {
      edit(chat.id, { title });
      renameSession(chat.id, title).catch((cause: unknown) => {
        edit(chat.id, { title: chat.title });
        toastError(cause);
      });
    },
    pin: (chat, pinned) => mark(chat, { pinned }),
    archive: (chat, archived) => {
      mark(chat, { archived });
      if (archived) leave(chat.id);
    },
    download: (chat, format) => {
      fetchFile(exportPath(chat.id, format)).then(saveFile, toastError);
    },
  };
}
