export const efforts = ["low", "medium", "high"] as const;

/** What is set for models; what is left out is the model's own, or what holds for all chats. */
export interface ModelSettings {
  /** Instructions beside the standing ones. */
  readonly system?: string;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly effort?: (typeof efforts)[number];
}

/** The fields as they stand in the form. */
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

/** What a draft says; empty fields are left out. */
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
