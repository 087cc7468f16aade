import { ChevronLeft, ChevronRight, Download, Maximize, Minimize, X } from "lucide-react";
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { PreviewHostContext, type PreviewPanelProps } from "@/lib/open-preview";
import { saveFile } from "@/lib/save-file";
import { showInvisible } from "@/lib/show-invisible";
import { useMedia } from "@/lib/use-media";
import { CodeBlock } from "@/markdown/code-block";
import { IconButton } from "@/ui/button";
import { gripClass, useDragToClose } from "@/ui/drag-to-close";
import { panelProps, TabList } from "@/ui/tabs";
import { hostToasts, readToastHost } from "@/ui/toast";
import { PreviewContent } from "./preview-content";
import { blocksOfChat, fileNameOf, versionsOf } from "./versions";

/** Windows in which the panel has room beside the chat. */
const BESIDE_MEDIA = "(width >= 960px)";
const TABS_ID = "preview";

/** Panel with the preview of a text: beside the chat, or a sheet over it in a narrow window. */
export function PreviewPanel({ preview, chat, onPreview, isModal = false }: PreviewPanelProps) {
  const onClose = () => onPreview(undefined);
  const hasRoom = useMedia(BESIDE_MEDIA);
  const isBeside = hasRoom && !isModal;
  // A preview belongs to the chat that it was opened in.
  const [openedIn] = useState(chat);
  const isOver = chat !== openedIn;
  const endPreview = useEffectEvent(onClose);
  useEffect(() => {
    if (isOver) endPreview();
  }, [isOver]);
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => {
    // A dialog that closes gives the focus back itself, and reports.
    if (dialog.current) {
      dialog.current.close();
      return;
    }
    onClose();
    preview.opener.focus();
  };
  const drag = useDragToClose(dialog, close);
  const content = (
    <PanelContent preview={preview} chat={chat} drag={isBeside ? undefined : drag} onClose={close} />
  );
  if (isOver) return null;
  return isBeside ? (
    <Beside onClose={close}>{content}</Beside>
  ) : (
    <Over dialog={dialog} onClose={onClose}>
      {content}
    </Over>
  );
}

interface FrameProps {
  onClose: () => void;
  children: ReactNode;
}

function Beside({ onClose, children }: FrameProps) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    onClose();
  };
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes it from anywhere in it.
    <aside
      ref={panel}
      tabIndex={-1}
      aria-label={t("preview.panel")}
      onKeyDown={onKeyDown}
      className="min-h-0 border-l border-line bg-sunken outline-none"
    >
      {children}
    </aside>
  );
}

function Over({ dialog, onClose, children }: FrameProps & { dialog: RefObject<HTMLDialogElement | null> }) {
  useEffect(() => {
    const { current: element } = dialog;
    element?.showModal();
    // A sheet may be below.
    const host = readToastHost();
    hostToasts(element);
    return () => hostToasts(host);
  }, [dialog]);
  return (
    <dialog
      ref={dialog}
      aria-label={t("preview.panel")}
      onClose={onClose}
      className={cn(
        "fixed inset-0 m-0 h-dvh max-h-none w-screen max-w-none animate-enter-side overflow-hidden bg-sunken pt-(--safe-top) pr-(--safe-right) pb-(--safe-bottom) pl-(--safe-left) backdrop:bg-scrim",
        "max-wide:top-auto max-wide:max-h-[calc(100dvh-var(--safe-top)-12px)] max-wide:animate-enter-below max-wide:rounded-t-[18px] max-wide:pt-0",
      )}
    >
      {children}
    </dialog>
  );
}

interface PanelContentProps extends Pick<PreviewPanelProps, "preview" | "chat"> {
  /** Handlers that drag the panel down by its header; absent if it is next to the chat. */
  drag: ReturnType<typeof useDragToClose> | undefined;
  onClose: () => void;
}

