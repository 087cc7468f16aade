import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useClosePopover } from "@/ui/popover";
import { ChatSettings } from "./chat-settings";
import { chooseModel } from "./model-choice";
import { ModelList } from "./model-list";
import { type Model, modelsQuery } from "../queries";

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

  function choose(id: string): void {
    close();
    void chooseModel(client, chatId, id);
  }

  return (
    <>
      <div className="border-t border-line pt-1.5">
        <ModelList chosen={model.id} onChoose={choose} />
      </div>
      <ChatSettings chatId={chatId} />
    </>
  );
}
