import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { answerTool, type OpenQuestion, runTool } from "./run-tool";

/** Running a tool by hand, and the questions that it asks meanwhile. Who goes away ends the call. */
export function useToolRun(tool: AvailableTool) {
  const [questions, setQuestions] = useState<readonly OpenQuestion[]>([]);
  const going = useRef<AbortController>(null);
  useEffect(() => () => going.current?.abort(), []);
  const run = useMutation({
    mutationFn: async (args: unknown) => {
      const { signal } = (going.current = new AbortController());
      const onAsked = (id: string, question: OpenQuestion | undefined) =>
        setQuestions((open) => [...open.filter((one) => one.id !== id), ...(question ? [question] : [])]);
      try {
        return await runTool(tool, args, onAsked, signal);
      } finally {
        setQuestions([]);
      }
    },
  });
  return { run, questions, answer: answerTool };
}
