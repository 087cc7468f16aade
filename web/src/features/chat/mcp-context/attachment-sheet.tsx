import { ContentBlock } from "@/components/tool-result/content-block";
import { ResultServer } from "@/components/tool-result/tool-output";
import { isObject } from "@/lib/json";
import { t } from "@/lib/later-texts";
import { Sheet } from "@/ui/sheet";
import { Spinner } from "@/ui/spinner";
import type { AttachmentContent } from "../composer/attachments";

interface AttachmentSheetProps {
  /** Undefined while it loads. */
  attachment: AttachmentContent | undefined;
  failed?: boolean;
  onClose: () => void;
}

/** Sheet with the exact content that the model receives. */
export function AttachmentSheet({ attachment, failed = false, onClose }: AttachmentSheetProps) {
  if (attachment === undefined)
    return (
      <Sheet title={t("offers.attached")} onClose={onClose}>
        {failed ? <p className="text-err">{t("offers.gone")}</p> : <Spinner />}
      </Sheet>
    );
  const { kind, name, title, serverName } = attachment;
  return (
    <Sheet
      title={kind === "prompt" ? `/${name}` : title || name || attachment.uri}
      subtitle={t(kind === "prompt" ? "offers.fromPrompt" : "offers.fromResource", { server: serverName })}
      onClose={onClose}
    >
      {holdsBytes(attachment) && <p className="text-sm text-ink-2">{t("offers.notSeen")}</p>}
      <ResultServer value={serverName}>
        {kind === "prompt" ? (
          <PromptContent {...attachment} />
        ) : (
          attachment.contents.map((resource, index) => (
            <ContentBlock key={index} block={{ type: "resource", resource }} />
          ))
        )}
      </ResultServer>
    </Sheet>
  );
}

/** Returns true if the attachment has binary content. */
function holdsBytes(attachment: AttachmentContent): boolean {
  if (attachment.kind === "resource") return attachment.contents.some(({ blob }) => blob !== undefined);
  return attachment.messages.some(({ content }) => {
    if (!isObject(content)) return false;
    const { type, resource } = content;
    return type === "image" || type === "audio" || (isObject(resource) && resource["blob"] !== undefined);
  });
}

function PromptContent({ arguments: filled, messages }: Extract<AttachmentContent, { kind: "prompt" }>) {
  const fields = Object.entries(filled);
  return (
    <>
      {fields.length > 0 && (
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-sm">
          {fields.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-ink-2">{name}</dt>
              <dd className="wrap-anywhere">{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {messages.map(({ role, content }, index) => (
        <section key={index}>
          <h3 className="mb-1 text-xs font-normal tracking-normal text-ink-2">
            {t(role === "user" ? "offers.said.user" : "offers.said.assistant")}
          </h3>
          {isObject(content) && <ContentBlock block={content} />}
        </section>
      ))}
    </>
  );
}
