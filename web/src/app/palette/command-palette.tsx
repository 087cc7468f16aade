import { Autocomplete } from "@base-ui/react/autocomplete";
import { useQuery } from "@tanstack/react-query";
import { Fragment, useDeferredValue, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { promptList } from "@/features/chat/mcp-context/mcp-context-list";
import { modelsQuery, searchQuery, sessionsQuery } from "@/features/chat/queries";
import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/later-texts";
import { useDebounced } from "@/lib/use-debounced";
import {
  actionCommands,
  chatCommand,
  type Command,
  type CommandTargets,
  findCommands,
  messageCommand,
  modelCommand,
  promptCommand,
  settingsCommands,
  toolCommand,
} from "./commands";
import { keysOf } from "../shortcuts";
import { ShortcutKeys } from "./shortcut-keys";

/** Number of entries shown of a group that can be long. */
const MAX_ENTRIES_PER_GROUP = 6;
/** Time without typing before the messages are searched. */
const SEARCH_DEBOUNCE_MS = 120;

interface CommandPaletteProps {
  userId: string;
  tools: readonly AvailableTool[];
  targets: CommandTargets;
  onClose: () => void;
}

interface CommandGroup {
  readonly name: string;
  readonly commands: readonly Command[];
}

/** Dialog that finds chats, messages, models, tools, prompts and actions by their names, and runs them. */
export function CommandPalette({ userId, tools, targets, onClose }: CommandPaletteProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const groups = useCommandGroups({ userId, tools, targets, typed });
  useEffect(() => dialog.current?.showModal(), []);

  function run(command: Command): void {
    // The dialog returns the focus first, so that the command can move it.
    dialog.current?.close();
    command.run();
  }

  return (
    <dialog
      ref={dialog}
      aria-label={t("palette.title")}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current.close();
      }}
      onKeyDown={(event) => {
        // The browser's own search would open.
        if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        dialog.current?.close();
      }}
      className="m-0 mx-auto mt-[min(12dvh,6rem)] max-h-[min(70dvh,36rem)] w-[min(640px,calc(100vw-24px))] max-w-none animate-enter overflow-hidden rounded-[18px] border border-line bg-surface text-ink shadow-float backdrop:bg-scrim open:grid open:grid-cols-[minmax(0,1fr)] open:grid-rows-[auto_minmax(0,1fr)]"
    >
      <Autocomplete.Root
        inline
        open
        autoHighlight="always"
        filter={null}
        value={typed}
        onValueChange={(value, { reason }) => {
          if (reason === "input-change" || reason === "input-clear") setTyped(value);
        }}
      >
        <Autocomplete.Input
          aria-label={t("palette.search")}
          placeholder={t("palette.search")}
          maxLength={200}
          spellCheck={false}
          className="h-13.5 w-full border-b border-line bg-transparent px-4.5 text-base outline-none"
        />
        <Autocomplete.List
          aria-label={t("palette.title")}
          className="overflow-y-auto overscroll-contain px-2 pb-2 scroll-py-2"
        >
          {groups.map(({ name, commands }) => (
            <Autocomplete.Group key={name}>
              <Autocomplete.GroupLabel className="px-2.5 pt-3 pb-1 text-xs text-ink-2">
                {name}
              </Autocomplete.GroupLabel>
              {commands.map((command) => (
                <CommandItem key={command.id} command={command} typed={typed} onRun={() => run(command)} />
              ))}
            </Autocomplete.Group>
          ))}
          {groups.length === 0 && (
            <p role="status" className="px-2.5 pt-4 pb-3 text-md text-ink-2">
              {t("palette.nothing", { query: typed })}
            </p>
          )}
        </Autocomplete.List>
      </Autocomplete.Root>
    </dialog>
  );
}

interface CommandItemProps {
  command: Command;
  typed: string;
  onRun: () => void;
}

function CommandItem({ command, typed, onRun }: CommandItemProps) {
  const { id, label, detail, icon: Icon, isCode = false, shortcut } = command;
  return (
    <Autocomplete.Item
      value={id}
      onClick={onRun}
      className="flex min-h-9 cursor-default items-center gap-3 rounded-md px-2.5 py-1.5 text-md data-highlighted:bg-sunken touch:min-h-11"
    >
      <Icon aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
      <span className="min-w-0 flex-1 truncate">
        <span dir="auto" className={isCode ? "font-mono text-sm" : undefined}>
          <Highlighted text={label} query={typed} />
        </span>{" "}
        {detail !== undefined && <span className="text-ink-2">{detail}</span>}
      </span>
      {shortcut !== undefined && <ShortcutKeys keys={keysOf(shortcut)} />}
    </Autocomplete.Item>
  );
}

/** Text in which the searched words are bold. */
function Highlighted({ text, query }: { text: string; query: string }) {
  const words = query.split(/\s+/u).filter(Boolean);
  if (words.length === 0) return text;
  const pattern = new RegExp(
    `(${words.map((word) => word.replaceAll(/[$()*+.?[\\\]^{|}]/gu, String.raw`\$&`)).join("|")})`,
    "giu",
  );
  return text.split(pattern).map((part, place) =>
    // Every second part is a match.
    place % 2 === 1 ? (
      // oxlint-disable-next-line react/no-array-index-key
      <b key={place} className="font-semibold">
        {part}
      </b>
    ) : (
      // oxlint-disable-next-line react/no-array-index-key
      <Fragment key={place}>{part}</Fragment>
    ),
  );
}

interface GroupOptions extends Omit<CommandPaletteProps, "onClose"> {
  typed: string;
}

/** Returns the groups of commands that match; without a text, the latest chats and all actions. */
function useCommandGroups({ userId, tools, targets, typed }: GroupOptions): readonly CommandGroup[] {
  const query = useDeferredValue(typed.trim());
  const searched = useDebounced(query, SEARCH_DEBOUNCE_MS);
  const { data: chats = [] } = useQuery(sessionsQuery(userId));
  const { data: models } = useQuery(modelsQuery);
  const { data: found } = useQuery({ ...searchQuery(searched), enabled: searched !== "" });
  const { list: listed } = useSyncExternalStore(promptList.subscribe, promptList.get);
  const few = (commands: readonly Command[]) => findCommands(commands, query).slice(0, MAX_ENTRIES_PER_GROUP);
  const actions = findCommands(actionCommands(targets), query);
  const settings = findCommands(settingsCommands(targets), query);
  const chatEntries = few(chats.map((one) => chatCommand(one, targets)));
  const groups: CommandGroup[] = [{ name: t("palette.chats"), commands: chatEntries }];
  if (query !== "") {
    const hits = query === searched ? (found?.messages ?? []) : [];
    groups.push(
      {
        name: t("palette.messages"),
        commands: hits.slice(0, MAX_ENTRIES_PER_GROUP).map((hit) => messageCommand(hit, targets)),
      },
      { name: t("palette.tools"), commands: few(tools.map((tool) => toolCommand(tool, targets))) },
      { name: t("palette.prompts"), commands: few(listed.flatMap((one) => promptCommand(one, targets))) },
      {
        name: t("palette.models"),
        commands: few(
          (models?.models ?? [])
            .filter(({ available }) => available)
            .map((model) => modelCommand(model, targets)),
        ),
      },
    );
  }
  groups.push(
    { name: t("palette.actions"), commands: actions },
    { name: t("app.settings"), commands: settings },
  );
  return groups.filter(({ commands }) => commands.length > 0);
}
