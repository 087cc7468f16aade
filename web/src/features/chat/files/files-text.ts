export { t } from "@/components/files/file-text";
