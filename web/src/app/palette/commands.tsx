import {
  Activity,
  EyeOff,
  Globe,
  Keyboard,
  LogOut,
  type LucideIcon,
  MessageSquare,
  Monitor,
  Moon,
  PenLine,
  Plug,
  Plus,
  Search,
  Server,
  Settings2,
  Sparkles,
  SquareSlash,
  Sun,
  TextQuote,
} from "lucide-react";
import { type SettingsSection, settingsSections } from "@/features/account/settings-sections";
import type { ChatCommand } from "@/features/chat/chat-panel";
import type { PromptOrResource } from "@/features/chat/mcp-context/queries";
import type { ChatSession, MessageHit, Model } from "@/features/chat/queries";
import { shownTitle } from "@/features/chat/queries";
import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/later-texts";
import { setPreference } from "@/lib/preferences";
import type { HomeTab } from "../home-url";
import type { ShortcutId } from "../shortcuts";

/** What the commands act on. */
export interface CommandTargets {
  readonly chat: (command: ChatCommand) => void;
  readonly selectTab: (tab: HomeTab) => void;
  readonly openTool: (tool: AvailableTool) => void;
  /** Opens the list of public servers; undefined where there is none. */
  readonly browseServers: (() => void) | undefined;
  readonly openSettings: (section?: SettingsSection) => void;
  readonly openShortcuts: () => void;
  readonly signOut: () => void;
}

/** Entry of the command palette. */
export interface Command {
  readonly id: string;
  readonly label: string;
  /** Muted text behind the label. */
  readonly detail?: string;
  readonly icon: LucideIcon;
  /** True if the label is an identifier. */
  readonly isCode?: boolean;
  readonly shortcut?: ShortcutId;
  readonly run: () => void;
}

/** Returns the actions of the main screen: all of them, in the order in which they are listed. */
export function actionCommands(targets: CommandTargets): readonly Command[] {
  const { chat, selectTab, browseServers } = targets;
  return [
    {
      id: "new",
      label: t("palette.newChat"),
      icon: Plus,
      shortcut: "newChat",
      run: () => chat({ type: "new" }),
    },
    {
      id: "temporary",
      label: t("history.temporary.new"),
      icon: EyeOff,
      run: () => chat({ type: "temporary" }),
    },
    {
      id: "message",
      label: t("palette.message"),
      icon: PenLine,
      shortcut: "message",
      run: () => chat({ type: "focus" }),
    },
    { id: "tab-chat", label: t("palette.tab.chat"), icon: MessageSquare, run: () => selectTab("chat") },
    { id: "tab-servers", label: t("palette.tab.servers"), icon: Server, run: () => selectTab("servers") },
    { id: "tab-tools", label: t("palette.tab.tools"), icon: Plug, run: () => selectTab("tools") },
    ...(browseServers ? [{ id: "browse", label: t("servers.browse"), icon: Globe, run: browseServers }] : []),
    { id: "light", label: t("palette.theme.light"), icon: Sun, run: () => setPreference("theme", "light") },
    { id: "dark", label: t("palette.theme.dark"), icon: Moon, run: () => setPreference("theme", "dark") },
    {
      id: "system",
      label: t("palette.theme.system"),
      icon: Monitor,
      run: () => setPreference("theme", "system"),
    },
    {
      id: "shortcuts",
      label: t("palette.shortcuts"),
      icon: Keyboard,
      shortcut: "shortcuts",
      run: targets.openShortcuts,
    },
    { id: "sign-out", label: t("palette.signOut"), icon: LogOut, run: targets.signOut },
  ];
}

/** Returns the commands that open the settings, at their start and at each section. */
export function settingsCommands({ openSettings }: CommandTargets): readonly Command[] {
  return [
    { id: "settings", label: t("palette.settings"), icon: Settings2, run: () => openSettings() },
    ...settingsSections.map((section) => ({
      id: `settings ${section}`,
      label: t("palette.settings.section", { section: t(`settings.section.${section}`) }),
      icon: Settings2,
      run: () => openSettings(section),
    })),
  ];
}

/** Returns the command that opens the palette itself, which only the list of shortcuts shows. */
export function paletteCommand(): Pick<Command, "label" | "shortcut" | "icon"> {
  return { label: t("palette.title"), icon: Search, shortcut: "palette" };
}

/** Returns the command that opens a chat. */
export function chatCommand(session: ChatSession, { chat }: CommandTargets): Command {
  return {
    id: `chat ${session.id}`,
    label: shownTitle(session),
    icon: MessageSquare,
    run: () => chat({ type: "open", chatId: session.id }),
  };
}

/** Returns the command that opens a chat at a message that was found. */
export function messageCommand(hit: MessageHit, { chat }: CommandTargets): Command {
  return {
    id: `message ${hit.messageId}`,
    label: hit.excerpt.text,
    detail: hit.title,
    icon: TextQuote,
    run: () => chat({ type: "reveal", hit }),
  };
}

/** Returns the command that lets a model answer in the open chat. */
export function modelCommand(model: Model, { chat }: CommandTargets): Command {
  return {
    id: `model ${model.id}`,
    label: model.name,
    detail: model.builtIn ? t("models.builtIn") : (model.providerName ?? model.provider),
    icon: Sparkles,
    run: () => chat({ type: "model", model: model.id }),
  };
}

/** Returns the command that opens a tool's form. */
export function toolCommand(tool: AvailableTool, { openTool }: CommandTargets): Command {
  return {
    id: `tool ${tool.serverName}/${tool.name}`,
    label: tool.name,
    detail: tool.serverName,
    icon: Activity,
    isCode: true,
    run: () => openTool(tool),
  };
}

/** Returns the command that looks a prompt up in the message field. */
export function promptCommand(entry: PromptOrResource, { chat }: CommandTargets): readonly Command[] {
  if (entry.kind !== "prompt") return [];
  const { name } = entry.prompt;
  return [
    {
      id: `prompt ${entry.connectionId}/${name}`,
      label: name,
      detail: entry.serverName,
      icon: SquareSlash,
      isCode: true,
      run: () => chat({ type: "fill", text: `/${name}` }),
    },
  ];
}

/** Returns the commands whose label or detail contains every word; better matches first. */
export function findCommands(commands: readonly Command[], query: string): readonly Command[] {
  const words = query.toLowerCase().split(/\s+/u).filter(Boolean);
  return commands
    .filter(({ label, detail = "" }) => {
      const text = `${label} ${detail}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .toSorted((one, other) => matchRank(one.label, words) - matchRank(other.label, words));
}

/** Returns 0 if the label begins with the first word, 1 if one of its words does, else 2. */
function matchRank(label: string, [first = ""]: readonly string[]): number {
  const text = label.toLowerCase();
  if (text.startsWith(first)) return 0;
  return text.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(first)) ? 1 : 2;
}
