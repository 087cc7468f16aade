export const efforts = ["low", "medium", "high"] as const;

/** Settings for models; absent ones fall back to those of all chats, then to the model's own. */
export interface ModelSettings {
  /** Additional system instructions. */
  readonly system?: string;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly effort?: (typeof efforts)[number];
}

/** Form fields as text. */
export interface Draft {
  system: string;
  maxTokens: string;
  temperature: string;
  topP: string;
  effort: string;
}

export function draftOf({ system, maxTokens, temperature, topP, effort }: ModelSettings): Draft {
  return {
    system: system ?? "",
    maxTokens: maxTokens?.toString() ?? "",
    temperature: temperature?.toString() ?? "",
    topP: topP?.toString() ?? "",
    effort: effort ?? "",
  };
}

/** Converts a draft to settings, without empty fields. */
export function settingsOf(draft: Draft): ModelSettings {
  const system = draft.system.trim();
  const effort = efforts.find((one) => one === draft.effort);
  return {
    ...(system !== "" && { system }),
    ...(draft.maxTokens !== "" && { maxTokens: Number(draft.maxTokens) }),
    ...(draft.temperature !== "" && { temperature: Number(draft.temperature) }),
    ...(draft.topP !== "" && { topP: Number(draft.topP) }),
    ...(effort !== undefined && { effort }),
  };
}
