import {
  type DocumentedContract,
  type ProcedureContract,
  restParametersOf,
  type VersionDescription,
} from '@petstore/api';
import { initTRPC } from '@trpc/server';
import { generateOpenApiDocument, type OpenAPIObject, type OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';
import { SECURITY_SCHEMES } from './components.ts';
import { decorateDocument } from './decorate-document.ts';

const t = initTRPC.meta<OpenApiMeta>().create();

/**
 * Generates the OpenAPI document of one version from the contracts of its operations. The server serves the committed
 * document, and never loads this module.
 */
export function generateDocument(
  contracts: ReadonlyMap<string, ProcedureContract>,
  about: VersionDescription,
): OpenAPIObject {
  const operations = [...contracts].flatMap(([name, contract]) =>
    contract.openapi !== undefined && about.version in contract.versions ? [[name, contract] as const] : [],
  );
  const router = t.router(
    Object.fromEntries(operations.map(([name, contract]) => [name, describeProcedure(contract)])),
  );
  const document = generateOpenApiDocument(router, {
    title: about.title,
    description: about.description,
    version: about.documentVersion,
    license: { name: 'MIT', identifier: 'MIT' },
    openApiVersion: '3.1.0',
    baseUrl: `/${about.version}`,
    securitySchemes: SECURITY_SCHEMES,
  });
  return decorateDocument(document, new Map(operations.map(([, own]) => [own.openapi.operationId, own])), about);
}

/** The procedure that trpc-to-openapi documents: its output is the response over REST. It is never called. */
const describeProcedure = (contract: DocumentedContract) =>
  t.procedure
    .meta({ openapi: { ...contract.openapi, deprecated: contract.deprecation !== undefined, errorResponses: [] } })
    .input(restParametersOf(contract))
    .output(contract.rest.response ?? z.void())
    .query(() => {
      throw new Error('This procedure is described, and never called.');
    });
