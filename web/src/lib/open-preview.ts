import { type ComponentType, createContext } from "react";

/** Kinds of text that have a preview. */
export type PreviewKind = "html" | "svg" | "markdown" | "csv" | "json";

/** Text whose preview was asked for. */
export interface Preview {
  /** Unique to the button. */
  readonly id: string;
  readonly kind: PreviewKind;
  readonly text: string;
  /** Name of its file, if its origin gives one. */
  readonly name?: string;
  /** Shows the preview. It comes with the button, so that the page can do without it before. */
  readonly Panel: ComponentType<PreviewPanelProps>;
  /** Button that opened it and gets the focus back. */
  readonly opener: HTMLElement;
}

/** Messages of the chat, as far as previews read them. */
export interface PreviewedChat {
  readonly subscribe: (listener: () => void) => () => void;
  readonly status: () => { readonly ids: readonly string[] };
  readonly message: (id: string) =>
    | {
        readonly role: string;
        readonly parts: readonly { readonly type: string; readonly text?: string }[];
      }
    | undefined;
}

export interface PreviewPanelProps {
  preview: Preview;
  chat: PreviewedChat;
  /** Called with undefined when the preview ends. */
  onPreview: (preview: undefined) => void;
  /** True if it is opened from a dialog, which it has to cover. */
  isModal?: boolean;
}

/** Place that shows previews of what a chat contains. */
export interface PreviewHost {
  readonly open: (preview: Preview) => void;
  readonly chat: PreviewedChat;
}

/** Shows previews beside the text; undefined where there is no room for one. */
export const PreviewHostContext = createContext<PreviewHost | undefined>(undefined);