function PanelContent({ preview, chat, drag, onClose }: PanelContentProps) {
  // Versions are found again when a message comes or ends.
  useSyncExternalStore(chat.subscribe, chat.status);
  const box = useRef<HTMLDivElement>(null);
  const [tab, setTab] = useState<"preview" | "code">("preview");
  const versions = versionsOf(blocksOfChat(chat), preview);
  const [chosen, setChosen] = useState<number>();
  const at = Math.min(chosen ?? versions.opened, versions.all.length - 1);
  const version = versions.all[at] ?? preview;
  const name = fileNameOf(version);
  return (
    <div ref={box} className="flex h-full min-w-0 flex-col bg-sunken">
      <header
        {...drag}
        className={cn(
          "relative flex min-h-[53px] flex-wrap items-center gap-x-2 border-b border-line bg-surface py-1 pr-2 pl-3.5",
          drag && gripClass,
        )}
      >
        <h2 className="min-w-0 flex-1 truncate text-sm font-semibold" title={showInvisible(name)}>
          {showInvisible(name)}
        </h2>
        <div className="flex items-center gap-2 max-wide:order-1 max-wide:w-full max-wide:justify-between">
          <TabList
            id={TABS_ID}
            label={t("preview.view")}
            items={[
              { value: "preview", label: t("preview.preview") },
              { value: "code", label: t("preview.code") },
            ]}
            selected={tab}
            onSelect={setTab}
          />
          {versions.all.length > 1 && <Stepper at={at} total={versions.all.length} onStep={setChosen} />}
        </div>
        <PanelActions name={name} text={version.text} box={drag ? undefined : box} onClose={onClose} />
      </header>
      <div {...panelProps(TABS_ID, tab)} className="flex min-h-0 flex-1 flex-col">
        <PreviewHostContext value={undefined}>
          {tab === "preview" ? (
            // A frame shows one page.
            <PreviewContent key={`${at} ${version.text}`} version={version} title={name} onEscape={onClose} />
          ) : (
            <div className="min-h-0 flex-1 overflow-auto p-4 max-wide:p-2.5">
              <CodeBlock key={at} language={version.kind} text={version.text} />
            </div>
          )}
        </PreviewHostContext>
      </div>
    </div>
  );
}

interface PanelActionsProps {
  name: string;
  text: string;
  /** Element that full screen shows; absent if the panel fills the window. */
  box: RefObject<HTMLElement | null> | undefined;
  onClose: () => void;
}

function PanelActions({ name, text, box, onClose }: PanelActionsProps) {
  const isFullScreen = useSyncExternalStore(subscribeFullScreen, () => document.fullscreenElement !== null);
  // A refusal of the browser leaves the panel as it is.
  const toggleFullScreen = () =>
    void (document.fullscreenElement ? document.exitFullscreen() : box?.current?.requestFullscreen())?.catch(
      () => undefined,
    );
  return (
    <div className="flex items-center">
      <IconButton
        size="sm"
        label={t("preview.download")}
        icon={<Download />}
        onClick={() => saveFile({ name, content: new Blob([text], { type: "text/plain" }) })}
      />
      {box && (
        <IconButton
          size="sm"
          label={t(isFullScreen ? "preview.exitFullScreen" : "preview.fullScreen")}
          icon={isFullScreen ? <Minimize /> : <Maximize />}
          onClick={toggleFullScreen}
        />
      )}
      <IconButton size="sm" label={t("preview.close")} icon={<X />} onClick={onClose} />
    </div>
  );
}

function subscribeFullScreen(listener: () => void): () => void {
  document.addEventListener("fullscreenchange", listener);
  return () => document.removeEventListener("fullscreenchange", listener);
}

interface StepperProps {
  at: number;
  total: number;
  onStep: (at: number) => void;
}

function Stepper({ at, total, onStep }: StepperProps) {
  return (
    <div className="flex items-center text-xs text-ink-2">
      {/* Not disabled at the ends, which would take the focus away. */}
      <IconButton
        size="sm"
        label={t("preview.earlier")}
        icon={<ChevronLeft />}
        aria-disabled={at === 0}
        onClick={() => onStep(Math.max(0, at - 1))}
      />
      <span role="status" className="whitespace-nowrap tabular-nums">
        {t("preview.version", { n: at + 1, total })}
      </span>
      <IconButton
        size="sm"
        label={t("preview.later")}
        icon={<ChevronRight />}
        aria-disabled={at === total - 1}
        onClick={() => onStep(Math.min(total - 1, at + 1))}
      />
    </div>
  );
}
