import type { QueryClient } from "@tanstack/react-query";
import { saveFile } from "@/lib/save-file";
import { toast } from "@/ui/toast";
import { type FileRef, nameOf } from "./file-ref";
import { t } from "@/lib/later-texts";
import { fileQuery, loadFile } from "./use-file";

/** Saves a file with the browser's download. */
export async function saveAs(queries: QueryClient, file: FileRef): Promise<void> {
  const name = nameOf(file);
  try {
    const content = queries.getQueryData(fileQuery(file.url).queryKey) ?? (await loadFile(file.url));
    saveFile({ name, content });
  } catch (error) {
    const description = error instanceof Error ? error.message : String(error);
    toast({ title: t("files.saveFailed", { name }), description, tone: "err" });
  }
}
