import { Download, ImageDown, ZoomIn, ZoomOut } from "lucide-react";
import { useEffect, useEffectEvent, useReducer, useState, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";
import { useSandbox, SANDBOX_URL } from "@/components/preview/use-sandbox";
import type { Key } from "@/lib/t";
import { t } from "@/lib/later-texts";
import { currentTheme, watchTheme } from "@/lib/page-theme";
import { saveFile } from "@/lib/save-file";
import { drawable } from "@/markdown/drawable-text";
import { IconButton } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { diagramColors, diagramPage, loadDiagramParts } from "./diagram-page";
import { type DiagramCommand, MAX_SOURCE_LENGTH, readDiagramEvent, UNSUPPORTED } from "./messages";

/** Time after which a diagram that is not drawn has failed. Large ones take a few seconds on a phone. */
const DEADLINE_MS = 20_000;
/** Longest detail of an error that is shown. */
const MAX_DETAIL_LENGTH = 1_000;
const MIN_HEIGHT_PX = 48;
const MAX_HEIGHT_PX = 20_000;

/** Reason why a diagram is not drawn; the last part of its text's key. */
type Failure = "invalid" | "slow" | "tooLarge" | "unavailable" | "unsupported";

const FAILURES = {
  invalid: "code.diagram.invalid",
  slow: "code.diagram.slow",
  tooLarge: "code.diagram.tooLarge",
  unavailable: "code.diagram.unavailable",
  unsupported: "code.diagram.unsupported",
} as const satisfies Record<Failure, Key>;

interface DiagramState {
  /** Page that draws it, once its parts are loaded. */
  readonly page?: string;
  readonly height?: number;
  /** The drawn diagram. */
  readonly svg?: string;
  readonly failure?: Failure;
  /** Message of Mermaid. */
  readonly detail?: string;
}

interface DiagramProps {
  source: string;
}

/**
 * Diagram of a code block. It is drawn in a sandbox at the end of the block's figure and takes the place of the code
 * when it is there, so that nothing jumps in between. In place: the controls, which stand among those of the block.
 */
export function Diagram({ source }: DiagramProps) {
  const [figure, setFigure] = useState<Element | null>(null);
  const theme = useSyncExternalStore(watchTheme, currentTheme);
  return (
    <span className="contents" ref={(element) => setFigure(element?.closest("figure") ?? null)}>
      {figure && (
        <ThemedDiagram key={`${theme} ${source}`} source={source} isDark={theme === "dark"} figure={figure} />
      )}
    </span>
  );
}

interface ThemedDiagramProps extends DiagramProps {
  isDark: boolean;
  figure: Element;
}

function ThemedDiagram({ source, isDark, figure }: ThemedDiagramProps) {
  const [state, change] = useReducer(
    (before: DiagramState, changes: DiagramState) => ({ ...before, ...changes }),
    source.length > MAX_SOURCE_LENGTH ? { failure: "tooLarge" as const } : {},
  );
  const label = diagramLabel(source);
  const begin = useEffectEvent(async (isCurrent: () => boolean) => {
    if (state.failure) return;
    try {
      const page = diagramPage({ source, label, isDark, colors: diagramColors() }, await loadDiagramParts());
      if (isCurrent()) change({ page });
    } catch {
      if (isCurrent()) change({ failure: "unavailable" });
    }
  });
  useEffect(() => {
    let isMounted = true;
    void begin(() => isMounted);
    return () => void (isMounted = false);
  }, []);
  const isWaiting = state.svg === undefined && !state.failure;
  return (
    <>
      {isWaiting && <Spinner />}
      {state.failure && createPortal(<DiagramError failure={state.failure} detail={state.detail} />, figure)}
      {state.page !== undefined && !state.failure && (
        <DrawnDiagram page={state.page} label={label} state={state} change={change} figure={figure} />
      )}
    </>
  );
}

interface DrawnDiagramProps {
  page: string;
  label: string;
  state: DiagramState;
  change: (changes: DiagramState) => void;
  figure: Element;
}

function DrawnDiagram({ page, label, state: { svg, height }, change, figure }: DrawnDiagramProps) {
  const { frame, send } = useSandbox(page, (message) => {
    const event = readDiagramEvent(message);
    if (event?.method === "diagram/drawn") change({ svg: event.params.svg });
    else if (event?.method === "diagram/resized") change({ height: boundedHeight(event.params.height) });
    else if (event?.method === "diagram/failed") change(failureOf(event.params.message));
    else if (event?.method === "diagram/png")
      saveFile({ name: "diagram.png", content: new Blob([event.params.image], { type: "image/png" }) });
  });
  const command = (message: DiagramCommand) => send(message);
  const isDrawn = svg !== undefined;
  useEffect(() => {
    if (isDrawn) return undefined;
    const timer = setTimeout(() => change({ failure: "slow" }), DEADLINE_MS);
    return () => clearTimeout(timer);
  }, [isDrawn, change]);
  return (
    <>
      {isDrawn && (
        <>
          <IconButton
            size="sm"
            label={t("code.diagram.zoomOut")}
            data-resizes
            icon={<ZoomOut />}
            onClick={() => command({ method: "diagram/zoom", params: { step: -1 } })}
          />
          <IconButton
            size="sm"
            label={t("code.diagram.zoomIn")}
            data-resizes
            icon={<ZoomIn />}
            onClick={() => command({ method: "diagram/zoom", params: { step: 1 } })}
          />
          <IconButton
            size="sm"
            label={t("code.diagram.png")}
            icon={<ImageDown />}
            onClick={() => command({ method: "diagram/draw-png" })}
          />
          <IconButton
            size="sm"
            label={t("code.diagram.svg")}
            icon={<Download />}
            onClick={() =>
              saveFile({ name: "diagram.svg", content: new Blob([svg], { type: "image/svg+xml" }) })
            }
          />
        </>
      )}
      {createPortal(
        <iframe
          ref={frame}
          title={label}
          src={SANDBOX_URL}
          sandbox="allow-scripts"
          referrerPolicy="no-referrer"
          data-diagram={isDrawn ? "drawn" : "drawing"}
          style={{ height: isDrawn ? height : 1 }}
          className={
            isDrawn
              ? "block max-h-[80dvh] w-full print:max-h-none"
              : "pointer-events-none absolute inset-x-0 top-9 w-full opacity-0"
          }
        />,
        figure,
      )}
    </>
  );
}

function DiagramError({ failure, detail }: { failure: Failure; detail: string | undefined }) {
  return (
    <div
      role="alert"
      data-diagram="failed"
      className="border-b border-line bg-err-soft px-3.5 py-2.5 text-sm text-ink"
    >
      <p>{t(FAILURES[failure])}</p>
      {detail !== undefined && (
        <details className="pt-1 text-xs text-ink-2">
          <summary className="cursor-pointer touch:py-3.5">{t("code.diagram.details")}</summary>
          <pre className="pt-1.5 font-mono wrap-anywhere whitespace-pre-wrap">{drawable(detail)}</pre>
        </details>
      )}
    </div>
  );
}

function boundedHeight(height: number): number {
  return Math.min(MAX_HEIGHT_PX, Math.max(MIN_HEIGHT_PX, height || 0));
}

function failureOf(message: string): DiagramState {
  if (message.includes(UNSUPPORTED)) return { failure: "unsupported" };
  return { failure: "invalid", detail: message.slice(0, MAX_DETAIL_LENGTH) };
}

/** Returns the name of a diagram for screen readers: the title in its source, if it has one. */
function diagramLabel(source: string): string {
  const title = /^\s*(?:accTitle\s*:|title\b\s*:?)\s*(\S.{0,120})$/mu.exec(source)?.[1];
  return title === undefined
    ? t("code.diagram.label")
    : t("code.diagram.labelWithTitle", { title: title.trim() });
}
