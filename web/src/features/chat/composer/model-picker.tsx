import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useClosePopover } from "@/ui/popover";
import { toastError } from "@/ui/toast";
import { ChatSettings } from "./chat-settings";
import { ModelList } from "./model-list";
import { chatModelQuery, chooseModel, type Model, modelsQuery } from "../queries";

interface ModelPickerProps {
  chatId: string;
  /** The model that answers now. */
  model: Model;
}

/** List of all models if there are several. Choosing one makes it answer in this chat. */
export function ModelPicker({ chatId, model }: ModelPickerProps) {
  const client = useQueryClient();
  const { data } = useQuery(modelsQuery);
  const close = useClosePopover();
  if (!data) return null;
  if (data.models.length <= 1) return <ChatSettings chatId={chatId} />;

  async function choose(id: string): Promise<void> {
    close();
    try {
      await chooseModel(chatId, id);
      await client.invalidateQueries({ queryKey: chatModelQuery(chatId).queryKey });
    } catch (error) {
      toastError(error);
    }
  }

  return (
    <>
      <div className="border-t border-line pt-1.5">
        <ModelList chosen={model.id} onChoose={(id) => void choose(id)} />
      </div>
      <ChatSettings chatId={chatId} />
    </>
  );
}
