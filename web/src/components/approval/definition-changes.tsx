import { useMemo } from "react";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { drawable } from "@/markdown/drawable-text";
import { type Change, changesOf, type ToolApproval } from "./definition";
import { diffWords } from "./word-diff";

interface DefinitionChangesProps {
  approval: ToolApproval;
}

/** Changes of a tool since it was allowed permanently, word by word. */
export function DefinitionChanges({
  approval: { definition, before, instructions },
}: DefinitionChangesProps) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2.5">
      <p className="text-sm text-warn">
        {t(before === undefined ? "approval.changedInstructions" : "approval.changed")}
      </p>
      {changesOf(definition, before, instructions).map((change) => (
        <WordDiff key={change.name} change={change} />
      ))}
    </div>
  );
}

/** Old and new text in one; removed words are struck through and added ones underlined. */
function WordDiff({ change: { name, before, now } }: { change: Change }) {
  const runs = useMemo(() => diffWords(before, now), [before, now]);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1 text-sm">
      <h5 className="text-xs font-normal text-ink-2">{t(name)}</h5>
      <p
        role="group"
        aria-label={t(name)}
        tabIndex={0}
        className="max-h-60 overflow-y-auto rounded-[8px] border border-line px-3 py-2 whitespace-pre-wrap wrap-anywhere"
      >
        {runs.map(({ kind, text }, index) => {
          const shown = drawable(showInvisible(text));
          if (kind === "same") return <span key={index}>{shown}</span>;
          const Tag = kind === "added" ? "ins" : "del";
          return (
            <Tag
              key={index}
              className={
                kind === "added"
                  ? "rounded-[3px] bg-ok-soft text-ok underline decoration-1 underline-offset-2"
                  : "rounded-[3px] bg-err-soft text-err line-through"
              }
            >
              <span className="sr-only">{` ${t(`approval.diff.${kind}`)}: `}</span>
              {shown}
            </Tag>
          );
        })}
      </p>
    </div>
  );
}
