import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { answerTool, type PendingElicitation, runTool } from "./run-tool";

/** Returns the state of a manual tool call and its elicitations. Unmounting cancels the call. */
export function useToolRun(tool: AvailableTool) {
  const [elicitations, setElicitations] = useState<readonly PendingElicitation[]>([]);
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const run = useMutation({
    mutationFn: async (args: unknown) => {
      const { signal } = (controller.current = new AbortController());
      const onElicitation = (id: string, elicitation: PendingElicitation | undefined) =>
        setElicitations((open) => [
          ...open.filter((one) => one.id !== id),
          ...(elicitation ? [elicitation] : []),
        ]);
      try {
        return await runTool(tool, args, onElicitation, signal);
      } finally {
        setElicitations([]);
      }
    },
  });
  return { run, elicitations, answer: answerTool };
}
