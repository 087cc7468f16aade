import { useMemo } from "react";
import { t } from "@/lib/later-texts";
import { SANDBOX_URL, useSandbox } from "./use-sandbox";

/** Method of the message that the sandbox sends when Escape was pressed in it. */
const ESCAPE = "preview/escape";

interface SandboxFrameProps {
  html: string;
  title: string;
  /** Called when Escape was pressed in the page, which did not use it. */
  onEscape: () => void;
}

/** Page of an answer in the sandbox of MCP Apps. A frame shows one page; another page needs another `key`. */
export function SandboxFrame({ html, title, onEscape }: SandboxFrameProps) {
  const page = useMemo(() => withEscape(html), [html]);
  const { frame } = useSandbox(page, ({ method }) => {
    // A page that is not being used must not close itself.
    if (method === ESCAPE && document.activeElement === frame.current) onEscape();
  });
  return (
    <div className="grid min-h-0 flex-1 grid-rows-[minmax(0,1fr)_auto] p-4 max-wide:p-2.5">
      <iframe
        ref={frame}
        title={title}
        src={SANDBOX_URL}
        // The response's headers have the same rules; here they hold before its first byte.
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        // Pages are written for white paper unless they say otherwise.
        style={{ colorScheme: "light", background: "#fff" }}
        className="size-full rounded-lg border border-line"
      />
      <p className="pt-2.5 text-xs text-ink-2">{t("preview.sandboxed")}</p>
    </div>
  );
}

/** Returns a page that also reports Escape, which the web app does not hear while the focus is in a frame. */
function withEscape(html: string): string {
  // Behind the doctype, without which the page would be drawn in the way of old browsers.
  const doctype = /^(?:\s|<!--[^]*?-->)*<!doctype[^>]*>/iu.exec(html)?.[0] ?? "";
  const script = `<script>addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.defaultPrevented) parent.postMessage({ method: "${ESCAPE}" }, "*") })</script>`;
  return `${doctype}${script}${html.slice(doctype.length)}`;
}

/** Returns a page that shows SVG as an image of this name, in which it runs no script and loads nothing. */
export function svgPage(svg: string, name: string): string {
  // An image needs the namespace, which SVG within a page can do without.
  const source = /\bxmlns\s*=/u.test(svg)
    ? svg
    : svg.replace(/<svg\b/iu, '<svg xmlns="http://www.w3.org/2000/svg"');
  const image = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source.toWellFormed())}`;
  return `<!doctype html><style>html,body{height:100%;margin:0}body{display:grid;place-items:center}img{max-width:100%;max-height:100vh}</style><img alt="${escapeAttribute(name)}" src="${image.replaceAll("'", "%27")}">`;
}

function escapeAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
}
