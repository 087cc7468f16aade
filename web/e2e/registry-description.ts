import { z } from "zod";

/** Types of the official registry's OpenAPI description, version 2025-12-01, of `GET /v0.1/servers`. */
const input = z.object({
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  format: z.enum(["string", "number", "boolean", "filepath"]).optional(),
  value: z.string().optional(),
  isSecret: z.boolean().optional(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
  choices: z.array(z.string()).optional(),
});
const variables = z.record(z.string(), input).optional();
const remote = z.object({
  type: z.enum(["streamable-http", "sse"]),
  url: z.string().regex(/^(?:https?:\/\/\S+|\{[a-zA-Z_][a-zA-Z0-9_]*\}\S*)$/u),
  headers: z.array(input.extend({ name: z.string(), variables })).optional(),
  variables,
});
const serverDetail = z.object({
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/u),
  description: z.string().min(1).max(100),
  version: z.string().max(255),
  title: z.string().min(1).max(100).optional(),
  websiteUrl: z.string().optional(),
  repository: z.object({ url: z.url(), source: z.string() }).optional(),
  remotes: z.array(remote).optional(),
});
const official = z.strictObject({
  status: z.enum(["active", "deprecated", "deleted"]).optional(),
  statusMessage: z.string().max(500).optional(),
  statusChangedAt: z.iso.datetime().optional(),
  publishedAt: z.iso.datetime().optional(),
  updatedAt: z.iso.datetime().optional(),
  isLatest: z.boolean().optional(),
});

/** The `ServerList` of the description. */
export const serverList = z.object({
  servers: z.array(
    z.object({
      server: serverDetail,
      _meta: z.looseObject({ "io.modelcontextprotocol.registry/official": official.optional() }).optional(),
    }),
  ),
  metadata: z.object({ nextCursor: z.string().nullable().optional(), count: z.int().optional() }).optional(),
});
