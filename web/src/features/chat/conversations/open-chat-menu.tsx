import { Braces, FileDown, Pencil, Pin, PinOff, Share2 } from "lucide-react";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import { ActionItem, ActionList } from "@/ui/action-list";
import { useClosePopover } from "@/ui/popover";
import type { ChatSession } from "../queries";
import { chatActions } from "./chat-actions";
import type { ChatForm } from "./chat-menu";
import { RenameForm } from "./rename-form";
import { ShareForm } from "./share-form";
import type { Chats } from "./use-chats";

interface OpenChatMenuProps {
  chat: ChatSession;
  chats: Chats;
  /** Form to begin with, instead of the list of actions. */
  form?: ChatForm;
}

/** Content of the popovers in the chat's head: what can be done with the open chat. */
export function OpenChatMenu({ chat, chats, form: first }: OpenChatMenuProps) {
  const [form, setForm] = useState(first);
  const actions = chatActions(chats);
  const close = useClosePopover();
  const { pinned = false } = chat;
  function download(format: "markdown" | "json"): void {
    close();
    actions.download(chat, format);
  }
  if (form === "share")
    return (
      <div className="px-1 py-1.5">
        <ShareForm chatId={chat.id} onCancel={close} />
      </div>
    );
  if (form === "rename")
    return (
      <div className="p-1">
        <RenameForm
          title={chat.title}
          onSave={(title) => {
            actions.rename(chat, title);
            close();
          }}
          onCancel={close}
        />
      </div>
    );
  return (
    <ActionList>
      <ActionItem icon={<Share2 />} label={t("history.share")} onClick={() => setForm("share")} />
      <ActionItem icon={<Pencil />} label={t("history.rename")} onClick={() => setForm("rename")} />
      <ActionItem
        icon={pinned ? <PinOff /> : <Pin />}
        label={t(pinned ? "history.unpin" : "history.pin")}
        onClick={() => {
          close();
          actions.pin(chat, !pinned);
        }}
      />
      <li aria-hidden="true" className="mx-2.5 my-1.5 border-t border-line" />
      <ActionItem icon={<FileDown />} label={t("history.markdown")} onClick={() => download("markdown")} />
      <ActionItem icon={<Braces />} label={t("history.json")} onClick={() => download("json")} />
    </ActionList>
  );
}
