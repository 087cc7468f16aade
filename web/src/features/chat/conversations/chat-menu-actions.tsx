import {
  Archive,
  ArchiveRestore,
  Braces,
  FileDown,
  Pencil,
  Pin,
  PinOff,
  Share2,
  SquareCheck,
  Trash2,
} from "lucide-react";
import { t } from "@/lib/later-texts";
import type { MenuAction } from "@/ui/menu";
import type { ChatSession } from "../queries";
import type { ChatActions } from "./chat-actions";

/** Form that a menu of a chat opens. */
export type ChatForm = "rename" | "share";

/** Entry of a chat's menu. */
interface ChatMenuAction extends MenuAction {
  /** The form that it opens. */
  readonly form?: ChatForm;
}

export interface ChatMenuOptions {
  chat: ChatSession;
  actions: ChatActions;
  onForm: (form: ChatForm) => void;
  /** Begins to select chats with this one; absent outside of the list. */
  onSelect?: () => void;
  /** Called before the chat is archived or deleted, to move the focus. */
  onLeave?: () => void;
  /** True if the menu has an entry that deletes the chat. */
  deletes: boolean;
}

/** Returns the entries of a chat's menu in groups: organize it, share it, delete it. */
export function chatMenuActions({
  chat,
  actions,
  onForm,
  onSelect,
  onLeave,
  deletes,
}: ChatMenuOptions): readonly (readonly ChatMenuAction[])[] {
  const { pinned = false, archived = false } = chat;
  const form = (name: ChatForm) => ({ form: name, movesFocus: true, onSelect: () => onForm(name) });
  const leaving = (act: () => void) => ({
    movesFocus: true,
    onSelect: () => {
      onLeave?.();
      act();
    },
  });
  const organize: ChatMenuAction[] = [
    { icon: <Pencil />, label: t("history.rename"), ...form("rename") },
    {
      icon: pinned ? <PinOff /> : <Pin />,
      label: t(pinned ? "history.unpin" : "history.pin"),
      onSelect: () => actions.pin(chat, !pinned),
    },
    {
      icon: archived ? <ArchiveRestore /> : <Archive />,
      label: t(archived ? "history.unarchive" : "history.archive"),
      ...leaving(() => actions.archive(chat, !archived)),
    },
  ];
  if (onSelect)
    organize.push({ icon: <SquareCheck />, label: t("history.select.one"), movesFocus: true, onSelect });
  const groups: ChatMenuAction[][] = [
    organize,
    [
      { icon: <Share2 />, label: t("history.share"), ...form("share") },
      {
        icon: <FileDown />,
        label: t("history.markdown"),
        onSelect: () => actions.download(chat, "markdown"),
      },
      { icon: <Braces />, label: t("history.json"), onSelect: () => actions.download(chat, "json") },
    ],
  ];
  if (deletes)
    groups.push([{ icon: <Trash2 />, label: t("history.delete"), ...leaving(() => actions.remove(chat)) }]);
  return groups;
}
