import { type ProcedureMeta, type VersionDescription, versionsOf } from '@petstore/api';
import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server';
import { generateOpenApiDocument, type OpenAPIObject, type OpenApiRouter } from 'trpc-to-openapi';
import { z } from 'zod';
import { SECURITY_SCHEMES } from './components.ts';
import { decorateDocument } from './decorate-document.ts';

/**
 * Generates the OpenAPI document of the procedures of a router that belong to one version. The server serves the
 * committed document, and never loads this.
 *
 * @throws Error for metadata that does not fit together, such as a deprecation without a sunset
 */
export function generateDocument(router: AnyTRPCRouter, about: VersionDescription): OpenAPIObject {
  const procedures: Record<string, AnyTRPCProcedure> = router._def.procedures;
  const metaOfOperation = new Map<string, ProcedureMeta>();
  const documented = Object.entries(procedures).flatMap(([name, procedure]) => {
    const meta = procedure._def.meta as ProcedureMeta | undefined; // the router is made with this type of metadata
    if (meta?.openapi === undefined || !(about.version in versionsOf(meta))) return [];
    metaOfOperation.set(meta.openapi.operationId, meta);
    // trpc-to-openapi documents the output schema; over REST the response is `rest.response` instead.
    const output = meta.rest?.response ?? z.void();
    const openapi = { ...meta.openapi, errorResponses: [] };
    return [[name, { _def: { ...procedure._def, output, meta: { ...meta, openapi } } }] as const];
  });
  const shown = { _def: { procedures: Object.fromEntries(documented) } };
  // trpc-to-openapi reads nothing else of a router.
  const document = generateOpenApiDocument(shown as unknown as OpenApiRouter, {
    title: about.title,
    description: about.description,
    version: about.documentVersion,
    license: { name: 'MIT', identifier: 'MIT' },
    openApiVersion: '3.1.0',
    baseUrl: `/${about.version}`,
    securitySchemes: SECURITY_SCHEMES,
  });
  return decorateDocument(document, metaOfOperation, about);
}
