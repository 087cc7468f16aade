import {
  Archive,
  ArchiveRestore,
  Download,
  Ellipsis,
  Pencil,
  Pin,
  PinOff,
  Share2,
  Trash2,
} from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { t } from "@/lib/history-text";
import { t as common } from "@/lib/t";
import { Button, IconButton } from "@/ui/button";
import type { ChatSession } from "../api/sessions";
import { dayOf } from "../format-time";
import type { ChatActions } from "./chat-actions";
import { RenameForm } from "./rename-form";
import { ShareForm } from "./share-form";

interface ChatRowProps {
  chat: ChatSession;
  active: boolean;
  deletable: boolean;
  actions: ChatActions;
  /** Whether what can be done with it is in sight. */
  unfolded: boolean;
  onFold: (open: boolean) => void;
  onOpen: () => void;
}

/** One chat of the menu: a click opens it, the dots unfold what else can be done with it. */
export function ChatRow({ chat, active, deletable, actions, unfolded, onFold, onOpen }: ChatRowProps) {
  const id = useId();
  return (
    <li className={`rounded-[9px] text-md ${active || unfolded ? "bg-sunken" : "hover:bg-sunken"}`}>
      <div className="flex items-center pr-1">
        <button
          type="button"
          data-line
          aria-current={active || undefined}
          className="flex min-h-9.5 min-w-0 flex-1 items-center gap-2.5 rounded-[9px] py-1.5 pl-2.5 text-left touch:min-h-11"
          onClick={onOpen}
        >
          <span dir="auto" className="min-w-0 flex-1 truncate">
            {chat.title}
          </span>
          <time dateTime={chat.updated_at} className="pr-1 text-sm text-ink-2 tabular-nums">
            {dayOf(chat.updated_at)}
          </time>
        </button>
        {deletable && (
          <IconButton
            size="sm"
            label={common("chat.delete", { title: chat.title })}
            icon={<Trash2 />}
            onClick={(event) => {
              focusNeighbour(event.currentTarget);
              actions.remove(chat);
            }}
          />
        )}
        <IconButton
          size="sm"
          label={t("history.more", { title: chat.title })}
          icon={<Ellipsis />}
          aria-expanded={unfolded}
          aria-controls={unfolded ? id : undefined}
          onClick={() => onFold(!unfolded)}
        />
      </div>
      {unfolded && (
        <div id={id} className="animate-enter px-1.5 pb-2">
          <More chat={chat} actions={actions} onDone={() => onFold(false)} />
        </div>
      )}
    </li>
  );
}

interface MoreProps {
  chat: ChatSession;
  actions: ChatActions;
  onDone: () => void;
}

function More({ chat, actions, onDone }: MoreProps) {
  const [form, setForm] = useState<"rename" | "share">();
  const { pinned = false, archived = false } = chat;
  if (form === "rename") {
    return (
      <RenameForm
        title={chat.title}
        onSave={(title) => {
          actions.rename(chat, title);
          onDone();
        }}
        onCancel={() => setForm(undefined)}
      />
    );
  }
  if (form === "share") return <ShareForm chatId={chat.id} onCancel={() => setForm(undefined)} />;
  return (
    <div className="flex flex-wrap gap-0.5">
      <Act icon={<Pencil />} label={t("history.rename")} onClick={() => setForm("rename")} />
      <Act
        icon={pinned ? <PinOff /> : <Pin />}
        label={t(pinned ? "history.unpin" : "history.pin")}
        onClick={() => {
          actions.pin(chat, !pinned);
          onDone();
        }}
      />
      <Act
        icon={archived ? <ArchiveRestore /> : <Archive />}
        label={t(archived ? "history.unarchive" : "history.archive")}
        onClick={(button) => {
          focusNeighbour(button);
          actions.archive(chat, !archived);
          onDone();
        }}
      />
      <Act icon={<Share2 />} label={t("history.share")} onClick={() => setForm("share")} />
      <Act
        icon={<Download />}
        label={t("history.markdown")}
        onClick={() => actions.download(chat, "markdown")}
      />
      <Act icon={<Download />} label={t("history.json")} onClick={() => actions.download(chat, "json")} />
    </div>
  );
}

interface ActProps {
  icon: ReactNode;
  label: string;
  onClick: (button: Element) => void;
}

function Act({ icon, label, onClick }: ActProps) {
  return (
    <Button
      size="sm"
      variant="quiet"
      className="hover:bg-surface!"
      onClick={(event) => onClick(event.currentTarget)}
    >
      {icon}
      {label}
    </Button>
  );
}

/** Hands the focus to a chat beside the one that goes away, so that the keyboard does not lose its place. */
function focusNeighbour(inside: Element): void {
  const list = inside.closest("[popover]") ?? document;
  const lines = [...list.querySelectorAll<HTMLElement>("[data-line]")];
  const own = inside.closest("li")?.querySelector<HTMLElement>("[data-line]");
  const at = own ? lines.indexOf(own) : -1;
  (lines[at + 1] ?? lines[at - 1])?.focus();
}
