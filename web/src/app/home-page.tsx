import { useQueryClient } from "@tanstack/react-query";
import { Activity, type ReactNode, Suspense, useEffect, useMemo, useState } from "react";
import { type ChatCommand, ChatPanel } from "@/features/chat/chat-panel";
import { useUnreadMarks } from "@/features/chat/conversations/unread-chats";
import { registerWorker } from "@/lib/register-worker";
import { availableTools } from "@/features/servers/server-connection";
import { useConnections } from "@/features/servers/use-connections";
import type { AvailableTool } from "@/lib/available-tool";
import { callApi } from "@/lib/api-client";
import { boot } from "@/lib/boot";
import { type SignedInUser, signOut } from "@/lib/session";
import { withLaterTexts } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { UserQueries } from "@/lib/user-queries";
import { panelProps } from "@/ui/tabs";
import { toastError } from "@/ui/toast";
import { ErrorBoundary } from "./error-boundary";
import { Header } from "./header";
import { type HomeTab, homeTabsId, useHomeTab } from "./home-url";
import {
  Attention,
  CommandPalette,
  prefetchParts,
  RegistrySheet,
  ServersPanel,
  SettingsPanel,
  ShortcutsDialog,
  ToolSheet,
  ToolsPanel,
} from "./lazy-parts";
import type { CommandTargets } from "./palette/commands";
import { clearReturnUrl } from "./return-url";
import { StatusBar } from "./status-bar";
import { useSettings } from "./home-url";
import { useShortcuts } from "./use-shortcuts";

/** Dialogs over the page, of which one at most is open. */
type Dialog = "palette" | "shortcuts" | "registry";

interface HomePageProps {
  user: SignedInUser;
}

/** Main screen of a signed-in user. */
export function HomePage({ user }: HomePageProps) {
  return (
    <UserQueries>
      <Home user={user} />
    </UserQueries>
  );
}

function Home({ user }: HomePageProps) {
  const [tab, selectTab] = useHomeTab();
  const settings = useSettings();
  const connections = useConnections(user.id);
  // The first requests of the screen come before the parts for the first clicks.
  useEffect(() => (connections.loading ? undefined : prefetchParts()), [connections.loading]);
  const [command, setCommand] = useState<ChatCommand | null>(null);
  const tools = useMemo(() => availableTools(connections.list), [connections.list]);

  function commandChat(next: ChatCommand): void {
    setCommand(next);
    selectTab("chat");
  }
  const client = useQueryClient();
  async function tryToolbox(): Promise<void> {
    try {
      const { connectToolbox } = await withLaterTexts(() => import("@/features/servers/connect"));
      await connectToolbox(client, user.id);
    } catch (error) {
      toastError(error);
    }
  }
  const [dialog, setDialog] = useState<Dialog | null>(null);
  // A dialog reports that it has closed after the next one was asked for by a shortcut.
  const closeDialog = (closed: Dialog) => setDialog((now) => (now === closed ? null : now));
  const browseServers = boot.registry ? () => setDialog("registry") : undefined;
  const [openTool, setOpenTool] = useState<AvailableTool | null>(null);
  const targets: CommandTargets = {
    chat: commandChat,
    selectTab,
    openTool: setOpenTool,
    browseServers,
    openSettings: settings.open,
    openShortcuts: () => setDialog("shortcuts"),
    signOut: () => void leave(),
  };
  useShortcuts((id) => {
    if (id === "newChat") commandChat({ type: "new" });
    else if (id === "message") commandChat({ type: "focus" });
    else setDialog(id);
  });
  useUnreadMarks();
  useEffect(registerWorker, []);

  return (
    <div className="@container-size/screen grid h-safe grid-cols-[minmax(0,1fr)] grid-rows-[auto_auto_minmax(0,1fr)]">
      <Header
        user={user}
        tab={tab}
        onSelectTab={selectTab}
        toolCount={connections.loading ? undefined : tools.length}
        onOpenSettings={() => settings.open()}
        onSignOut={targets.signOut}
      />
      <StatusBar />
      <Suspense>
        <Attention userId={user.id} onOpenChat={(chatId) => commandChat({ type: "open", chatId })} />
      </Suspense>
      <main className="grid min-h-0 grid-cols-[minmax(0,1fr)]">
        <TabPanel value="chat" selected={tab}>
          <ChatPanel
            user={user}
            tools={tools}
            toolsConnected={connections.loading ? undefined : tools.length > 0}
            onOpenServers={() => selectTab("servers")}
            onTryToolbox={tryToolbox}
            onBrowseServers={browseServers}
            command={command}
          />
        </TabPanel>
        <TabPanel value="servers" selected={tab}>
          <ServersPanel user={user} connections={connections} tools={tools} onBrowseServers={browseServers} />
        </TabPanel>
        <TabPanel value="tools" selected={tab}>
          <ToolsPanel
            userId={user.id}
            tools={tools}
            loading={connections.loading}
            onUseInChat={(tool) => commandChat({ type: "fill", text: t("chat.prefill", { tool }) })}
          />
        </TabPanel>
      </main>
      {dialog === "palette" && (
        <Suspense>
          <CommandPalette
            userId={user.id}
            tools={tools}
            targets={targets}
            onClose={() => closeDialog("palette")}
          />
        </Suspense>
      )}
      {dialog === "shortcuts" && (
        <Suspense>
          <ShortcutsDialog targets={targets} onClose={() => closeDialog("shortcuts")} />
        </Suspense>
      )}
      {dialog === "registry" && (
        <Suspense>
          <RegistrySheet
            userId={user.id}
            connections={connections.list}
            onConnected={(needsSignIn) => {
              if (needsSignIn) selectTab("servers");
              else if (tab === "chat") commandChat({ type: "focus" });
            }}
            onClose={() => closeDialog("registry")}
          />
        </Suspense>
      )}
      {openTool && (
        <Suspense>
          <ToolSheet
            tool={openTool}
            onClose={() => setOpenTool(null)}
            onUseInChat={() => {
              setOpenTool(null);
              commandChat({ type: "fill", text: t("chat.prefill", { tool: openTool.name }) });
            }}
          />
        </Suspense>
      )}
      {settings.isOpen && (
        <Suspense>
          <SettingsPanel user={user} onLeave={clearReturnUrl} />
        </Suspense>
      )}
    </div>
  );
}

async function leave(): Promise<void> {
  clearReturnUrl();
  // Asked first: without a session, the server does not know who leaves.
  const page = boot.provider?.logout === true && (await providerLogoutPage());
  await signOut();
  if (page) location.assign(page);
}

/**
 * Returns the identity provider's page that ends the user's session there, if there is one. A failure does not keep the user
 * from signing out here.
 */
async function providerLogoutPage(): Promise<string | null> {
  const signal = AbortSignal.timeout(5_000);
  return await callApi<{ url: string | null }>("/auth/v1/oidc/logout", { method: "POST", signal }).then(
    ({ url }) => url,
    () => null,
  );
}

interface TabPanelProps {
  value: HomeTab;
  selected: HomeTab;
  children: ReactNode;
}

/** Content of a tab, kept mounted while another tab is shown. */
function TabPanel({ value, selected, children }: TabPanelProps) {
  const visible = value === selected;
  return (
    <div {...panelProps(homeTabsId, value)} hidden={!visible} className="min-h-0 overflow-auto">
      <Activity mode={visible ? "visible" : "hidden"}>
        <ErrorBoundary>
          <Suspense>{children}</Suspense>
        </ErrorBoundary>
      </Activity>
    </div>
  );
}
