export { t } from "@/file-parts/file-text";
