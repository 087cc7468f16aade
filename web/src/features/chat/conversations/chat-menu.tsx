import {
  Archive,
  ArchiveRestore,
  Braces,
  Ellipsis,
  FileDown,
  Pencil,
  Pin,
  PinOff,
  Share2,
  SquareCheck,
  Trash2,
} from "lucide-react";
import { t } from "@/lib/later-texts";
import { ActionMenu, type MenuAction } from "@/ui/menu";
import { type ChatSession, shownTitle } from "../queries";
import type { ChatActions } from "./chat-actions";

/** Form that a menu of a chat opens. */
export type ChatForm = "rename" | "share";

interface ChatMenuProps {
  chat: ChatSession;
  actions: ChatActions;
  onForm: (form: ChatForm) => void;
  /** Called before the chat leaves its place in the list, to move the focus. */
  onArchive: () => void;
  /** Begins to select chats with this one. */
  onSelect: () => void;
  /** Called before the chat is deleted, to move the focus; without it the menu deletes nothing. */
  onDelete?: () => void;
}

/** Button with the menu of a chat: organize it, share it, download it. */
export function ChatMenu({ chat, actions, onForm, onArchive, onSelect, onDelete }: ChatMenuProps) {
  const { pinned = false, archived = false } = chat;
  const groups: MenuAction[][] = [
    [
      {
        icon: <Pencil />,
        label: t("history.rename"),
        movesFocus: true,
        onSelect: () => onForm("rename"),
      },
      {
        icon: pinned ? <PinOff /> : <Pin />,
        label: t(pinned ? "history.unpin" : "history.pin"),
        onSelect: () => actions.pin(chat, !pinned),
      },
      {
        icon: archived ? <ArchiveRestore /> : <Archive />,
        label: t(archived ? "history.unarchive" : "history.archive"),
        movesFocus: true,
        onSelect: () => {
          onArchive();
          actions.archive(chat, !archived);
        },
      },
      { icon: <SquareCheck />, label: t("history.select.one"), movesFocus: true, onSelect },
    ],
    [
      {
        icon: <Share2 />,
        label: t("history.share"),
        movesFocus: true,
        onSelect: () => onForm("share"),
      },
      {
        icon: <FileDown />,
        label: t("history.markdown"),
        onSelect: () => actions.download(chat, "markdown"),
      },
      {
        icon: <Braces />,
        label: t("history.json"),
        onSelect: () => actions.download(chat, "json"),
      },
    ],
  ];
  if (onDelete)
    groups.push([
      {
        icon: <Trash2 />,
        label: t("history.delete"),
        movesFocus: true,
        onSelect: () => {
          onDelete();
          actions.remove(chat);
        },
      },
    ]);
  return (
    <ActionMenu label={t("history.more", { title: shownTitle(chat) })} icon={<Ellipsis />} groups={groups} />
  );
}
