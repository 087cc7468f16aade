import { Activity, type ReactNode, Suspense, useMemo, useState } from "react";
import { useConnections } from "@/features/servers/use-connections";
import { availableTools } from "@/features/servers/server-connection";
import type { SignedInUser } from "@/lib/session";
import { t } from "@/lib/t";
import { panelProps } from "@/ui/tabs";
import { ErrorBoundary } from "./error-boundary";
import { Header } from "./header";
import { ChatPanel, ServersPanel, SettingsSheet, ToolsPanel } from "./lazy-parts";
import { homeTabsId, type HomeTab, useHomeTab } from "./home-tab";
import { forgetPlace } from "./return-place";
import { useSettings } from "./use-settings";

interface HomePageProps {
  user: SignedInUser;
}

export function HomePage({ user }: HomePageProps) {
  const [tab, selectTab] = useHomeTab();
  const [settingsOpen, openSettings] = useSettings();
  const connections = useConnections(user.id);
  const [prefill, setPrefill] = useState<{ text: string; nonce: number } | null>(null);
  const tools = useMemo(() => availableTools(connections.list), [connections.list]);

  function takeToChat(toolName: string): void {
    setPrefill({ text: t("chat.prefill", { tool: toolName }), nonce: Date.now() });
    selectTab("chat");
  }

  return (
    <div className="grid h-dvh grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)]">
      <Header
        user={user}
        tab={tab}
        onSelectTab={selectTab}
        toolCount={tools.length}
        onOpenSettings={() => openSettings(true)}
      />
      <main className="grid min-h-0 grid-cols-[minmax(0,1fr)]">
        <TabPanel value="chat" selected={tab}>
          <ChatPanel
            user={user}
            tools={tools}
            toolsConnected={connections.loading ? undefined : tools.length > 0}
            onOpenServers={() => selectTab("servers")}
            prefill={prefill}
          />
        </TabPanel>
        <TabPanel value="servers" selected={tab}>
          <ServersPanel user={user} connections={connections} tools={tools} />
        </TabPanel>
        <TabPanel value="tools" selected={tab}>
          <ToolsPanel userId={user.id} tools={tools} loading={connections.loading} onUseInChat={takeToChat} />
        </TabPanel>
      </main>
      {settingsOpen && (
        <Suspense>
          <SettingsSheet user={user} onClose={() => openSettings(false)} onLeave={forgetPlace} />
        </Suspense>
      )}
    </div>
  );
}

interface TabPanelProps {
  value: HomeTab;
  selected: HomeTab;
  children: ReactNode;
}

/** A tab's content, kept as it was while another one is shown. */
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
