import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server';
import { generateOpenApiDocument, type OpenAPIObject, type OpenApiRouter } from 'trpc-to-openapi';
import { z } from 'zod';
import { SECURITY_SCHEMES } from '../src/openapi/components.ts';
import { decorateDocument } from '../src/openapi/decorate-document.ts';
import type { VersionDescription } from '../src/openapi/versions.ts';
import type { ProcedureMeta } from '../src/procedure-meta.ts';

/**
 * Makes the OpenAPI document of those procedures of a router that belong to one version. Only the generate script and the check for drift do so: the
 * server reads what was committed, and never loads the generator.
 */
export function generateDocument(router: AnyTRPCRouter, about: VersionDescription): OpenAPIObject {
  const procedures: Record<string, AnyTRPCProcedure> = router._def.procedures;
  const metaOfOperation = new Map<string, ProcedureMeta>();
  const documented = Object.entries(procedures).flatMap(([name, procedure]) => {
    const meta = procedure._def.meta as ProcedureMeta | undefined; // the router is made with this type of metadata
    if (meta?.openapi === undefined || (meta.apiVersion ?? 'v1') !== about.version) return [];
    metaOfOperation.set(meta.openapi.operationId, meta);
    // The generator documents the output schema; here it is the REST representation, which tRPC does not send.
    const output = meta.rest?.response ?? z.void();
    const openapi = { ...meta.openapi, errorResponses: [] };
    return [[name, { _def: { ...procedure._def, output, meta: { ...meta, openapi } } }] as const];
  });
  const shown = { _def: { procedures: Object.fromEntries(documented) } };
  // Of a router the generator reads no more than this.
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
