import { QueryClientProvider } from "@tanstack/react-query";
import { Activity, lazy, type ReactNode, Suspense, useState } from "react";
import { ServersPanel } from "@/features/servers/servers-panel";
import { useConnections } from "@/features/servers/use-connections";
import { availableTools } from "@/features/servers/server-connection";
import { ToolsPanel } from "@/features/tools/tools-panel";
import { queryClient } from "@/lib/query-client";
import type { SignedInUser } from "@/lib/session";
import { t } from "@/lib/t";
import { panelProps } from "@/ui/tabs";
import { ErrorBoundary } from "./error-boundary";
import { Header } from "./header";
import { homeTabsId, type HomeTab, useHomeTab } from "./home-tab";

const ChatPanel = lazy(async () => ({ default: (await import("@/features/chat/chat-panel")).ChatPanel }));

interface HomePageProps {
  user: SignedInUser;
}

export function HomePage({ user }: HomePageProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <Home user={user} />
    </QueryClientProvider>
  );
}

function Home({ user }: HomePageProps) {
  const [tab, selectTab] = useHomeTab();
  const connections = useConnections(user.id);
  const [prefill, setPrefill] = useState<{ text: string; nonce: number } | null>(null);
  const tools = availableTools(connections.list);

  function useInChat(toolName: string): void {
    setPrefill({ text: t("tools.prefill", { tool: toolName }), nonce: Date.now() });
    selectTab("chat");
  }

  return (
    <div className="grid h-dvh grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)]">
      <Header user={user} tab={tab} onSelectTab={selectTab} toolCount={tools.length} />
      <main className="grid min-h-0 grid-cols-[minmax(0,1fr)]">
        <TabPanel value="chat" selected={tab}>
          <Suspense>
            <ChatPanel
              user={user}
              tools={tools}
              toolsConnected={connections.loading || tools.length > 0}
              onOpenServers={() => selectTab("servers")}
              prefill={prefill}
            />
          </Suspense>
        </TabPanel>
        <TabPanel value="servers" selected={tab}>
          <ServersPanel user={user} connections={connections} tools={tools} />
        </TabPanel>
        <TabPanel value="tools" selected={tab}>
          <ToolsPanel tools={tools} loading={connections.loading} onUseInChat={useInChat} />
        </TabPanel>
      </main>
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
        <ErrorBoundary>{children}</ErrorBoundary>
      </Activity>
    </div>
  );
}
