import { Fragment, useState } from "react";
import { ActionItem, ActionList } from "@/ui/action-list";
import { useClosePopover } from "@/ui/popover";
import { ContextNote } from "../composer/context-gauge";
import { useContextUsage } from "../composer/context-usage";
import type { ChatSession } from "../queries";
import { chatActions } from "./chat-actions";
import { type ChatForm, chatMenuActions } from "./chat-menu-actions";
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
  const usage = useContextUsage(chat.id, chats.registry.get(chat.id));
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
  const groups = chatMenuActions({ chat, actions, onForm: setForm, deletes: chats.list.length > 1 });
  return (
    <>
      <ActionList>
        {groups.map((group, place) => (
          // oxlint-disable-next-line react/no-array-index-key
          <Fragment key={place}>
            {place > 0 && <li aria-hidden="true" className="mx-2.5 my-1.5 border-t border-line" />}
            {group.map(({ icon, label, form: opened, onSelect }) => (
              <ActionItem
                key={label}
                icon={icon}
                label={label}
                onClick={() => {
                  if (opened === undefined) close();
                  onSelect();
                }}
              />
            ))}
          </Fragment>
        ))}
      </ActionList>
      {usage && (
        <div className="mx-1 mt-1.5 border-t border-line px-1.5 pt-2.5 pb-1.5">
          <ContextNote usage={usage} />
        </div>
      )}
    </>
  );
}
