import { memo, useState } from "react";
import { useLanguage } from "@/lib/language";
import "./markdown.css";
import { IsFinishedBlock } from "./code-block";
import { advance, type Block, type Definitions, EMPTY_MARKDOWN } from "./incremental";
import { NodeView } from "./render-node";
import { useSlowParse } from "./slow-parse";

interface MarkdownProps {
  text: string;
  /** True if the text is complete. */
  complete: boolean;
}

/**
 * Markdown that may still grow: finished blocks are parsed and rendered once, only the last ones again with each
 * addition.
 */
export function Markdown({ text, complete }: MarkdownProps) {
  const [state, setState] = useState(() => advance(EMPTY_MARKDOWN, text, complete));
  const slow = useSlowParse(state.slowText);
  const current = advance(state, text, complete, slow);
  // Derived from the props and the previous state, which the next render continues.
  if (current !== state) setState(current);
  return (
    <div
      data-growing={!complete || undefined}
      className="markdown grid min-w-0 grid-cols-[minmax(0,1fr)] gap-3.5"
    >
      {[...current.finished, ...current.tail].map((block, index) => (
        <BlockView
          key={block.key}
          block={block}
          isFinished={index < current.finished.length}
          definitions={current.definitions}
        />
      ))}
    </div>
  );
}

interface BlockProps {
  block: Block;
  /** True if further text cannot change the block. */
  isFinished: boolean;
  definitions: Definitions;
}

// Finished blocks keep their nodes and are skipped, however long the text grows.
const BlockView = memo(
  ({ block, isFinished, definitions }: BlockProps) => {
    useLanguage();
    return (
      <IsFinishedBlock value={isFinished}>
        <NodeView node={block.node} definitions={definitions} />
      </IsFinishedBlock>
    );
  },
  (before, after) =>
    before.block.node === after.block.node &&
    before.isFinished === after.isFinished &&
    before.definitions === after.definitions,
);
BlockView.displayName = "BlockView";
