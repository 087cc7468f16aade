import { useQuery } from "@tanstack/react-query";
import { AppWindow, Maximize, TriangleAlert } from "lucide-react";
import { use, useId, useState } from "react";
import { OutputView } from "@/components/tool-result/output-view";
import { ResultServer, type ToolOutput } from "@/components/tool-result/tool-output";
import { formatList } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { type AppConsent, type AppPage, openApp } from "./app-calls";
import { AppFrame } from "./app-frame";
import { storedHeight, storeHeight } from "./app-height";
import { AppHostContext } from "./app-host";
import { PermissionRequestPanel } from "./app-permission-request";
import type { AppPermissionRequest } from "./app-requests";
import type { AppInput, AppSession } from "./app-session";

interface ToolAppProps {
  /** Id of the call, which the height is stored under. */
  callId: string;
  serverName: string;
  tool: string;
  input: AppInput;
  /** Shown instead of an app that cannot be shown, or on request. */
  output: ToolOutput | undefined;
}

type Phase = "starting" | "shown" | "silent" | "left";

interface Pending {
  request: AppPermissionRequest;
  answer: (decision: AppConsent["decision"]) => void;
}

/** Browser features that need the user's consent before the app starts; the others need a click of the user anyway. */
const SENSITIVE = {
  camera: "apps.camera",
  microphone: "apps.microphone",
  geolocation: "apps.geolocation",
} as const;

function PlainResult({ serverName, output }: { serverName: string; output: ToolOutput }) {
  return (
    <ResultServer value={serverName}>
      <OutputView output={output} />
    </ResultServer>
  );
}

/** MCP app for the result of a tool, with its requests to the user and the plain result. */
export function ToolApp({ callId, serverName, tool, input, output }: ToolAppProps) {
  const host = use(AppHostContext);
  const { data: page, error } = useQuery({
    queryKey: ["app", serverName, tool],
    queryFn: () => openApp(serverName, tool),
    staleTime: Infinity,
  });
  const [phase, setPhase] = useState<Phase>("starting");
  const [height, setHeight] = useState(() => storedHeight(callId));
  const [session, setSession] = useState<AppSession>();
  const [pending, setPending] = useState<readonly Pending[]>([]);
  const [granted, setGranted] = useState<AppPage["permissions"]>();
  const [plain, setPlain] = useState(false);
  const plainId = useId();

  const failure = error instanceof Error && page === undefined ? error.message : undefined;
  if (failure !== undefined || phase === "silent" || phase === "left") {
    return (
      <div className="grid grid-cols-[minmax(0,1fr)] gap-2.5 border-t border-line px-3.5 py-3">
        <p className="flex items-start gap-2 text-sm text-ink-2 wrap-anywhere">
          <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
          {failure ?? t(phase === "left" ? "apps.left" : "apps.silent")}
        </p>
        {output && <PlainResult serverName={serverName} output={output} />}
      </div>
    );
  }

  if (page === undefined) return <Starting height={height} />;
  const sensitive = Object.entries(SENSITIVE).filter(([name]) => name in page.permissions);
  if (granted === undefined && sensitive.length > 0) {
    return (
      <PermissionRequestPanel
        request={{ kind: "features", names: sensitive.map(([, key]) => t(key)) }}
        serverName={serverName}
        tool={tool}
        onDecide={(decision) =>
          setGranted(decision === "deny" ? harmless(page.permissions) : page.permissions)
        }
      />
    );
  }

  function close(next: "silent" | "left"): void {
    setPhase(next);
    setPending([]);
  }

  function decide(decision: AppConsent["decision"]): void {
    pending[0]?.answer(decision);
    setPending(pending.slice(1));
  }

  const request = pending[0]?.request;
  return (
    <div className="border-t border-line">
      <div className="relative">
        {phase === "starting" && <Waiting />}
        <AppFrame
          callId={callId}
          serverName={serverName}
          tool={tool}
          page={page}
          granted={granted ?? page.permissions}
          input={input}
          title={t("apps.title", { tool, server: serverName })}
          height={height}
          onSession={setSession}
          onReady={() => setPhase("shown")}
          onFailed={close}
          onLeave={() => close("left")}
          onHeight={(next) => {
            setHeight(next);
            storeHeight(callId, next);
          }}
          decide={(next) =>
            new Promise((answer) => {
              setPending((list) => [...list, { request: next, answer }]);
            })
          }
          sendMessage={(text) => host.sendMessage(text)}
          updateContext={(context) => host.updateContext(callId, context)}
        />
      </div>
      {request !== undefined && (
        <PermissionRequestPanel request={request} serverName={serverName} tool={tool} onDecide={decide} />
      )}
      <div id={plainId} hidden={!plain}>
        {plain && output && (
          <div className="border-t border-line px-3.5 py-3">
            <PlainResult serverName={serverName} output={output} />
          </div>
        )}
      </div>
      <div
        data-app-bar=""
        className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line py-1 pr-1.5 pl-3.5 text-xs text-ink-2"
      >
        <p className="mr-auto flex min-w-0 items-start gap-2 py-1 wrap-anywhere">
          <AppWindow aria-hidden="true" className="size-4 shrink-0" />
          {about(serverName, page)}
        </p>
        {phase === "shown" && session?.offersFullscreen === true && (
          <Button size="sm" variant="quiet" onClick={() => void session.setFullscreen(true)}>
            <Maximize aria-hidden="true" />
            {t("apps.fullscreen")}
          </Button>
        )}
        {output && (
          <Button
            size="sm"
            variant="quiet"
            aria-expanded={plain}
            aria-controls={plainId}
            onClick={() => setPlain(!plain)}
          >
            {t(plain ? "apps.hideResult" : "apps.showResult")}
          </Button>
        )}
      </div>
    </div>
  );
}

function Starting({ height }: { height: number }) {
  return (
    <div style={{ height }} className="relative border-t border-line">
      <Waiting />
    </div>
  );
}

function Waiting() {
  return (
    <p role="status" className="absolute inset-0 flex items-center justify-center gap-2 text-sm text-ink-2">
      <Spinner />
      {t("apps.starting")}
    </p>
  );
}

/** Returns the notice about the app's server and the origins that it accesses. */
function about(server: string, page: AppPage): string {
  const places = [...new Set(Object.values(page.csp).flat())].map((place) => place.replace(/^\w+:\/\//u, ""));
  return places.length === 0
    ? t("apps.about", { server })
    : t("apps.reaches", { server, places: formatList(places) });
}

function harmless(permissions: AppPage["permissions"]): AppPage["permissions"] {
  return Object.fromEntries(Object.entries(permissions).filter(([name]) => !(name in SENSITIVE)));
}
